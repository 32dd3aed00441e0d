"""From a line of a session file to drafts: the pure normaliser of pi's files.

What is known of the lines before is kept in the file's context: ``session``, the ``models`` and
``titles`` that it had, the last ``place``, and of the running millisecond (``at``) how often each
line came in it (``seen``).

A line is known by its own time and what it says, never by its ``id``: the first version had none,
a later one that loads such a file writes it anew with ids made up on the spot, and renames a role
(``migrateSessionEntries`` in session-manager.ts). Forks copy lines as they are, so that time and
content are the same in every file. Two sessions that are told the very same in the very same
millisecond would count as one.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from importers.attributes import attribute, count_value, forked_from
from importers.base import UNKNOWN_SHAPE, moment, moment_of
from importers.calls import plain
from importers.pi.files import origin_of, session_of_name
from importers.pi.messages import Part, parts
from importers.repeats import count_repeat
from importers.tail import Malformed, Normalised, Record
from memory.drafts import Draft, Kind, SessionDraft, content_hash, session_id_of

__all__ = ["PROVIDER", "normalise"]

PROVIDER: Final = "pi"

_SKIPPED: Final = {
    "active_tools_change": "list of tools",
    "custom": "state of an extension",
    "label": "bookmark",
    "thinking_level_change": "thinking level",
}
_RENAMED: Final = {"hookMessage": "custom"}
_SAID: Final = ("content", "summary", "command", "output", "toolCallId", "customType", "timestamp")
_HASH_DIGITS: Final = 32
_TICKS: Final = 1000  # positions within one millisecond


def normalise(
    record: Record, context: dict[str, Any], *, session_in: Callable[[str], str | None]
) -> Normalised:
    """Return what one line of a session file gives; ``session_in`` tells the session of a file.

    Raises Malformed for what pi does not write.
    """
    row = record.value
    kind = row.get("type")
    if not isinstance(kind, str):
        raise Malformed("a line without a type")
    if "session" in context:
        if kind == "session":
            return Normalised(skipped="repeated header")
        return _given(kind, row, record, context)
    try:
        begun = _begin(row if kind == "session" else {}, record, context, session_in)
        if kind != "session":
            first = _given(kind, row, record, context)
            begun.drafts, begun.skipped = begun.drafts + first.drafts, first.skipped
    except UNKNOWN_SHAPE:
        context.pop("session", None)  # this line begins nothing: the next one may
        raise
    return begun


def _given(kind: str, row: dict[str, Any], record: Record, context: dict[str, Any]) -> Normalised:
    drafts = _drafts(kind, row, record, context)
    return Normalised(skipped=drafts) if isinstance(drafts, str) else Normalised(drafts=drafts)


def _begin(
    header: dict[str, Any],
    record: Record,
    context: dict[str, Any],
    session_in: Callable[[str], str | None],
) -> Normalised:
    """Start the file's session: from its header, or from its name when the header is lost."""
    named = header.get("id")
    session = named if isinstance(named, str) and named else session_of_name(record.path)
    if not session:
        raise Malformed("no session: neither a header before it nor an id in the file's name")
    context["session"] = session
    begun = SessionDraft(
        provider=PROVIDER,
        source_session_id=session,
        source_client=PROVIDER,
        directory=str(header["cwd"]) if header.get("cwd") else None,
        started_at=moment(header.get("timestamp")),
        payload={"format": header.get("version", 1)} if header else {},
    )
    drafts: list[Draft] = []
    if origin := session_in(origin_of(header) or ""):
        drafts.append(_edge(origin, header, record, context))
    if header.get("modelId"):  # the first version's header says what model_change says later
        drafts += _model(header, "modelId", record, context)
    return Normalised(sessions=[begun], drafts=drafts)


def _edge(origin: str, header: dict[str, Any], record: Record, context: dict[str, Any]) -> Draft:
    found: dict[str, Any] = {
        "occurred_at": moment(header.get("timestamp")),
        "origin": record.origin,
    }
    return forked_from(PROVIDER, context["session"], origin, **found)


def _drafts(
    kind: str, row: dict[str, Any], record: Record, context: dict[str, Any]
) -> list[Draft] | str:
    """Return what a line gives, or the rule by which it is skipped."""
    match kind:
        case "message":
            message = row.get("message")
            if not isinstance(message, dict):
                raise Malformed("a message line without a message")
            return _messages(message, row, record, context)
        case "custom_message":
            return _messages({**row, "role": "custom"}, row, record, context)
        case "compaction" | "branch_summary":
            role = "compactionSummary" if kind == "compaction" else "branchSummary"
            return _messages({**row, "role": role}, row, record, context)
        case "model_change":
            return _model(row, "modelId", record, context) or "model"
        case "session_info":
            return _title(row, record, context) or "session name"
        case _:
            return _SKIPPED.get(kind, f"unknown record: {kind}")


def _messages(
    message: dict[str, Any], row: dict[str, Any], record: Record, context: dict[str, Any]
) -> list[Draft] | str:
    said = parts(message)
    identity = _identity(message, row, context)
    if not said:
        return "empty message"
    drafts = [
        _draft(part, f"{identity}:{place}", row, record, context) for place, part in enumerate(said)
    ]
    if message.get("role") == "assistant" and message.get("model"):
        drafts += _model(message, "model", record, context, at=row.get("timestamp"))
    return drafts


def _draft(
    part: Part, source_id: str, row: dict[str, Any], record: Record, context: dict[str, Any]
) -> Draft:
    occurred_at = moment(row.get("timestamp"))
    known = {"call_id": part.call_id} if part.call_id else {}
    milliseconds = int(occurred_at.timestamp() * 1000) if occurred_at else 0
    context["place"] = max(milliseconds * _TICKS, context.get("place", -1) + 1)
    return Draft(
        kind=Kind.MESSAGE,
        content=part.content,
        source_client=PROVIDER,
        provider=PROVIDER,
        session_id=session_id_of(PROVIDER, context["session"]),
        source_id=source_id,
        role=part.role,
        position=context["place"],
        payload={**known, **part.payload},
        origin=record.origin,
        occurred_at=occurred_at,
        fingerprint=content_hash(part.role, part.content, part.call_id),
    )


def _identity(message: Mapping[str, Any], row: Mapping[str, Any], context: dict[str, Any]) -> str:
    """Return the identity of a message: its time, what it says, and how often it came just then."""
    role = str(message.get("role"))
    said = [plain(message.get(name)) for name in _SAID]
    what = content_hash(_RENAMED.get(role, role), *said).hex()[:_HASH_DIGITS]
    at = _time(row.get("timestamp")) or _time(message.get("timestamp"))
    at = at or content_hash(context["session"]).hex()[:_HASH_DIGITS]  # odd times: the session's own
    if context.get("at") != at:
        context["at"], context["seen"] = at, {}
    return f"{at}:{what}:{count_repeat(context['seen'], what)}"


def _time(value: object) -> str | None:
    """Return a time in milliseconds, as text; None for what is no time."""
    time = moment(value) or moment_of(value)
    return str(int(time.timestamp() * 1000)) if time else None


def _model(
    row: Mapping[str, Any],
    name: str,
    record: Record,
    context: dict[str, Any],
    *,
    at: object = None,
) -> list[Draft]:
    """Return the session's model if it is another than the last."""
    model = str(row.get(name) or "")
    seen: dict[str, Any] = context.setdefault("models", {})
    nth = count_value(seen, model) if model else None
    if nth is None:
        return []
    found: dict[str, Any] = {
        "occurred_at": moment(at or row.get("timestamp")),
        "origin": record.origin,
        "payload": {"provider": str(row["provider"])} if row.get("provider") else None,
    }
    return [attribute(PROVIDER, context["session"], "model", model, nth=nth, **found)]


def _title(row: Mapping[str, Any], record: Record, context: dict[str, Any]) -> list[Draft]:
    """Return the session's name if it is another than the last."""
    name = str(row.get("name") or "").strip()
    nth = count_value(context.setdefault("titles", {}), name) if name else None
    if nth is None:
        return []
    found: dict[str, Any] = {"occurred_at": moment(row.get("timestamp")), "origin": record.origin}
    return [attribute(PROVIDER, context["session"], "title", name, nth=nth, **found)]
