"""Tools about single messages."""

import json
from typing import Any, Final

from memory import crud
from memory.database import Transaction
from memory.drafts import Draft, Kind
from memory.errors import InvalidInput
from memory.models import Entry
from memory.text import displayable
from memory.tools.answers import longest, room, size
from memory.tools.arguments import bounded, choice, content, document, identifier, text, time, whole
from memory.tools.attribution import call_of
from memory.tools.quotes import brief, iso, shown, shown_json
from memory.tools.tool import Answer, Call, Tool

__all__ = ["TOOLS"]

_PARTS: Final = ("content", "payload")
_NAME_BYTES: Final = 1_000  # of a client, role or machine, so that there is room for content
_PAYLOAD_BYTES: Final = 2_000  # of a payload beside a content that fills the answer


async def _append_message(session: Transaction, call: Call) -> Answer:
    draft = Draft(
        kind=Kind.MESSAGE,
        content=call["content"],
        source_client=call.source_client,
        provider=call["provider"] or "",  # the session's, which the append reads anyway
        machine=call.settings.machine,
        session_id=call["session_id"],
        source_id=call["source_message_id"],
        role=call["role"],
        position=call["order"],
        payload=call["payload"],
        occurred_at=call["original_timestamp"],
    )
    [appended] = await crud.append(session, [draft])
    return {
        "message_id": str(appended.id),
        "duplicate": not appended.is_new,
        "session_id": str(appended.session_id),
        "source_client": shown(draft.source_client),
    }


async def _get_message(session: Transaction, call: Call) -> Answer:
    entry, successor = await crud.get_entry_and_newer(session, call["message_id"])
    message = {
        **_fields(entry),
        "superseded_by": str(successor) if successor else None,
        **await _said_in(session, entry),
    }
    if call["part"] == "payload":
        stored = json.dumps(shown_json(entry.payload), ensure_ascii=False)
        return {"message": {**message, **_window("payload_text", stored, call["offset"], message)}}
    payload = shown_json(entry.payload)
    taken = size(payload)
    free = room(message) - min(len(entry.content), room(message))
    if entry.payload is None or taken <= max(_PAYLOAD_BYTES, free):
        message["payload"] = payload
    else:
        message["payload_bytes"] = taken
    message |= _window("content", entry.content, call["offset"], message)
    notes = []
    if "payload_bytes" in message:
        notes.append('The payload did not fit; part "payload" reads it as text.')
    return {"message": message, "notes": notes}


async def _said_in(session: Transaction, entry: Entry) -> dict[str, Any]:
    """Return the tool call in a transcript that made a record, when the ledger has it."""
    made_by = await call_of(session, entry) if entry.kind != Kind.MESSAGE else None
    if made_by is None:
        return {}
    return {"said_in": {"entry_id": str(made_by.id), "session_id": str(made_by.session_id)}}


def _window(name: str, whole_text: str, offset: int | None, message: Answer) -> Answer:
    """Return what fits of a text from a character on, and where to go on."""
    start = offset or 0
    if start > len(whole_text):
        raise InvalidInput(f"offset takes a whole number from 0 to {len(whole_text)} here.")
    most = room({"message": message})
    window = whole_text[start : start + most]
    taken = longest(len(window), lambda length: size(displayable(window[:length])) <= most)
    end = start + taken
    return {
        f"{name}_length": len(whole_text),
        **({"offset": start} if start else {}),
        **({"truncated": True, "next_offset": end} if end < len(whole_text) else {}),
        name: displayable(window[:taken]),
    }


def _fields(entry: Entry) -> dict[str, Any]:
    return {
        "id": str(entry.id),
        "kind": entry.kind,
        "session_id": str(entry.session_id) if entry.session_id else None,
        "project_id": str(entry.project_id) if entry.project_id else None,
        "source_message_id": shown(entry.source_id),
        "source_client": brief(entry.source_client, most=_NAME_BYTES),
        "provider": brief(entry.provider, most=_NAME_BYTES),
        "machine": brief(entry.machine, most=_NAME_BYTES),
        "role": brief(entry.role, most=_NAME_BYTES),
        "order": entry.position,
        "key": shown(entry.key),
        "original_timestamp": iso(entry.occurred_at),
        "recorded_at": iso(entry.recorded_at),
        "version": entry.version,
        "supersedes": str(entry.supersedes) if entry.supersedes else None,
    }


TOOLS: Final = (
    Tool(
        name="append_message",
        title="Append a message",
        description=(
            "Append one message to a session. The same source_message_id with the same content,"
            " role, payload and time is known again (duplicate: true); with anything else it is a"
            " conflict and the first stays. Content up to 16 MiB; credentials are refused."
        ),
        parameters=(
            identifier("session_id", "from start_session", required=True),
            bounded(
                "source_message_id",
                "the client's own id",
                most=crud.MAX_SOURCE_ID_BYTES,
                required=True,
            ),
            content("content", required=True),
            time("original_timestamp", "ISO 8601; without zone UTC", required=True),
            text("role", "user, assistant, system, tool_call, tool_result ..."),
            whole("order", "place within the session"),
            document("payload", "anything structured"),
            text("provider", "default: the session's"),
            text("source_client", "default: the calling client"),
        ),
        run=_append_message,
        writes=True,
    ),
    Tool(
        name="get_message",
        title="Get a message",
        description=(
            "Get one entry of any kind by id, with all its fields. An answer holds about 8,000"
            " bytes of content: next_offset, passed as offset, reads on."
        ),
        parameters=(
            identifier("message_id", "id of any entry", required=True),
            whole("offset", "character to begin at, default 0", least=0),
            choice("part", "default content; payload reads a long payload", _PARTS),
        ),
        run=_get_message,
    ),
)
