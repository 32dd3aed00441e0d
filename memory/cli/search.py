"""Search, for people."""

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any

import typer
from rich.text import Text

from memory import search as searching
from memory.cli.entries import facts
from memory.cli.ledger import configured, read
from memory.cli.names import project_named, project_names, session_named
from memory.cli.options import Client, Project, Since, limit
from memory.cli.output import Json, console, moment, one_line, print_json
from memory.cli.times import moment_of
from memory.crud.prefix import short_ids
from memory.database import Transaction
from memory.embeddings import Embedder, load
from memory.search import MAX_LIMIT, Answer, Hit, Request

__all__ = ["search"]

Query = Annotated[
    list[str], typer.Argument(help='Words, a question, an identifier, an id or a "phrase".')
]
InSession = Annotated[
    str | None, typer.Option("--session", help="Only this session: its id or first digits.")
]
Kinds = Annotated[
    list[str] | None,
    typer.Option("--kind", help="Only this kind: message, fact, decision … (may be repeated)."),
]
Until = Annotated[str | None, typer.Option("--until", help="Not after: a time, or 2h, 3d, 1w ago.")]


@dataclass(frozen=True, slots=True)
class _Found:
    answer: Answer
    projects: dict[Any, str]
    ids: dict[Any, str]


def search(
    query: Query,
    *,
    client: Client = None,
    project: Project = None,
    session: InSession = None,
    kind: Kinds = None,
    since: Since = None,
    until: Until = None,
    most: Annotated[int, limit("How many hits", most=MAX_LIMIT)] = 10,
    as_json: Json = False,
) -> None:
    """Search everything the clients said and did."""
    now = datetime.now(UTC)
    request = Request(
        " ".join(query),
        limit=most,
        source_client=client,
        kinds=tuple(kind or ()),
        since=moment_of("--since", since, now=now),
        until=moment_of("--until", until, now=now),
    )
    settings = configured()
    find = partial(
        _find, request=request, project=project, session=session, embedder=load(settings)
    )
    found = read(find, settings=settings)
    if as_json:
        print_json(_facts(found))
    else:
        _show(found)


async def _find(
    database: Transaction,
    request: Request,
    *,
    project: str | None,
    session: str | None,
    embedder: Embedder | None,
) -> _Found:
    narrowed = replace(
        request,
        project_id=(await project_named(database, project)).id if project else None,
        session_id=await session_named(database, session) if session else None,
    )
    answer = await searching.search(database, narrowed, embedder=embedder)
    ids = await short_ids(database, [hit.entry.id for hit in answer.hits])
    return _Found(answer, await project_names(database), ids)


def _facts(found: _Found) -> dict[str, Any]:
    answer = found.answer
    return {
        "hits": [_hit_facts(hit, found) for hit in answer.hits],
        "total": answer.total,
        "total_is_exact": answer.total_is_exact,
        "ways": dict(answer.ways),
        "unindexed": answer.unindexed,
        "note": answer.note,
    }


def _hit_facts(hit: Hit, found: _Found) -> dict[str, Any]:
    newer = str(hit.superseded_by) if hit.superseded_by else None
    return {
        "score": round(hit.score, 4),
        "snippet": hit.snippet,
        "words": list(hit.why.words),
        "copies": hit.copies,
        "superseded_by": newer,
        "project": found.projects.get(hit.entry.project_id),
        "entry": facts(hit.entry),
    }


def _show(found: _Found) -> None:
    screen = console()
    plain = screen.color_system is None or screen.no_color
    answer = found.answer
    for hit in answer.hits:
        entry = hit.entry
        said = " ".join(
            (
                f"{moment(entry.occurred_at)} ",
                one_line(entry.source_client),
                one_line(found.projects.get(entry.project_id, "-")),
                one_line(entry.role or entry.kind),
            )
        )
        old = "  superseded" if hit.superseded_by else ""
        screen.print(
            Text.assemble(
                (f"{hit.score:6.3f}", "bold"),
                f"  {said}  ",
                (found.ids.get(entry.id, str(entry.id)), "cyan"),
                (old, "yellow"),
            )
        )
        screen.print(Text.assemble("        ", _marked(hit.snippet, with_marks=plain)))
    note = one_line(answer.note)
    if answer.hits:
        more = "" if answer.total_is_exact else "at least "
        note = f"{len(answer.hits)} of {more}{answer.total:,} matches  {note}".rstrip()
    screen.print(Text(note or "No entry matches.", style="dim"))


def _marked(snippet: str, *, with_marks: bool) -> Text:
    """Return a snippet whose matches, which stand in « », are shown by style as well."""
    shown = Text()
    for number, part in enumerate(re.split(r"«([^«»]*)»", one_line(snippet))):
        if number % 2:
            shown.append(f"«{part}»" if with_marks else part, "bold yellow")
        else:
            shown.append(part)
    return shown
