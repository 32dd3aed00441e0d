"""From a line of a rollout to drafts: the pure normaliser of Codex' files.

Each file is read in one stream, the response items; the events beside them say the same once more
for the user interface.
"""

from typing import Any, Final

from importers.alarm import is_unknown
from importers.attributes import attribute, forked_from
from importers.base import moment
from importers.calls import plain
from importers.codex.envelope import Line, LineKind, line_of
from importers.codex.items import Spoken, Unsaid, spoken
from importers.codex.thread import PROVIDER, origin_of, session_of, thread_of
from importers.codex.turns import (
    begin_thread,
    count_prompt,
    enter_turn,
    hash_of,
    identify,
    place,
    time_of,
)
from importers.tail import Malformed, Normalised, Record
from memory.drafts import Draft, Kind, content_hash, session_id_of

__all__ = ["normalise"]

_DUPLICATES: Final = frozenset(
    {
        "agent_message",
        "agent_message_delta",
        "agent_reasoning",
        "agent_reasoning_raw_content",
        "agent_reasoning_section_break",
        "exec_command_begin",
        "exec_command_end",
        "item_completed",
        "item_started",
        "mcp_tool_call_begin",
        "mcp_tool_call_end",
        "patch_apply_begin",
        "patch_apply_end",
        "view_image_tool_call",
        "web_search_begin",
        "web_search_end",
    }
)
_BOOKKEEPING: Final = frozenset(
    {
        "context_compacted",
        "entered_review_mode",
        "error",
        "exited_review_mode",
        "session_configured",
        "stream_error",
        "task_started",
        "thread_name_updated",
        "thread_rolled_back",
        "thread_settings_applied",
        "turn_diff",
        "turn_started",
        "undo_completed",
        "undo_started",
        "warning",
    }
)
_OTHERS: Final = {
    "state": "client state",
    "token_usage_record": "token count",
    "world_state": "client state",
}
_BOUNDARY: Final = "Conversation compacted; the summary is encrypted"
_NAME: Final = 40  # characters of an unknown kind's name that are told
_TURN_ENDS: Final = frozenset({"task_complete", "turn_complete", "turn_aborted"})


def normalise(record: Record, context: dict[str, Any]) -> Normalised:
    """Return what one line of a rollout gives. Raises Malformed for what Codex does not write."""
    line = line_of(record.value)
    given = Normalised()
    if line.kind is LineKind.HEADER and "thread" in context:
        return Normalised(skipped="copied header")  # a fork's replay begins with its parent's
    if "thread" not in context:
        _begin(line, record, context, given)
        if line.kind is LineKind.HEADER:
            return given
    try:
        given.drafts += _drafts(line, record, context)
    except Unsaid as rule:
        given.skipped = str(rule)
        if given.sessions and is_unknown(given.skipped):  # what nobody knows begins no session
            given.sessions.clear()
            del context["thread"]
    return given


def _begin(line: Line, record: Record, context: dict[str, Any], given: Normalised) -> None:
    """Start the file's session: from its header, or from its name when the header is lost."""
    header = line.payload if line.kind is LineKind.HEADER else {}
    thread = str(header.get("id") or thread_of(record.path) or "")
    if not thread:
        raise Malformed("no session: neither a header before it nor an id in the file's name")
    started = moment(header.get("timestamp")) or line.at
    begin_thread(context, thread, started)
    context["home"] = context["cwd"] = header.get("cwd")
    given.sessions.append(session_of(thread, header, started))
    origin = origin_of(header)
    if origin:
        # Since 0.158 a fork has no copied entries by which the runner would know it.
        found = _found(line, record, context)
        given.drafts.append(forked_from(PROVIDER, thread, origin, **found))


def _drafts(line: Line, record: Record, context: dict[str, Any]) -> list[Draft]:
    match line.kind:
        case LineKind.CONTEXT:
            return _turn_context(line, record, context)
        case LineKind.EVENT:
            return _event(line, record, context)
        case LineKind.COMPACTED:
            return _summary(line, record, context)
        case LineKind.ITEM:
            return _item(line, record, context)
        case _:
            if line.name == "token_usage_record":
                context["usage"] = line.payload.get("thread_token_usage")
            raise Unsaid(_OTHERS.get(line.name, f"unknown record: {line.name[:_NAME]}"))


def _turn_context(line: Line, record: Record, context: dict[str, Any]) -> list[Draft]:
    enter_turn(context, line.payload.get("turn_id"))
    context["cwd"] = line.payload.get("cwd") or context.get("cwd")
    model = line.payload.get("model")
    if not model or model == context.get("model"):
        raise Unsaid("turn context")
    context["model"] = str(model)
    # A fork's replay says the model of its parent's turns, so the turn alone does not tell them.
    source_id = f"{context['thread']}:{identify(context, 'model', hash_of(model))}"
    found = _found(line, record, context)
    thread = context["thread"]
    return [attribute(PROVIDER, thread, "model", str(model), source_id=source_id, **found)]


def _event(line: Line, record: Record, context: dict[str, Any]) -> list[Draft]:
    payload, name = line.payload, line.name
    if name in {"task_started", "turn_started"}:
        enter_turn(context, payload.get("turn_id"))
    item = payload.get("item")
    if name == "user_message":
        return _prompt(line, record, context, payload.get("message"))
    if name == "item_completed" and isinstance(item, dict) and item.get("type") == "UserMessage":
        return _prompt(line, record, context, item.get("content"))
    if name == "token_count":
        info = payload.get("info")
        if isinstance(info, dict):
            context["usage"] = info.get("total_token_usage")
        raise Unsaid("token count")
    if name in _TURN_ENDS:
        return _usage(line, record, context)
    if name in _DUPLICATES:
        raise Unsaid("duplicate of a response item")
    raise Unsaid("client event" if name in _BOOKKEEPING else f"unknown event: {name[:_NAME]}")


def _prompt(line: Line, record: Record, context: dict[str, Any], content: Any) -> list[Draft]:
    """Take a prompt from its event only where the turn has no response item of the user."""
    if context.get("prompted"):
        raise Unsaid("duplicate of a response item")
    blocks = content if isinstance(content, list) else [{"text": plain(content or "")}]
    texts = [block["text"] for block in blocks if isinstance(block, dict) and block.get("text")]
    if not texts:
        raise Unsaid("empty message")
    item = {"role": "user", "content": [{"type": "input_text", "text": text} for text in texts]}
    said = spoken("message", item, {})
    # Should the response item follow after all, it is the same entry.
    context["from_event"] = said[0].what
    count_prompt(context)
    return [_draft(each, line, record, context) for each in said]


def _usage(line: Line, record: Record, context: dict[str, Any]) -> list[Draft]:
    """At the end of a turn, say how many tokens the session has used so far."""
    usage = context.pop("usage", None)
    total = usage.get("total_tokens") if isinstance(usage, dict) else None
    if not total:
        raise Unsaid("client event")
    enter_turn(context, line.payload.get("turn_id"))
    source_id = identify(context, "tokens", hash_of(total))
    given = {"payload": usage, **_found(line, record, context)}
    thread = context["thread"]
    return [attribute(PROVIDER, thread, "tokens", str(total), source_id=source_id, **given)]


def _summary(line: Line, record: Record, context: dict[str, Any]) -> list[Draft]:
    message = line.payload.get("message")
    if message:
        said = Spoken(
            role="summary",
            content=plain(message),
            kind="compacted",
            what=hash_of("summary", message),
        )
    else:  # a remote compaction: its summary is encrypted, so the boundary is all there is
        what = hash_of("boundary")
        said = Spoken(role="system", content=_BOUNDARY, kind="compacted", what=what)
    return [_draft(said, line, record, context)]


def _item(line: Line, record: Record, context: dict[str, Any]) -> list[Draft]:
    passthrough = line.payload.get("internal_chat_message_metadata_passthrough")
    if isinstance(passthrough, dict):
        enter_turn(context, passthrough.get("turn_id"))
    said = spoken(line.name, line.payload, line.metadata)
    if line.name == "message" and line.payload.get("role") == "user":
        if context.pop("from_event", None) == said[0].what:
            raise Unsaid("duplicate of an event")
        count_prompt(context)
        context["prompted"] = context.get("prompted") or any(each.role == "user" for each in said)
    return [_draft(each, line, record, context) for each in said]


def _draft(said: Spoken, line: Line, record: Record, context: dict[str, Any]) -> Draft:
    moved = context.get("cwd") != context.get("home")
    facts = {
        "call_id": said.call_id,
        "turn_id": context.get("turn"),
        "model": context.get("model"),
        "cwd": context.get("cwd") if moved else None,
    }
    return Draft(
        kind=Kind.MESSAGE,
        content=said.content,
        source_client=PROVIDER,
        provider=PROVIDER,
        session_id=session_id_of(PROVIDER, context["thread"]),
        source_id=identify(context, said.kind, said.what),
        role=said.role,
        position=place(context, line.at),
        payload={**{k: v for k, v in facts.items() if v}, **said.payload},
        fingerprint=content_hash(said.role, said.content, said.call_id),
        **_found(line, record, context),
    )


def _found(line: Line, record: Record, context: dict[str, Any]) -> dict[str, Any]:
    """Return where and when a line was found, as fields of a draft."""
    return {"origin": record.origin, "occurred_at": time_of(context, line.at)}
