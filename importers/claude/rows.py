"""One row of a transcript as sessions and drafts, or the rule by which it is skipped.

A message's source id is its row's ``uuid``; further parts of the same row are ``uuid#1``,
``uuid#2`` … Its position is a thousand times the byte offset of the row plus the part's number,
since neither times nor line numbers are in the order of the conversation.
"""

from collections.abc import Mapping
from typing import Any, Final

from importers.attributes import attribute, digest
from importers.base import moment
from importers.claude.blocks import Part, blocks_of, parts
from importers.claude.copies import copied_uuids
from importers.claude.head import LAST_COPYING, is_kept, version_of
from importers.claude.place import Place
from importers.claude.recent import count_from, floor, keep_counts, meet
from importers.claude.sessions import PROVIDER, Owner, owner_of, session_draft
from importers.claude.titles import TITLES, normalise_title, waiting_title
from importers.claude.usage import usage_of
from importers.tail import Malformed, Normalised, Record
from memory.drafts import Draft, Kind, content_hash, session_id_of

__all__ = ["normalise"]

POSITIONS_PER_BYTE: Final = 1000

# Rows that the client keeps for itself; some repeat what was typed.
_HARNESS: Final = frozenset(
    {
        "agent-color",
        "agent-name",
        "agent-setting",
        "api-request",
        "api-request-blob",
        "api-request-shape",
        "atis-latch",
        "attachment",
        "bridge-session",
        "cost-state",
        "file-history-snapshot",
        "last-prompt",
        "mode",
        "permission-mode",
        "pr-link",
        "progress",
        "queue-operation",
        "tag",
        "tools-used",
        "worktree-state",
    }
)
_SHORT: Final = 16  # digits of a hash that only tells neighbours apart
_LONGEST_UUID: Final = 200


def normalise(record: Record, context: dict[str, Any], *, place: Place) -> Normalised:
    """Return what one row gives. Raises Malformed, and OSError for a file beside the transcript."""
    row = record.value
    if row.get("type") in TITLES:
        return normalise_title(record, context, place)
    row = _as_message(row, context, place)
    if not is_kept(row):
        return Normalised(skipped=_rule(row))
    if len(row["uuid"]) > _LONGEST_UUID:
        raise Malformed("a uuid that is none")
    if "version" not in context:
        _begin(row, context, place)
    owner = owner_of(row, context, place)
    if owner.is_warmup:
        return Normalised(skipped="warm-up agent")
    _look_for_gap(row, context)
    found = _parts(row, place.results(owner.session))
    if not found:
        return Normalised(skipped="encrypted thinking" if _is_encrypted(row) else "empty message")
    context["at"] = row.get("timestamp") or context.get("at")
    given = Normalised()
    _announce(row, owner, context, place, given, origin=record.origin)
    _describe(row, found, context)
    given.drafts += _drafts(record, row, owner, found, context)
    return given


def _drafts(
    record: Record,
    row: Mapping[str, Any],
    owner: Owner,
    found: list[Part],
    context: dict[str, Any],
) -> list[Draft]:
    """Return a draft for each part of a row; a copied row has the uuid of its original."""
    uuid = context["copies"].pop(row["uuid"], row["uuid"])
    return [
        Draft(
            kind=Kind.MESSAGE,
            content=part.content,
            source_client=PROVIDER,
            provider=PROVIDER,
            session_id=session_id_of(PROVIDER, owner.source_session_id),
            source_id=f"{uuid}#{number}" if number else uuid,
            role=part.role,
            position=record.offset * POSITIONS_PER_BYTE + number,
            payload=part.payload,
            origin=record.origin,
            occurred_at=moment(row.get("timestamp")) or moment(context["at"]),
            fingerprint=content_hash(part.role, *part.said),
        )
        for number, part in enumerate(found)
    ]


def _rule(row: Mapping[str, Any]) -> str:
    """Return the name of the rule that skips a row."""
    kind = str(row.get("type"))[:40]
    if kind == "system":
        return f"system: {str(row.get('subtype'))[:40]}"
    if kind in {"user", "assistant"}:
        return f"{kind} without a uuid"
    return kind if kind in _HARNESS else f"unknown: {kind}"


def _as_message(row: dict[str, Any], context: dict[str, Any], place: Place) -> dict[str, Any]:
    """Return the row, or the message that a queued prompt is.

    What is typed while the model works is kept as an attachment alone when it reaches the model
    in the middle of a turn (anthropics/claude-code#86980); some have no uuid.
    """
    attachment = row.get("attachment")
    if row.get("type") != "attachment" or not isinstance(attachment, dict):
        return row
    prompt = attachment.get("prompt")
    if attachment.get("type") != "queued_command" or not prompt:
        return row
    typed = attachment.get("commandMode") in {None, "prompt"}
    message = {
        **row,
        "type": "user",
        "message": {"role": "user", "content": prompt},
        "isMeta": row.get("isMeta") or not typed,
        "origin": attachment.get("origin") or row.get("origin"),
        "promptSource": "queued",
    }
    if not isinstance(row.get("uuid"), str):
        session = str(row.get("sessionId") or place.session)
        typed_hash = digest(repr(prompt))
        counts: dict[str, int] = context.setdefault("queued", {})
        nth = counts[typed_hash] = counts.get(typed_hash, floor(context)) + 1
        count_from(context, keep_counts(counts))
        message["uuid"] = f"queued/{session}/{typed_hash}/{nth}"
    return message


def _look_for_gap(row: Mapping[str, Any], context: dict[str, Any]) -> None:
    """Count where the client lost a text: one thought behind another in one message.

    Since 2.1.170 a text between two thoughts is never written (anthropics/claude-code#85443).
    """
    message = row.get("message")
    blocks = blocks_of(message) if row["type"] == "assistant" else []
    name = digest(str(message.get("id")))[:_SHORT] if isinstance(message, dict) else ""
    for block in blocks:
        is_thought = isinstance(block, dict) and str(block.get("type")).endswith("thinking")
        if is_thought and context.get("thought") == name:
            context["gaps"] = context.get("gaps", 0) + 1
        context["thought"] = name if is_thought else ""


def _is_encrypted(row: Mapping[str, Any]) -> bool:
    """Tell whether a row that says nothing holds a thought that the client may not read."""
    blocks = blocks_of(row.get("message")) if row["type"] == "assistant" else []
    return any(isinstance(block, dict) and block.get("signature") for block in blocks)


def _begin(row: Mapping[str, Any], context: dict[str, Any], place: Place) -> None:
    """Note what the file's first message tells about the whole file."""
    version = version_of(dict(row))
    context["version"] = list(version)
    context["where"] = _where(row)
    is_copying = place.agent is None and () < version < LAST_COPYING
    context["copies"] = copied_uuids(place.path, place.older()) if is_copying else {}


def _parts(row: Mapping[str, Any], results: Any) -> list[Part]:
    if row["type"] != "system":
        return parts(row, results=results)
    text = str(row.get("content") or "Conversation compacted")
    details = {"compaction": row.get("compactMetadata"), "follows": row.get("logicalParentUuid")}
    payload = {name: value for name, value in details.items() if value is not None}
    return [Part(role="system", content=text, payload=payload, said=("boundary", text))]


def _announce(
    row: Mapping[str, Any],
    owner: Owner,
    context: dict[str, Any],
    place: Place,
    given: Normalised,
    *,
    origin: Mapping[str, Any],
) -> None:
    """Add the session when this is its first row in the file, and its model when that is new."""
    name = owner.source_session_id
    known: list[str] = context.setdefault("sessions", [])
    models: dict[str, list[Any]] = context.setdefault("models", {})
    is_first = name not in known
    for forgotten in meet(known, name):
        count_from(context, models.pop(forgotten, [0])[0])
    if is_first:
        given.sessions.append(session_draft(row, owner, place=place))
        if owner.parent is None:
            given.drafts += waiting_title(name, context, place)
    message = row.get("message")
    model = message.get("model") if isinstance(message, dict) else None
    number, last = models.get(name, (floor(context), None))
    if isinstance(model, str) and model not in {last, "<synthetic>", ""}:
        models[name] = [number + 1, model]
        at = moment(row.get("timestamp"))
        found: dict[str, Any] = {"nth": number + 1, "occurred_at": at, "origin": origin}
        given.drafts.append(attribute(PROVIDER, name, "model", model, **found))


def _describe(row: Mapping[str, Any], found: list[Part], context: dict[str, Any]) -> None:
    """Add to the parts' payloads what the row says about itself; tokens stand at the first."""
    message = row["message"] if isinstance(row.get("message"), dict) else {}
    about = {
        "parent_uuid": row.get("parentUuid"),
        "message_id": message.get("id"),
        "model": message.get("model"),
        "stop_reason": message.get("stop_reason"),
        "prompt_source": row.get("promptSource"),
        "interrupted": row.get("interruptedMessageId"),
    }
    if _where(row) != context["where"]:
        about |= {"cwd": row.get("cwd"), "git_branch": row.get("gitBranch")}
    kept = {name: value for name, value in about.items() if value is not None}
    for part in found:
        part.payload = {**part.payload, **kept}
    usage = usage_of(message, context)
    if usage:
        found[0].payload["usage"] = usage


def _where(row: Mapping[str, Any]) -> str:
    """Return a hash of a row's directory and branch."""
    return digest(f"{row.get('cwd')}\n{row.get('gitBranch')}")[:_SHORT]
