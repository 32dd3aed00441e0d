"""What a message in parts says, as OpenCode wrote it until 1.x, in files and in tables.

A user's message is one entry, because its parts are one prompt; of an assistant's each part is one,
and a tool part two. A part that cannot be read is told by itself, and costs no other.
"""

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Any, Final

from importers.attachments import attachment, label
from importers.calls import call_text, plain
from importers.opencode.message import Heard, Message, Part, Spoken

__all__ = ["said_in_parts", "tool_spoken"]

_SKIPPED: Final = {
    "agent": "mention of an agent",
    "compaction": "request for a compaction",
    "patch": "patch",
    "retry": "retry",
    "snapshot": "snapshot",
    "step-finish": "step",
    "step-start": "step",
}
_NAME: Final = 40  # characters of an unknown kind's name that are told
_COMPACTION: Final = "compaction"  # the agent, and the mode, that write summaries


def said_in_parts(message: Message) -> Heard:
    """Return what a message says in its records, which are itself and its parts."""
    heard = _user(message) if message.kind == "user" else _assistant(message)
    if not any(each.row is message.row for each in heard.said):
        heard.skipped["header of a message"] += 1
    return heard


def tool_spoken(part: Part, state: dict[str, Any], *, slot: int, nth: int = 0) -> list[Spoken]:
    """Return a tool's call and, once there is one, its result.

    ``nth`` tells calls of one message apart that their provider gave the same id.
    """
    tool, call_id = str(part.data.get("tool")), str(part.data.get("callID") or part.row.id)
    name = f"tool/{call_id}" if not nth else f"tool/{call_id}/{nth}"
    times = _dict(state.get("time"))
    said = [
        Spoken(
            role="tool_call",
            content=call_text(tool, state.get("input")),
            name=name,
            slot=slot,
            row=part.row,
            at=times.get("start"),
            call_id=call_id,
            payload={"tool": tool, "input": state.get("input")},
        )
    ]
    result = _result(state)
    if result is not None:
        content, payload = result
        said.append(
            Spoken(
                role="tool_result",
                content=content,
                name=f"{name}#result",
                slot=slot + 1,
                row=part.row,
                at=times.get("end"),
                call_id=call_id,
                payload={"tool": tool, **payload},
            )
        )
    return said


def _user(message: Message) -> Heard:
    heard = Heard()
    pieces: list[str] = []
    blobs: list[dict[str, Any]] = []
    for slot, part in enumerate(message.parts, start=1):
        heard.take(part, partial(_of_user, part, slot, heard, pieces, blobs))
    if pieces:
        payload = {"blobs": blobs} if blobs else {}
        content = "\n".join(pieces)
        prompt = Spoken(
            role="user", content=content, name="text/0", slot=0, row=message.row, payload=payload
        )
        heard.said.insert(0, prompt)
    return heard


def _of_user(
    part: Part, slot: int, heard: Heard, pieces: list[str], blobs: list[dict[str, Any]]
) -> list[Spoken] | str:
    """Return what a part says beside the prompt, or its rule; pieces of the prompt are added."""
    kind, text = part.data.get("type"), str(part.data.get("text") or "")
    if kind == "file":
        blobs.append(_file(part.data))
        pieces.append(label(blobs[-1]))
        return []
    if kind == "subtask":
        return [_subtask(part, slot)]
    if kind != "text":
        return _rule(kind)
    if part.data.get("ignored") or not text.strip():
        return "ignored text" if part.data.get("ignored") else "empty text"
    if part.data.get("synthetic"):
        name = f"synthetic/{len(heard.said)}"
        return [Spoken(role="system", content=text, name=name, slot=slot, row=part.row)]
    pieces.append(text)
    return []


def _assistant(message: Message) -> Heard:
    heard = Heard()
    counts: Counter[str] = Counter()
    for slot, part in enumerate(message.parts):
        heard.take(part, partial(_part, part, message, counts, 2 * slot))
    error = message.data.get("error")
    if isinstance(error, dict):
        heard.said.append(_error(error, message, 2 * len(message.parts)))
    return heard


def _part(part: Part, message: Message, counts: Counter[str], slot: int) -> list[Spoken] | str:
    """Return what a part says, or the rule by which it says nothing."""
    kind = str(part.data.get("type"))
    if kind == "tool":
        return _tool(part, counts, slot)
    if kind in {"text", "reasoning"}:
        return _text(part, message, counts, slot)
    if kind != "file":
        return _rule(kind)
    blob = _file(part.data)
    said = _spoken(part, slot, "assistant", _numbered(kind, counts))
    return [replace(said, content=label(blob), payload={"blobs": [blob]})]


def _tool(part: Part, counts: Counter[str], slot: int) -> list[Spoken] | str:
    state = _dict(part.data.get("state"))
    if state.get("status") in {None, "pending"} and not state.get("input"):
        return "unfinished tool call"
    call = str(part.data.get("callID"))
    counts[call] += 1
    return tool_spoken(part, state, slot=slot, nth=counts[call] - 1)


def _text(part: Part, message: Message, counts: Counter[str], slot: int) -> list[Spoken] | str:
    kind, text = str(part.data["type"]), str(part.data.get("text") or "")
    if part.data.get("ignored"):
        return "ignored text"
    if not text.strip():
        return "empty text" if message.is_final else "unfinished text"
    if part.data.get("synthetic"):
        kind, role = "synthetic", "system"
    else:
        role = _speaker(message) if kind == "text" else "reasoning"
    return [replace(_spoken(part, slot, role, _numbered(kind, counts)), content=text)]


def _speaker(message: Message) -> str:
    agent = message.data.get("agent") or message.data.get("mode")
    is_summary = message.data.get("summary") is True or agent == _COMPACTION
    return "summary" if is_summary else "assistant"


def _spoken(part: Part, slot: int, role: str, name: str) -> Spoken:
    at = _dict(part.data.get("time")).get("start")
    return Spoken(role=role, content="", name=name, slot=slot, row=part.row, at=at)


def _numbered(kind: str, counts: Counter[str]) -> str:
    counts[kind] += 1
    return f"{kind}/{counts[kind] - 1}"


def _subtask(part: Part, slot: int) -> Spoken:
    """Return a prompt that goes to a sub-agent as it stands."""
    given = {
        key: part.data[key] for key in ("prompt", "description", "command") if key in part.data
    }
    agent = str(part.data.get("agent") or "subtask")
    return Spoken(
        role="tool_call",
        content=call_text(agent, given),
        name=f"subtask/{slot}",
        slot=slot,
        row=part.row,
        payload={"tool": agent, "input": given},
    )


def _error(error: dict[str, Any], message: Message, slot: int) -> Spoken:
    """Return what was said instead of an answer that failed."""
    text = _dict(error.get("data")).get("message") or error.get("message")
    name = str(error.get("name") or error.get("type") or "error")
    content = f"{name}: {plain(text)}" if text else name
    return Spoken(
        role="system",
        content=content,
        name="error/0",
        slot=slot,
        row=message.row,
        payload={"is_error": True},
    )


def _result(state: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    status = state.get("status")
    if status not in {"completed", "error"}:
        return None
    facts = _dict(state.get("metadata"))
    payload: dict[str, Any] = {"is_error": status == "error"}
    if state.get("title"):
        payload["title"] = state["title"]
    if facts.get("exit") is not None:
        payload["exit_code"] = facts["exit"]
    if facts.get("sessionId"):
        payload["session"] = str(facts["sessionId"])
    text = state.get("output") if status == "completed" else state.get("error")
    pieces = [plain(text if text is not None else "")]
    attachments = state.get("attachments")
    blobs = [_file(each) for each in attachments or [] if isinstance(each, dict)]
    if blobs:
        payload["blobs"] = blobs
        pieces += [label(blob) for blob in blobs]
    return "\n".join(pieces), payload


def _file(data: dict[str, Any]) -> dict[str, Any]:
    url, media_type, name = (data.get(key) for key in ("url", "mime", "filename"))
    return attachment(
        str(url or ""),
        media_type=str(media_type) if media_type else None,
        name=str(name) if name else None,
    )


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _rule(kind: object) -> str:
    return _SKIPPED.get(str(kind), f"unknown part: {str(kind)[:_NAME]}")
