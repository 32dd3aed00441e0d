"""Entries in answers: what somebody wrote, quoted, with its author, time and id.

The text is cleaned of what a reader would not see. It stands in a field of its own and never
becomes part of a description or an instruction.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from memory.drafts import Kind
from memory.models import Entry
from memory.text import displayable, rebuild
from memory.tools.answers import cut, size

__all__ = [
    "EXCERPT_BYTES",
    "brief",
    "iso",
    "quote",
    "quote_message",
    "quote_value",
    "shown",
    "shown_json",
]

EXCERPT_BYTES: Final = 1_500
"""What a list shows of one content at least, when there is more of it."""
PAYLOAD_BYTES: Final = 500
"""The largest payload that a list shows."""
NAME_BYTES: Final = 300
"""What a list shows of a name: a role, a client, a directory."""

_VALUE_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    Kind.DECISION: ("decision", "rationale"),
    Kind.EVENT: ("type", "text"),
}


def iso(moment: datetime | None) -> str | None:
    """Return a time in ISO 8601, in UTC."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def shown(text: str | None) -> str | None:
    """Return a stored text as it may be shown."""
    return None if text is None else displayable(text)


def brief(text: str | None, *, most: int = NAME_BYTES) -> str | None:
    """Return a name for a list; one of hundreds of bytes is cut."""
    return None if text is None else cut(displayable(text[:most]), most)


def shown_json(value: Any) -> Any:
    """Return a stored JSON value as it may be shown."""
    return rebuild(value, lambda text, _name: displayable(text))


def quote(entry: Entry, *, most: int = EXCERPT_BYTES) -> dict[str, Any]:
    """Return an entry of any kind for a list; a message as a message, a record as a value."""
    if entry.kind == Kind.MESSAGE:
        return quote_message(entry, most=most)
    return {**quote_value(entry, most=most), "recorded_at": iso(entry.recorded_at)}


def quote_message(entry: Entry, *, most: int = EXCERPT_BYTES) -> dict[str, Any]:
    """Return a message for a list, with every field that `append_message` takes."""
    return {
        "id": str(entry.id),
        "kind": entry.kind,
        "session_id": _id(entry.session_id),
        "project_id": _id(entry.project_id),
        "source_message_id": shown(entry.source_id),
        "source_client": brief(entry.source_client),
        "provider": brief(entry.provider),
        "role": brief(entry.role),
        "order": entry.position,
        "original_timestamp": iso(entry.occurred_at),
        "recorded_at": iso(entry.recorded_at),
        **_excerpt("content", entry.content, most),
        "payload": None,
        **_payload(entry.payload),
        **({"version": entry.version} if entry.version > 1 else {}),
    }


def quote_value(entry: Entry, *, most: int = EXCERPT_BYTES) -> dict[str, Any]:
    """Return a fact, decision, preference, event or state for a list; absent fields left out."""
    payload = entry.payload or {}
    quoted: dict[str, Any] = {
        "id": str(entry.id),
        "kind": entry.kind,
        "key": shown(entry.key) if entry.kind != Kind.PROJECT_STATE else None,
        **_value(entry, payload, most),
        "source_client": brief(entry.source_client),
        "occurred_at": iso(entry.occurred_at),
        "session_id": _id(entry.session_id),
        "project_id": _id(entry.project_id),
        "source_message_id": shown(payload.get("source_message_id")),
        "version": entry.version if entry.version > 1 else None,
        "supersedes": _id(entry.supersedes),
    }
    return {name: value for name, value in quoted.items() if value is not None}


def _value(entry: Entry, payload: Mapping[str, Any], most: int) -> dict[str, Any]:
    """Return what a record says, in the words of the tool that took it."""
    if entry.kind == Kind.PROJECT_STATE and isinstance(payload.get("state"), dict):
        state = shown_json(payload["state"])
        if size(state) <= most:
            return {"state": state}
        return {**_excerpt("state_text", entry.content, most), "state_length": len(entry.content)}
    names = _VALUE_KEYS.get(entry.kind, ())
    if names and isinstance(payload.get(names[0]), str):
        parts = {name: payload[name] for name in names if isinstance(payload.get(name), str)}
        value: dict[str, Any] = {}
        for name, text in parts.items():
            value |= _excerpt(name, text, most // len(parts))
        return {**value, **_payload(payload.get("data"))}
    name = "value" if entry.kind in {Kind.FACT, Kind.PREFERENCE} else "content"
    return _excerpt(name, entry.content, most)


def _excerpt(name: str, text: str, most: int) -> dict[str, Any]:
    """Return the beginning of a text, and how long the whole is when that is not all."""
    clean = displayable(text[: most * 2])
    part = cut(clean, most)
    if len(part) == len(clean) and len(text) <= most * 2:
        return {name: part}
    return {name: part, f"{name}_length": len(text), "truncated": True}


def _payload(payload: Any) -> dict[str, Any]:
    if payload is None:
        return {}
    quoted = shown_json(payload)
    taken = size(quoted)
    if taken <= PAYLOAD_BYTES:
        return {"payload": quoted}
    return {"payload": {}, "payload_bytes": taken, "truncated": True}


def _id(value: object) -> str | None:
    return None if value is None else str(value)
