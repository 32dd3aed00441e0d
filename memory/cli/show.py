"""One entry whole, or one session's conversation."""

import json
import uuid
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.text import Text

from memory import crud
from memory.cli.entries import body, facts, headline
from memory.cli.ledger import read
from memory.cli.names import project_names
from memory.cli.options import limit
from memory.cli.output import Json, console, iso, moment, one_line, print_json, say
from memory.crud import MAX_PAGE, Page, SessionView
from memory.crud.prefix import find_id
from memory.database import Transaction
from memory.models import Entry
from memory.program import typed
from memory.text import displayable

__all__ = ["show"]

_LINES: Final = 12  # lines of one message unless --full


@dataclass(frozen=True, slots=True)
class _Shown:
    """An entry, or a session with a page of it; ``project`` is its project's name."""

    project: str | None
    entry: Entry | None = None
    superseded_by: uuid.UUID | None = None
    view: SessionView | None = None
    page: Page | None = None


def show(
    ident: Annotated[
        str,
        typer.Argument(help="An entry's or a session's id, or its first digits.", metavar="ID"),
    ],
    *,
    after: Annotated[
        str | None, typer.Option("--after", help="The cursor that the last page printed.")
    ] = None,
    most: Annotated[int, limit("Messages a page", most=MAX_PAGE - 1)] = 50,
    full: Annotated[bool, typer.Option("--full", help="Do not shorten long messages.")] = False,
    as_json: Json = False,
) -> None:
    """Show an entry whole, or a session's conversation page by page."""
    found = read(lambda session: _find(session, ident, after, most))
    if as_json:
        print_json(_facts(found))
    elif found.entry is not None:
        _show_entry(console(), found, found.entry)
    elif found.view is not None and found.page is not None:
        _show_session(console(), found, found.view, found.page, full=full)


async def _find(session: Transaction, ident: str, after: str | None, most: int) -> _Shown:
    named = await find_id(session, ident)
    names = await project_names(session)
    if named.is_session:
        view = await crud.get_session(session, named.id)
        page = await crud.read_session(session, named.id, cursor=after, limit=most)
        return _Shown(names.get(view.row.project_id), view=view, page=page)
    entry = await crud.get_entry(session, named.id)
    newer = await crud.superseded_by(session, named.id)
    return _Shown(names.get(entry.project_id), entry=entry, superseded_by=newer)


def _facts(found: _Shown) -> dict[str, Any]:
    if found.view is None or found.page is None:
        entry = found.entry
        newer = str(found.superseded_by) if found.superseded_by else None
        shown = {**facts(entry), "superseded_by": newer} if entry else None
        return {"entry": shown, "project": found.project}
    row = found.view.row
    return {
        "session": {
            "id": str(row.id),
            "provider": row.provider,
            "source_session_id": row.source_session_id,
            "source_client": row.source_client,
            "machine": row.machine,
            "project_id": str(row.project_id) if row.project_id else None,
            "parent_id": str(row.parent_id) if row.parent_id else None,
            "title": found.view.title,
            "directory": row.directory,
            "started_at": iso(row.started_at),
            "attributes": dict(found.view.attributes),
        },
        "project": found.project,
        "entries": [facts(each) for each in found.page.entries],
        "next_cursor": found.page.next_cursor,
    }


def _show_entry(screen: Console, found: _Shown, entry: Entry) -> None:
    screen.print(headline(entry))
    fields = {
        "id": entry.id,
        "kind": entry.kind,
        "key": entry.key,
        "project": found.project,
        "session": entry.session_id,
        "machine": entry.machine,
        "source id": entry.source_id,
        "recorded": moment(entry.recorded_at),
        "supersedes": entry.supersedes,
        "superseded by": found.superseded_by,
        "origin": json.dumps(entry.origin) if entry.origin else None,
    }
    _show_fields(screen, fields)
    screen.print()
    body(screen, entry.content, lines=None)
    if entry.payload:
        screen.print(Text("\npayload", style="dim"))
        body(screen, json.dumps(entry.payload, indent=2, ensure_ascii=False), lines=None)


def _show_session(
    screen: Console, found: _Shown, view: SessionView, page: Page, *, full: bool
) -> None:
    row = view.row
    screen.print(Text(one_line(view.title or "(no title)"), style="bold"))
    fields = {
        "id": row.id,
        "client": row.source_client,
        "project": found.project,
        "directory": row.directory,
        "machine": row.machine,
        "client's id": row.source_session_id,
        "started": moment(row.started_at),
        "parent": row.parent_id,
        **{name: value for name, value in view.attributes.items() if name != "title"},
    }
    _show_fields(screen, fields)
    for entry in page.entries:
        screen.print()
        screen.print(headline(entry))
        body(screen, entry.content, lines=None if full else _LINES)
    if not page.entries:
        screen.print(Text("\nNo messages here.", style="dim"))
    if page.next_cursor:
        say("\nMore: " + typed(f"memory show {row.id} --after {page.next_cursor}"))


def _show_fields(screen: Console, fields: dict[str, Any]) -> None:
    given = {name: one_line(displayable(str(value))) for name, value in fields.items() if value}
    width = max(map(len, given), default=0)
    for name, value in given.items():
        screen.print(Text.assemble((f"{one_line(name):{width}}  ", "dim"), value))
