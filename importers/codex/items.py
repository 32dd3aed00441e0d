"""What each kind of response item says: who spoke, what, and by what it is known again."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from importers.attachments import attachment
from importers.calls import call_text
from importers.codex.speech import Said, said, said_by_user
from importers.codex.turns import hash_of

__all__ = ["Spoken", "Unsaid", "spoken"]

_EXIT_CODE: Final = re.compile(r"(?:^|\n)(?:Process exited with code|Exit code:) (-?\d+)\n")
_HEAD_CHARACTERS: Final = 400  # the tools write the exit code at the beginning of their output
_CIPHER: Final = re.compile(r"gAAAAA[\w-]{60,}={0,2}", re.ASCII)
_ENCRYPTED: Final = "[encrypted]"
_NAME: Final = 40  # characters of an unknown kind's name that are told
_SHELL_RECORD: Final = "<user_shell_command>"


class Unsaid(Exception):
    """An item without anything to keep; the message names the rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """One thing said: ``kind`` and ``what`` make its identity within the turn."""

    role: str
    content: str
    kind: str
    what: str
    call_id: str | None = None
    payload: dict[str, Any] = field(default_factory=dict)


def spoken(name: str, payload: Mapping[str, Any], metadata: Mapping[str, Any]) -> list[Spoken]:
    """Return what an item says. Raises Unsaid when it says nothing that is kept."""
    read = _READERS.get(name)
    if read is None:
        raise Unsaid(f"unknown item: {name[:_NAME]}")
    return read(name, payload, metadata)


def _message(name: str, payload: Mapping[str, Any], metadata: Mapping[str, Any]) -> list[Spoken]:
    role = str(payload.get("role"))
    what = hash_of(role, _blocks(payload.get("content")))
    if role == "user":
        typed, added = said_by_user(payload)
    elif metadata.get("compaction_output"):
        raise Unsaid("compaction output")  # the compacted line that follows has it
    else:
        typed, added = said(payload.get("content")), Said()
    facts = {"phase": payload["phase"]} if payload.get("phase") else {}
    found: list[Spoken] = []
    if typed or typed.attachments:
        speaker = "system" if role == "developer" else _speaker(role, typed.text)
        found.append(_said(typed, role=speaker, kind=name, what=what, **facts))
    if added:
        kind = f"{name}.context" if found else name
        found.append(_said(added, role="system", kind=kind, what=what))
    if not found:
        raise Unsaid("empty message")
    return found


def _speaker(role: str, text: str) -> str:
    """Return who speaks; what a command printed that the user ran through Codex, nobody says."""
    return "tool_result" if role == "user" and text.startswith(_SHELL_RECORD) else role


def _agent_message(
    name: str, payload: Mapping[str, Any], _metadata: Mapping[str, Any]
) -> list[Spoken]:
    """One agent's message to another: in the user's place, but not of the user."""
    text = said(payload.get("content"))
    ends = {key: payload[key] for key in ("author", "recipient") if payload.get(key)}
    what = hash_of(ends, _blocks(payload.get("content")))
    return [_said(text, role="system", kind=name, what=what, **ends)]


def _reasoning(name: str, payload: Mapping[str, Any], _metadata: Mapping[str, Any]) -> list[Spoken]:
    text = said([*(payload.get("summary") or []), *(payload.get("content") or [])])
    if not text:
        raise Unsaid("encrypted reasoning")
    facts = {"is_encrypted": True} if payload.get("encrypted_content") else {}
    what = hash_of(text.text)
    return [_said(text, role="reasoning", kind=name, what=what, **facts)]


def _call(name: str, payload: Mapping[str, Any], _metadata: Mapping[str, Any]) -> list[Spoken]:
    tool = str(payload.get("name") or name.removesuffix("_call"))
    arguments = _first(payload, "arguments", "input", "action", "revised_prompt")
    if isinstance(arguments, str) and name != "custom_tool_call":
        arguments = _object(arguments)
    if isinstance(arguments, dict) and name in {"local_shell_call", "web_search_call"}:
        arguments = {k: v for k, v in arguments.items() if v is not None and k != "type"}
    arguments, is_encrypted = _readable(arguments)
    facts: dict[str, Any] = {"tool": tool, "input": arguments}
    if is_encrypted:
        facts["is_encrypted"] = True
    if payload.get("namespace"):
        facts["namespace"] = str(payload["namespace"])
    if isinstance(payload.get("result"), str):  # the image that image_generation_call made
        facts["blobs"] = [attachment(f"data:image/png;base64,{payload['result']}")]
    call_id = _first(payload, "call_id", "id")
    return [
        Spoken(
            role="tool_call",
            content=call_text(tool, arguments),
            kind=name,
            what=str(call_id) if call_id else hash_of(tool, arguments),
            call_id=str(call_id) if call_id else None,
            payload=facts,
        )
    ]


def _readable(arguments: Any) -> tuple[Any, bool]:
    """Replace what one agent says to another in a form that nobody here can read.

    Since 0.138 the models encrypt the message to a sub-agent (openai/codex#26210).
    """
    if not isinstance(arguments, dict):
        return arguments, False
    shown = {
        key: _ENCRYPTED if isinstance(value, str) and _CIPHER.fullmatch(value) else value
        for key, value in arguments.items()
    }
    return shown, shown != arguments


def _output(name: str, payload: Mapping[str, Any], _metadata: Mapping[str, Any]) -> list[Spoken]:
    output = _first(payload, "output", "result", "tools")
    text, facts = _unwrapped(output)
    if text.attachments:
        facts["blobs"] = text.attachments
    call_id = str(payload.get("call_id") or "")
    return [
        Spoken(
            role="tool_result",
            content=text.text,
            kind=name,
            what=call_id or hash_of(text.text),
            call_id=call_id or None,
            payload=facts,
        )
    ]


def _unwrapped(output: Any) -> tuple[Said, dict[str, Any]]:
    """Take a tool's output out of what Codex puts around it; the exit code is a fact beside it."""
    if isinstance(output, str):
        inner = _object(output)
        if isinstance(inner, dict) and set(inner) == {"output", "metadata"}:
            exit_code = (inner["metadata"] or {}).get("exit_code")
            return said(inner["output"]), {} if exit_code is None else {"exit_code": exit_code}
        code = _EXIT_CODE.search(output[:_HEAD_CHARACTERS])
        return said(output), {"exit_code": int(code[1])} if code else {}
    if isinstance(output, dict):
        facts = {} if output.get("success") is None else {"success": output["success"]}
        return said(_first(output, "content_items", "content", "body")), facts
    return said(output), {}


def _nothing(rule: str) -> "_Reader":
    def read(_name: str, _payload: Mapping[str, Any], _metadata: Mapping[str, Any]) -> list[Spoken]:
        raise Unsaid(rule)

    return read


def _said(text: Said, *, role: str, kind: str, what: str, **facts: Any) -> Spoken:
    if text.attachments:
        facts["blobs"] = text.attachments
    return Spoken(role=role, content=text.text, kind=kind, what=what, payload=facts)


def _blocks(content: Any) -> Any:
    """Return the part of a message's blocks that no later version of the client adds to."""
    if not isinstance(content, list):
        return content
    kept = ("type", "text", "image_url", "encrypted_content")
    return [
        {key: block[key] for key in kept if key in block} if isinstance(block, dict) else block
        for block in content
    ]


def _first(payload: Mapping[str, Any], *names: str) -> Any:
    return next((payload[name] for name in names if payload.get(name) is not None), None)


def _object(text: str) -> Any:
    """Return the JSON object that a text is, or the text."""
    if not text.startswith("{"):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


_Reader = Callable[[str, Mapping[str, Any], Mapping[str, Any]], list[Spoken]]

_READERS: Final[Mapping[str, _Reader]] = {
    "message": _message,
    "agent_message": _agent_message,
    "reasoning": _reasoning,
    "function_call": _call,
    "custom_tool_call": _call,
    "local_shell_call": _call,
    "web_search_call": _call,
    "tool_search_call": _call,
    "image_generation_call": _call,
    "function_call_output": _output,
    "custom_tool_call_output": _output,
    "local_shell_call_output": _output,
    "mcp_tool_call_output": _output,
    "tool_search_output": _output,
    "compaction": _nothing("encrypted compaction"),
    "compaction_summary": _nothing("encrypted compaction"),
    "context_compaction": _nothing("encrypted compaction"),
    "ghost_snapshot": _nothing("snapshot of files"),
    "additional_tools": _nothing("list of tools"),
}
