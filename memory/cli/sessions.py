"""The sessions that were active last."""

import uuid
from dataclasses import dataclass
from typing import Annotated, Any

from memory import crud
from memory.cli.ledger import read
from memory.cli.names import project_named, project_names
from memory.cli.options import Client, Project, limit
from memory.cli.output import Json, iso, moment, one_line, print_json, say, table
from memory.crud import MAX_PAGE, SessionSummary
from memory.crud.openings import opening_lines
from memory.database import Transaction

__all__ = ["sessions"]


@dataclass(frozen=True, slots=True)
class _Found:
    """Sessions, the projects' names, and the first lines of sessions without title."""

    sessions: list[SessionSummary]
    projects: dict[Any, str]
    openings: dict[uuid.UUID, str]


def sessions(
    *,
    client: Client = None,
    project: Project = None,
    most: Annotated[int, limit("How many sessions", most=MAX_PAGE)] = 20,
    as_json: Json = False,
) -> None:
    """List the sessions that were active last, those without title by their first line."""

    async def find(session: Transaction) -> _Found:
        project_id = (await project_named(session, project)).id if project else None
        found = await crud.list_sessions(session, client=client, project_id=project_id, limit=most)
        nameless = [each.session.id for each in found if not each.title]
        openings = await opening_lines(session, nameless)
        return _Found(found, await project_names(session), openings)

    found = read(find)
    if as_json:
        print_json({"sessions": [_facts(each, found) for each in found.sessions]})
    elif found.sessions:
        table(
            ["session", "last entry", "client", "project", "entries", "title or first line"],
            [_row(each, found) for each in found.sessions],
            right="entries",
        )
    else:
        say("No sessions found.")


def _facts(each: SessionSummary, found: _Found) -> dict[str, Any]:
    row = each.session
    return {
        "id": str(row.id),
        "provider": row.provider,
        "source_session_id": row.source_session_id,
        "source_client": row.source_client,
        "machine": row.machine,
        "project_id": str(row.project_id) if row.project_id else None,
        "project": found.projects.get(row.project_id),
        "title": each.title,
        "first_line": found.openings.get(row.id),
        "directory": row.directory,
        "entries": each.entries,
        "first_at": iso(each.first_at),
        "last_at": iso(each.last_at),
    }


def _row(each: SessionSummary, found: _Found) -> list[str]:
    row = each.session
    return [
        str(row.id)[:13],
        moment(each.last_at),
        one_line(row.source_client),
        one_line(found.projects.get(row.project_id, "-")),
        f"{each.entries:,}",
        one_line(each.title or found.openings.get(row.id, "-")),
    ]
