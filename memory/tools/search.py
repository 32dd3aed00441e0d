"""The tool that searches everything."""

import asyncio
from typing import Any, Final

from memory import crud, search
from memory.database import Transaction
from memory.drafts import Kind
from memory.embeddings import load
from memory.search import MAX_LIMIT, Hit, Request
from memory.tools.answers import cut, room, that_fit
from memory.tools.arguments import (
    choice,
    count,
    flag,
    identifier,
    project,
    text,
    time,
)
from memory.tools.quotes import brief, iso, shown
from memory.tools.readings import MAX_CONTENT_BYTES
from memory.tools.tool import Answer, Call, Tool

__all__ = ["TOOLS"]

# One hit with all of these fits into any answer; its key is bounded by the ledger.
_SNIPPET_BYTES: Final = 1_200
_WORDS_BYTES: Final = 600


async def _search_history(session: Transaction, call: Call) -> Answer:
    if call["project_id"] is not None:
        await crud.get_project(session, call["project_id"])
    if call["session_id"] is not None:
        await crud.get_session(session, call["session_id"])
    request = Request(
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
    )
    embedder = await asyncio.to_thread(load, call.settings)
    found = await search.search(session, request, embedder=embedder)
    answer: Answer = {
        "total": found.total,
        "total_is_exact": found.total_is_exact,
        "found_by": dict(found.ways),
        "semantic": "on" if "meaning" in found.ways else "off",
        **({"unindexed": found.unindexed} if found.unindexed else {}),
    }
    names = await _project_names(session, found.hits)
    hits = that_fit((_hit(hit, names) for hit in found.hits), room(answer))
    if len(hits) < len(found.hits):
        answer["truncated"] = True
    notes = [found.note] if found.note else []
    if len(hits) < found.total:
        notes.append("There are more matches; narrow them with project_id, kind, since or until.")
    return {**answer, "hits": hits, "notes": notes}


def _hit(hit: Hit, names: dict[object, str]) -> dict[str, Any]:
    entry = hit.entry
    words = that_fit(map(shown, hit.why.words), _WORDS_BYTES)
    quoted = {
        "id": str(entry.id),
        "kind": entry.kind,
        "key": shown(entry.key),
        "role": brief(entry.role),
        "source_client": brief(entry.source_client),
        "time": iso(entry.occurred_at),
        "project": names.get(entry.project_id),
        "project_id": str(entry.project_id) if entry.project_id else None,
        "session_id": str(entry.session_id) if entry.session_id else None,
        "snippet": cut(shown(hit.snippet) or "", _SNIPPET_BYTES),
        "content_length": len(entry.content),
        "score": round(hit.score, 3),
        "words": words,
        "more_words": len(hit.why.words) - len(words) or None,
        "superseded_by": str(hit.superseded_by) if hit.superseded_by else None,
        "copies": hit.copies if hit.copies > 1 else None,
    }
    return {name: value for name, value in quoted.items() if value is not None}


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
            " with author, time and id; get_message reads one whole."
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
            flag("include_system", "also instructions that clients put in themselves"),
        ),
        run=_search_history,
        always_load=True,
    ),
)
