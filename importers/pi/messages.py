"""What pi's messages say: who spoke, and what, one part for each block."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from importers.attachments import attachment, label
from importers.calls import call_text, plain
from importers.tail import Malformed

__all__ = ["Part", "parts"]

_TOKENS: Final = ("input", "output", "cacheRead", "cacheWrite", "reasoning", "totalTokens")


@dataclass(slots=True, kw_only=True)
class Part:
    """One thing that a message says; ``call_id`` ties a tool's call to its result."""

    role: str
    content: str
    call_id: str | None = None
    payload: dict[str, Any] = field(default_factory=dict)


def parts(message: Mapping[str, Any]) -> list[Part]:
    """Return what a message says; empty texts and thoughts that pi was not shown give nothing.

    A role that no version is known to have is kept as the harness' word. Raises Malformed.
    """
    role = message.get("role")
    if not isinstance(role, str):
        raise Malformed("a message without a role")
    return _READERS.get(role, _injected)(message)


def _user(message: Mapping[str, Any]) -> list[Part]:
    return _spoken("user", message)


def _injected(message: Mapping[str, Any]) -> list[Part]:
    """Return what an extension put into the conversation; nobody said it."""
    found = _spoken("system", message)
    for part in found:
        part.payload["type"] = str(message.get("customType") or message.get("role"))
    return found


def _assistant(message: Mapping[str, Any]) -> list[Part]:
    content = message.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    found = [part for block in blocks for part in _block(block)]
    if message.get("errorMessage"):
        failed = {"stop_reason": str(message.get("stopReason"))}
        found.append(Part(role="system", content=plain(message["errorMessage"]), payload=failed))
    if found:
        found[0].payload.update(_facts(message))
    return found


def _block(block: Any) -> list[Part]:
    if not isinstance(block, dict):
        raise Malformed("a content block that is no object")
    kind = block.get("type")
    if kind == "thinking":
        thought = plain(block.get("thinking") or "")
        return [Part(role="reasoning", content=thought)] if thought.strip() else []
    if kind == "toolCall":
        name, given = str(block.get("name") or "tool"), block.get("arguments")
        return [
            Part(
                role="tool_call",
                content=call_text(name, given),
                call_id=str(block["id"]) if block.get("id") else None,
                payload={"tool": name, "input": given},
            )
        ]
    return _spoken("assistant", {"content": [block]})


def _facts(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known of an answer beside its text: model and tokens, said once a message."""
    facts: dict[str, Any] = {
        name: str(message[name]) for name in ("model", "provider") if message.get(name)
    }
    usage = message.get("usage")
    if isinstance(usage, dict):
        tokens = {name: usage[name] for name in _TOKENS if isinstance(usage.get(name), int)}
        facts["usage"] = tokens
    return facts


def _result(message: Mapping[str, Any]) -> list[Part]:
    text, blobs = _text(message.get("content"))
    payload: dict[str, Any] = {"is_error": bool(message.get("isError"))}
    if message.get("toolName"):
        payload["tool"] = str(message["toolName"])
    if blobs:
        payload["blobs"] = blobs
    call_id = str(message["toolCallId"]) if message.get("toolCallId") else None
    return [Part(role="tool_result", content=text, call_id=call_id, payload=payload)]


def _execution(message: Mapping[str, Any]) -> list[Part]:
    """Return a command that the user ran through pi (``!command``), and what it printed."""
    command = plain(message.get("command") or "")
    given = {"tool": "bash", "input": {"command": command}, "by": "user"}
    told: dict[str, Any] = {"tool": "bash", "by": "user"}
    if isinstance(message.get("exitCode"), int):
        told["exit_code"] = message["exitCode"]
    for name in ("cancelled", "truncated"):
        if message.get(name):
            told[name] = True
    return [
        Part(role="tool_call", content=call_text("bash", given["input"]), payload=given),
        Part(role="tool_result", content=plain(message.get("output") or ""), payload=told),
    ]


def _summary(message: Mapping[str, Any]) -> list[Part]:
    text = plain(message.get("summary") or "")
    payload = {"type": str(message["role"])}
    return [Part(role="summary", content=text, payload=payload)] if text.strip() else []


def _spoken(role: str, message: Mapping[str, Any]) -> list[Part]:
    text, blobs = _text(message.get("content"))
    payload = {"blobs": blobs} if blobs else {}
    return [Part(role=role, content=text, payload=payload)] if text.strip() else []


def _text(content: Any) -> tuple[str, list[dict[str, Any]]]:
    """Return the text of content, and what is kept of the images in it."""
    if not isinstance(content, list):
        return plain(content or ""), []
    pieces: list[str] = []
    blobs: list[dict[str, Any]] = []
    for block in content:
        if not isinstance(block, dict):
            raise Malformed("a content block that is no object")
        if block.get("type") == "image":
            blobs.append(_image(block))
            pieces.append(label(blobs[-1]))
        elif "text" in block:
            pieces.append(plain(block["text"] or ""))
        else:
            pieces.append(plain(block))
    return "\n".join(pieces), blobs


def _image(block: Mapping[str, Any]) -> dict[str, Any]:
    media_type = str(block.get("mimeType") or "")
    return attachment(f"data:{media_type};base64,{block.get('data') or ''}")


_READERS: Final[Mapping[str, Callable[[Mapping[str, Any]], list[Part]]]] = {
    "user": _user,
    "assistant": _assistant,
    "toolResult": _result,
    "bashExecution": _execution,
    "custom": _injected,
    "hookMessage": _injected,  # what version 3 renamed to custom
    "compactionSummary": _summary,
    "branchSummary": _summary,
}
