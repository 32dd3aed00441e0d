"""The tool that searches everything."""

import asyncio
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from memory import crud, search
from memory.database import Transaction
from memory.drafts import Kind
from memory.embeddings import load
from memory.errors import InvalidInput
from memory.search import MAX_LIMIT, MAX_RANKED, Beside, Hit, Request, Turn
from memory.tools.answers import cut, room, that_fit
from memory.tools.arguments import (
    choice,
    count,
    flag,
    identifier,
    project,
    text,
    time,
    whole,
)
from memory.tools.quotes import brief, iso, shown
from memory.tools.readings import MAX_CONTENT_BYTES
from memory.tools.tool import Answer, Call, Tool

__all__ = ["TOOLS"]

# One hit with all of these fits into any answer; its key is bounded by the ledger.
_SNIPPET_BYTES: Final = 1_200
_WORDS_BYTES: Final = 600
_TITLE_BYTES: Final = 200
_TURN_BYTES: Final = 400
"""What is shown of a turn beside a hit."""
_MOST_CONTEXT: Final = 1


@dataclass(frozen=True, slots=True)
class _About:
    """What is said of hits beside themselves: names, titles, and the turns beside them."""

    projects: Mapping[object, str]
    titles: Mapping[uuid.UUID, str]
    beside: Mapping[uuid.UUID, Beside]


async def _search_history(session: Transaction, call: Call) -> Answer:
    if call["project_id"] is not None:
        await crud.get_project(session, call["project_id"])
    if call["session_id"] is not None:
        await crud.get_session(session, call["session_id"])
    context = call["context"] or 0
    if context > _MOST_CONTEXT:
        raise InvalidInput("context takes 0 or 1; get_message and read_session show more.")
    embedder = await asyncio.to_thread(load, call.settings)
    found = await search.search(session, _request(call), embedder=embedder)
    answer: Answer = {
        "total": found.total,
        "total_is_exact": found.total_is_exact,
        "found_by": dict(found.ways),
        "semantic": "on" if "meaning" in found.ways else "off",
        **({"unindexed": found.unindexed} if found.unindexed else {}),
    }
    about = await _about(session, found.hits, with_context=bool(context))
    hits = that_fit((_hit(hit, about) for hit in found.hits), room(answer))
    is_short = len(hits) < len(found.hits)
    cursor = found.hits[len(hits) - 1].cursor if is_short else found.next_cursor
    return {
        **answer,
        **({"truncated": True} if is_short else {}),
        "hits": hits,
        "next_cursor": cursor,
        "notes": _notes(found, has_more=cursor is not None),
    }


def _request(call: Call) -> Request:
    return Request(
        call["query"],
        limit=call["limit"],
        source_client=call["source_client"],
        project_id=call["project_id"],
        session_id=call["session_id"],
        kinds=(call["kind"],) if call["kind"] else (),
        roles=(call["role"],) if call["role"] else (),
        since=call["since"],
        until=call["until"],
        include_system=call["include_system"],
        cursor=call["cursor"],
    )


def _notes(found: search.Answer, *, has_more: bool) -> list[str]:
    """Return what the reader should know, and how to see what is not shown."""
    notes = [found.note] if found.note else []
    if has_more:
        notes.append("There are more matches: pass next_cursor as cursor, or narrow them.")
    elif found.total > MAX_RANKED:
        notes.append(
            f"Only the best {MAX_RANKED} can be paged through; project_id, kind, since or until"
            " narrow the search."
        )
    return notes


async def _about(session: Transaction, hits: list[Hit], *, with_context: bool) -> _About:
    entries = [hit.entry for hit in hits]
    sessions = {each.session_id for each in entries if each.session_id is not None}
    return _About(
        projects=await _project_names(session, hits),
        titles=await crud.session_titles(session, sessions) if sessions else {},
        beside=await search.turns_beside(session, entries) if with_context else {},
    )


def _hit(hit: Hit, about: _About) -> dict[str, Any]:
    entry = hit.entry
    words = that_fit(map(shown, hit.why.words), _WORDS_BYTES)
    title = about.titles.get(entry.session_id) if entry.session_id else None
    beside = about.beside.get(entry.id, Beside())
    quoted = {
        "id": str(entry.id),
        "kind": entry.kind,
        "key": shown(entry.key),
        "role": brief(entry.role),
        "source_client": brief(entry.source_client),
        "time": iso(entry.occurred_at),
        "project": about.projects.get(entry.project_id),
        "project_id": str(entry.project_id) if entry.project_id else None,
        "session_id": str(entry.session_id) if entry.session_id else None,
        "session_title": brief(title, most=_TITLE_BYTES),
        "snippet": cut(shown(hit.snippet) or "", _SNIPPET_BYTES),
        "before": _turn(beside.before),
        "after": _turn(beside.after),
        "content_length": len(entry.content),
        "score": round(hit.score, 3),
        "words": words,
        "more_words": len(hit.why.words) - len(words) or None,
        "superseded_by": str(hit.superseded_by) if hit.superseded_by else None,
        "copies": hit.copies if hit.copies > 1 else None,
    }
    return {name: value for name, value in quoted.items() if value is not None}


def _turn(turn: Turn | None) -> dict[str, Any] | None:
    """Return the beginning of a turn beside a hit."""
    if turn is None:
        return None
    return {
        "id": str(turn.id),
        "role": brief(turn.role or turn.kind),
        "text": brief(turn.excerpt, most=_TURN_BYTES),
        "content_length": turn.length,
    }


async def _project_names(session: Transaction, hits: list[Hit]) -> dict[object, str]:
    ids = {hit.entry.project_id for hit in hits if hit.entry.project_id is not None}
    return {each: shown((await crud.get_project(session, each)).name) or "" for each in ids}


TOOLS: Final = (
    Tool(
        name="search_history",
        title="Search everything",
        description=(
            "Search all sessions and records of every client and project: exact identifiers, error"
            " texts, paths, quoted phrases or a plain question, in any language. Hits are quoted"
            " with author, time and id, matches in «»; get_message reads one whole."
        ),
        parameters=(
            text(
                "query",
                "words, an id or a question",
                most=MAX_CONTENT_BYTES,
                required=True,
                may_be_empty=True,
            ),
            count(default=10, most=MAX_LIMIT),
            text("source_client", "only what this client wrote: claude, codex, opencode ..."),
            project(),
            identifier("session_id"),
            choice("kind", "", list(Kind)),
            text("role", "such as user, assistant, tool_result"),
            time(
                "since", "of what happened; ISO 8601 (without zone UTC), or 2h ago", may_be_ago=True
            ),
            time("until", may_be_ago=True),
            flag("include_system", "also what clients put in themselves"),
            whole("context", "1 adds the turns beside each hit", least=0),
            text("cursor", "next_cursor of the last answer"),
        ),
        run=_search_history,
        always_load=True,
    ),
)
