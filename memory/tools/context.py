"""Tools that show what holds in a project, and how it came about."""

import uuid
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any, Final

from memory import crud
from memory.database import Transaction
from memory.errors import InvalidInput
from memory.models import Entry
from memory.tools.answers import cut, room, size
from memory.tools.arguments import count, identifier, place, project, time
from memory.tools.attribution import find_project
from memory.tools.pages import page_of
from memory.tools.quotes import brief, iso, quote, quote_value, shown
from memory.tools.tool import Answer, Call, Tool

__all__ = ["TOOLS"]

_STATE_BYTES: Final = 2_500
_VALUE_BYTES: Final = 600
_ABOUT_BYTES: Final = 600
_EXAMPLES: Final = 5  # projects that an answer names which knows of none
_SECTIONS: Final = ("facts", "decisions", "preferences", "events")


async def _get_project_context(session: Transaction, call: Call) -> Answer:
    project_id = await _project(session, call)
    context = await crud.project_context(
        session, project_id, as_of=call["as_of"], limit=call["limit"]
    )
    project = context.project
    described = shown(project.description)
    answer: Answer = {
        "project": {
            "project_id": str(project.id),
            "name": shown(project.name),
            **({"description": cut(described, _ABOUT_BYTES)} if described else {}),
        },
        **({"as_of": iso(call["as_of"])} if call["as_of"] else {}),
        "state": _value(context.state, _STATE_BYTES) if context.state else None,
    }
    lists = [context.facts, context.decisions, context.preferences, context.events]
    shown_lists, left_out = _in_turn(lists, room(answer))
    answer |= dict(zip(_SECTIONS, shown_lists, strict=True))
    left = {name: number for name, number in zip(_SECTIONS, left_out, strict=True) if number}
    if left:
        answer |= {"truncated": True, "left_out": left}
    if context.more:
        answer["more_than_limit"] = context.more
    return answer


async def _project(session: Transaction, call: Call) -> uuid.UUID:
    try:
        return await find_project(session, call)
    except InvalidInput as error:
        if error.code != "no_project":
            raise
        raise InvalidInput(await _way_out(session, call), code=error.code) from None


async def _way_out(session: Transaction, call: Call) -> str:
    """Say what to do where nothing names a project."""
    what = "That session" if call["session_id"] else "The folder of this window"
    names = sorted((await crud.project_names(session)).values(), key=str.casefold)
    if not names:
        return (
            f"{what} belongs to no project, and there is none yet: create_project makes one, and"
            " `memory import` brings those of past sessions."
        )
    some = ", ".join(repr(brief(each)) for each in names[:_EXAMPLES])
    more = f" (list_projects shows all {len(names)})" if len(names) > _EXAMPLES else ""
    return (
        f"{what} belongs to no project. Call again with project_id, the name or id of one of these:"
        f" {some}{more}; or create_project makes one."
    )


def _in_turn(
    lists: Sequence[Sequence[Entry]], most: int
) -> tuple[list[list[dict[str, Any]]], list[int]]:
    """Fill the answer from all lists in turn, so that none crowds out the others."""
    kept: list[list[dict[str, Any]]] = [[] for _ in lists]
    most -= len(lists) * 20  # their names
    for place_of_list, entry in _rounds(lists):
        quoted = _value(entry, _VALUE_BYTES)
        most -= size(quoted) + 1
        if most < 0:
            break
        kept[place_of_list].append(quoted)
    return kept, [len(all_) - len(some) for all_, some in zip(lists, kept, strict=True)]


def _rounds(lists: Sequence[Sequence[Entry]]) -> Iterator[tuple[int, Entry]]:
    for row in zip_longest(*lists):
        for number, entry in enumerate(row):
            if entry is not None:
                yield number, entry


def _value(entry: Entry, most: int) -> dict[str, Any]:
    """Return a record as a line of the context: the project and kind are known there."""
    quoted = quote_value(entry, most=most)
    for name in ("kind", "version", "supersedes", "source_message_id"):
        quoted.pop(name, None)
    if entry.project_id is not None:
        quoted.pop("project_id")
        return quoted
    return {**quoted, "every_project": True}


async def _inspect_project_history(session: Transaction, call: Call) -> Answer:
    project = await crud.get_project(session, call["project_id"])
    answer: Answer = {"project": {"project_id": str(project.id), "name": shown(project.name)}}
    page = await page_of(
        lambda limit: crud.project_history(
            session, call["project_id"], after=call["after"], limit=limit
        ),
        quote,
        limit=call["limit"],
        room=room(answer),
    )
    return {**answer, "entries": page.quotes, **page.ending}


TOOLS: Final = (
    Tool(
        name="get_project_context",
        title="Get a project's context",
        description=(
            "Get what holds in a project: the newest facts, decisions, preferences, state and"
            " recent events of all clients and sessions. Without arguments it is the calling"
            " window's project; as_of shows what the ledger held at a time."
        ),
        parameters=(
            project("id or name; default: session_id's, else the window's"),
            identifier("session_id"),
            count(default=20, most=100),
            time("as_of", "ISO 8601 (without zone UTC), or 2h, 3d, 1w ago", may_be_ago=True),
        ),
        run=_get_project_context,
        always_load=True,
    ),
    Tool(
        name="inspect_project_history",
        title="Inspect a project's history",
        description=(
            "Read a project's facts, decisions, preferences, states and events in the order they"
            " were recorded, superseded ones too."
        ),
        parameters=(
            project(required=True),
            count(default=50, most=200),
            place("after", "next_cursor of the last answer, ISO 8601, or 2h, 3d, 1w ago"),
        ),
        run=_inspect_project_history,
    ),
)
