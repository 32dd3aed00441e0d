"""What a row of ``session_message`` says, the table that OpenCode 2.x writes.

A row holds a whole message; an assistant's has its parts in ``content``. (Read in the sources of
anomalyco/opencode and in issue threads; no store of 2.x was at hand.)
"""

from collections import Counter
from typing import Any, Final

from importers.base import UNKNOWN_SHAPE
from importers.calls import plain
from importers.opencode.message import Heard, Message, Part, Row, Spoken, strange
from importers.opencode.parts import said_in_parts, tool_spoken

__all__ = ["said_in_row"]

_SKIPPED: Final = {
    "agent-switched": "switch of agent",
    "idle": "end of a turn",
    "location-switched": "switch of directory",
    "model-switched": "switch of model",
}
_NAME: Final = 40  # characters of an unknown kind's name that are told
_SAID_BY_CLIENT: Final = frozenset({"skill", "synthetic", "system"})


def said_in_row(message: Message) -> Heard:
    """Return what a row says; when it says nothing, the rule, counted once."""
    kind = message.kind
    if kind in {"user", "assistant"}:
        heard = said_in_parts(_in_parts(message))
    elif kind in _SAID_BY_CLIENT:
        heard = Heard(_text(message, "system", message.data.get("text")))
    elif kind == "compaction":
        heard = Heard(_text(message, "summary", message.data.get("summary")))
    elif kind == "shell":
        heard = Heard(_shell(message))
    else:
        return Heard(skipped=Counter([_SKIPPED.get(kind, f"unknown message: {kind[:_NAME]}")]))
    if heard.said or heard.torn:
        return Heard(heard.said, torn=heard.torn)
    rules = (rule for rule in heard.skipped if rule != "header of a message")
    return Heard(skipped=Counter([next(rules, "empty message")]))


def _in_parts(message: Message) -> Message:
    """Return the message as one in parts; its parts lie in the same row."""
    data = message.data
    model = data.get("model")
    if isinstance(model, dict):
        data = {**data, "modelID": model.get("id"), "providerID": model.get("providerID")}
    content = list(data.get("content") or [])
    if message.kind == "user":
        texts = [{"type": "text", "text": data.get("text")}] if data.get("text") else []
        content = [
            *texts,
            *({"type": "attached", "file": each} for each in data.get("files") or []),
        ]
    return Message(
        row=message.row,
        kind=message.kind,
        created=message.created,
        data=data,
        parts=[_inner(message.row, place, part) for place, part in enumerate(content)],
    )


def _inner(row: Row, place: int, part: Any) -> Part:
    own = Row(path=row.path, place=row.place, id=f"{row.id}/{place}", size=0, digest=row.digest)
    try:
        return Part(row=own, data=_part(part))
    except UNKNOWN_SHAPE as error:
        return Part(row=own, data={}, fault=strange(own, error))


def _part(part: dict[str, Any]) -> dict[str, Any]:
    if part.get("type") == "attached":
        return {"type": "file", **_file(part["file"])}
    if part.get("type") != "tool":
        return part
    state = part.get("state")
    if not isinstance(state, dict):
        return part
    content = [each for each in state.get("content") or [] if isinstance(each, dict)]
    texts = [str(each["text"]) for each in content if isinstance(each.get("text"), str)]
    error = state.get("error")
    times = part["time"] if isinstance(part.get("time"), dict) else {}
    status = "pending" if state.get("status") == "streaming" else state.get("status")
    merged = {
        **state,
        "status": status,
        "input": state.get("input") if isinstance(state.get("input"), dict) else {},
        "output": "\n".join(texts) if texts else state.get("output", state.get("result")),
        "error": error.get("message") if isinstance(error, dict) else error,
        "attachments": [_file(each) for each in content if each.get("type") == "file"],
        "time": {"start": times.get("ran") or times.get("created"), "end": times.get("completed")},
    }
    call_id = part.get("callID") or part.get("id")
    return {"type": "tool", "tool": part.get("name"), "callID": call_id, "state": merged}


def _file(file: dict[str, Any]) -> dict[str, Any]:
    return {
        "url": file.get("uri") or file.get("url"),
        "mime": file.get("mime"),
        "filename": file.get("name") or file.get("filename"),
    }


def _text(message: Message, role: str, text: Any) -> list[Spoken]:
    content = plain(text or "")
    if not content.strip():
        return []
    return [Spoken(role=role, content=content, name="text/0", slot=0, row=message.row)]


def _shell(message: Message) -> list[Spoken]:
    """Return a command that the user ran, and what it printed."""
    data = message.data
    output = data.get("output")
    if isinstance(output, dict):
        output = next(
            (output[key] for key in ("text", "output", "content") if key in output), output
        )
    time = data["time"] if isinstance(data.get("time"), dict) else {}
    done = bool(time.get("completed")) or output is not None
    state = {
        "status": "completed" if done else "running",
        "input": {"command": data.get("command")},
        "output": output,
        "metadata": {"exit": data.get("exit")},
        "time": {"start": time.get("created"), "end": time.get("completed")},
    }
    call_id = data.get("callID") or data.get("shellID")
    part = Part(row=message.row, data={"tool": "shell", "callID": call_id})
    return tool_spoken(part, state, slot=0)
