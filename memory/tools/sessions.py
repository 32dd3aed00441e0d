"""Tools about sessions."""

from collections.abc import Callable
from typing import Any, Final

from memory import crud
from memory.crud import SessionView
from memory.crud.sessions import MAX_TITLE
from memory.database import Transaction
from memory.drafts import CLIENTS, SessionDraft, canonical_client
from memory.tools.answers import room
from memory.tools.arguments import bounded, count, identifier, project, text
from memory.tools.attribution import workplace_of
from memory.tools.pages import page_of
from memory.tools.quotes import brief, iso, quote_message, shown
from memory.tools.tool import Answer, Call, Tool

__all__ = ["TOOLS"]

DEFAULT_PAGE: Final = 50
MOST_A_PAGE: Final = 200


async def _start_session(session: Transaction, call: Call) -> Answer:
    directory = _directory(call)
    draft = SessionDraft(
        provider=call["provider"],
        source_session_id=call["source_session_id"],
        source_client=call.source_client,
        machine=call.settings.machine,
        title=call["title"],
        project_id=call["project_id"],
        directory=directory,
        workplace=await workplace_of(directory or ""),
    )
    view, is_new = await crud.start_session(session, draft)
    notes = []
    if draft.project_id is not None and view.row.project_id != draft.project_id:
        notes.append("The session was there already and stays in its first project.")
    return {**_session(view), "is_new": is_new, "notes": notes}


def _directory(call: Call) -> str | None:
    """Return the window's directory when the session can only be one of this client's here.

    A session's row is written once, so it gets what the importer would give it.
    """
    client = call.caller.client
    own = client in CLIENTS and canonical_client(call["provider"]) == client
    return call.caller.directory or None if own else None


async def _read_session(session: Transaction, call: Call) -> Answer:
    view = await crud.get_session(session, call["session_id"])
    answer: Answer = {"session": _session(view, named=brief)}
    page = await page_of(
        lambda limit: crud.read_session(
            session, call["session_id"], cursor=call["cursor"], limit=limit
        ),
        quote_message,
        limit=call["limit"],
        room=room(answer),
    )
    return {**answer, "messages": page.quotes, **page.ending}


def _session(
    view: SessionView, *, named: Callable[[str | None], str | None] = shown
) -> dict[str, Any]:
    row = view.row
    return {
        "session_id": str(row.id),
        "provider": named(row.provider),
        "source_session_id": shown(row.source_session_id),
        "source_client": named(row.source_client),
        "title": named(view.title),
        "project_id": str(row.project_id) if row.project_id else None,
        "started_at": iso(row.started_at),
        "recorded_at": iso(row.recorded_at),
    }


TOOLS: Final = (
    Tool(
        name="start_session",
        title="Start a session",
        description=(
            "Return the ledger's session for a client's own session id; the same provider and"
            " source_session_id always give the same session. A later title becomes the newest"
            " title; the first project stays."
        ),
        parameters=(
            text("provider", "claude, codex, opencode or another name", required=True),
            bounded(
                "source_session_id",
                "the client's own id",
                most=crud.MAX_SOURCE_ID_BYTES,
                required=True,
            ),
            text("title", most=MAX_TITLE),
            project(),
            text("source_client", "default: the calling client"),
        ),
        run=_start_session,
        writes=True,
    ),
    Tool(
        name="read_session",
        title="Read a session",
        description=(
            "Read a session's messages in order, page by page: next_cursor goes on and is null at"
            " the end. Long texts are cut; get_message reads them whole."
        ),
        parameters=(
            identifier("session_id", required=True),
            text("cursor", "next_cursor of the last answer"),
            count(default=DEFAULT_PAGE, most=MOST_A_PAGE),
        ),
        run=_read_session,
    ),
)
