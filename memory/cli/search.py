"""Search, for people."""

import shlex
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.text import Text

from memory import crud
from memory import search as searching
from memory.cli.entries import body, facts, headline
from memory.cli.hits import Found, found_facts, show_hits
from memory.cli.ledger import configured, read
from memory.cli.names import project_named, project_names, session_named
from memory.cli.options import Client, Project, Since, limit
from memory.cli.output import Json, console, one_line, print_json, say
from memory.cli.times import moment_of
from memory.crud.prefix import find_id, short_ids
from memory.database import Transaction
from memory.embeddings import Embedder, load
from memory.errors import InvalidInput
from memory.models import Entry
from memory.program import typed
from memory.search import MAX_LIMIT, Request

__all__ = ["search"]

Query = Annotated[
    list[str] | None,
    typer.Argument(help='Words, a question, an identifier, an id or a "phrase".'),
]
InSession = Annotated[
    str | None, typer.Option("--session", help="Only this session: its id or first digits.")
]
Kinds = Annotated[
    list[str] | None,
    typer.Option("--kind", help="Only this kind: message, fact, decision … (may be repeated)."),
]
Roles = Annotated[
    list[str] | None,
    typer.Option("--role", help="Only this role: user, assistant … (may be repeated)."),
]
Until = Annotated[str | None, typer.Option("--until", help="Not after: a time, or 2h, 3d, 1w ago.")]
Newest = Annotated[bool, typer.Option("--newest", help="The newest of the hits first.")]
Cursor = Annotated[
    str | None, typer.Option("--cursor", help="The cursor that the last page printed.")
]
Open = Annotated[
    str | None,
    typer.Option("--open", metavar="ID", help="Show the turns around this hit instead."),
]

_AROUND: Final = 5
"""Turns that are shown on each side of an opened hit."""
_LINES: Final = 12
"""Lines that are shown of each of those turns."""


def search(
    query: Query = None,
    *,
    client: Client = None,
    project: Project = None,
    session: InSession = None,
    kind: Kinds = None,
    role: Roles = None,
    since: Since = None,
    until: Until = None,
    most: Annotated[int, limit("How many hits", most=MAX_LIMIT)] = 10,
    newest: Newest = False,
    cursor: Cursor = None,
    opened: Open = None,
    as_json: Json = False,
) -> None:
    """Search everything the clients said and did."""
    if opened is not None:
        _open(opened, words=query or [], as_json=as_json)
        return
    if not query:
        raise typer.BadParameter("name what you look for, or a hit with --open ID")
    now = datetime.now(UTC)
    request = Request(
        " ".join(query),
        limit=most,
        source_client=client,
        kinds=tuple(kind or ()),
        roles=tuple(role or ()),
        since=moment_of("--since", since, now=now),
        until=moment_of("--until", until, now=now),
        cursor=cursor,
    )
    settings = configured()
    embedder = load(settings)
    find = partial(_find, request=request, project=project, session=session, embedder=embedder)
    found = read(find, settings=settings)
    if as_json:
        print_json(found_facts(found, newest=newest))
    else:
        _show(found, newest=newest)


async def _find(
    database: Transaction,
    request: Request,
    *,
    project: str | None,
    session: str | None,
    embedder: Embedder | None,
) -> Found:
    narrowed = replace(
        request,
        project_id=(await project_named(database, project)).id if project else None,
        session_id=await session_named(database, session) if session else None,
    )
    answer = await searching.search(database, narrowed, embedder=embedder)
    sessions = {hit.entry.session_id for hit in answer.hits if hit.entry.session_id is not None}
    ids = await short_ids(database, [*(hit.entry.id for hit in answer.hits), *sessions])
    titles = await crud.session_titles(database, sessions)
    return Found(answer, await project_names(database), titles, ids)


def _show(found: Found, *, newest: bool) -> None:
    screen = console()
    answer = found.answer
    show_hits(screen, found, newest=newest)
    note = one_line(answer.note)
    if answer.hits:
        more = "" if answer.total_is_exact else "at least "
        note = f"{len(answer.hits)} of {more}{answer.total:,} matches  {note}".rstrip()
    screen.print(Text(note or "No entry matches.", style="dim"))
    if answer.next_cursor:
        say(f"More: the same with --cursor {answer.next_cursor}")


@dataclass(frozen=True, slots=True)
class _Opened:
    """An entry amid its session."""

    id: uuid.UUID
    entries: Sequence[Entry]
    title: str | None
    project: str | None


def _open(ident: str, *, words: Sequence[str], as_json: bool) -> None:
    """Show the turns around an entry."""
    found = read(partial(_around, ident=ident))
    if as_json:
        print_json(_opened_facts(found))
        return
    screen = console()
    screen.print(
        Text.assemble(
            (one_line(found.title or "(no title)"), "bold"),
            f"  {one_line(found.project or '-')}",
        )
    )
    for entry in found.entries:
        _show_turn(screen, entry, is_opened=entry.id == found.id, words=words)
    session_id = found.entries[0].session_id
    if session_id is not None:
        say("\nThe whole session: " + typed(f"memory show {shlex.quote(str(session_id))}"))


def _show_turn(screen: Console, entry: Entry, *, is_opened: bool, words: Sequence[str]) -> None:
    screen.print()
    screen.print(Text.assemble(("> " if is_opened else "", "bold yellow"), headline(entry)))
    lines = None if is_opened else _LINES
    body(screen, entry.content, lines=lines, highlighted=words)


async def _around(database: Transaction, *, ident: str) -> _Opened:
    named = await find_id(database, ident)
    if named.is_session:
        raise InvalidInput(
            f"{ident} is the id of a session; " + typed(f"`memory show {ident}` shows it.")
        )
    entry = await crud.get_entry(database, named.id)
    entries = await crud.surroundings(database, entry, count=_AROUND)
    names = await project_names(database)
    titles = await crud.session_titles(database, [entry.session_id]) if entry.session_id else {}
    title = next(iter(titles.values()), None)
    return _Opened(entry.id, entries, title, names.get(entry.project_id))


def _opened_facts(found: _Opened) -> dict[str, Any]:
    return {
        "opened": str(found.id),
        "session_title": found.title,
        "project": found.project,
        "entries": [facts(each) for each in found.entries],
    }
