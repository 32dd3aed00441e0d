"""The sessions that were active last."""

from typing import Annotated, Any

from memory import crud
from memory.cli.ledger import read
from memory.cli.names import project_named, project_names
from memory.cli.options import Client, Project, limit
from memory.cli.output import Json, iso, moment, one_line, print_json, say, table
from memory.crud import MAX_PAGE, SessionSummary
from memory.database import Transaction

__all__ = ["sessions"]


def sessions(
    *,
    client: Client = None,
    project: Project = None,
    most: Annotated[int, limit("How many sessions", most=MAX_PAGE)] = 20,
    as_json: Json = False,
) -> None:
    """List the sessions that were active last."""

    async def find(session: Transaction) -> tuple[list[SessionSummary], dict[Any, str]]:
        project_id = (await project_named(session, project)).id if project else None
        found = await crud.list_sessions(session, client=client, project_id=project_id, limit=most)
        return found, await project_names(session)

    found, names = read(find)
    if as_json:
        print_json({"sessions": [_facts(each, names) for each in found]})
    elif found:
        table(
            ["session", "last entry", "client", "project", "entries", "title"],
            [_row(each, names) for each in found],
            right="entries",
        )
    else:
        say("No sessions found.")


def _facts(each: SessionSummary, names: dict[Any, str]) -> dict[str, Any]:
    row = each.session
    return {
        "id": str(row.id),
        "provider": row.provider,
        "source_session_id": row.source_session_id,
        "source_client": row.source_client,
        "machine": row.machine,
        "project_id": str(row.project_id) if row.project_id else None,
        "project": names.get(row.project_id),
        "title": each.title,
        "directory": row.directory,
        "entries": each.entries,
        "first_at": iso(each.first_at),
        "last_at": iso(each.last_at),
    }


def _row(each: SessionSummary, names: dict[Any, str]) -> list[str]:
    row = each.session
    return [
        str(row.id)[:13],
        moment(each.last_at),
        one_line(row.source_client),
        one_line(names.get(row.project_id, "-")),
        f"{each.entries:,}",
        one_line(each.title or "-"),
    ]
