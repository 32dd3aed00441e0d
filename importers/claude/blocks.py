"""The content of one row, as the parts that become entries.

A row holds a text or a list of blocks. Each text, thought, tool call and tool result is a part;
images and documents belong to the part beside them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from importers.attachments import label
from importers.calls import call_text
from importers.claude.blobs import blob, is_blob, without_blobs
from importers.claude.harness import assistant_role, split_user_text, user_role
from importers.claude.results import result_text, saved_output
from importers.tail import Malformed

__all__ = ["Part", "blocks_of", "parts"]


@dataclass(slots=True, kw_only=True)
class Part:
    """One entry in the making.

    ``said`` is what makes it the same as its copies: the content as the row has it, and the ids
    of its tool call.
    """

    role: str
    content: str
    payload: dict[str, Any] = field(default_factory=dict)
    said: tuple[str, ...] = ()


def blocks_of(message: object) -> list[Any]:
    """Return a message's content as a list of blocks. Raises Malformed."""
    if not isinstance(message, dict):
        raise Malformed("a row without a message")
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, list):
        return content
    raise Malformed("a message whose content is neither a text nor a list")


def parts(row: Mapping[str, Any], *, results: Path | None) -> list[Part]:
    """Return the parts of a user or assistant row; ``results`` is the session's tool-results.

    Empty texts, and thoughts that the client kept to itself, give no part. Raises Malformed.
    """
    blocks = blocks_of(row.get("message"))
    found: list[Part] = []
    blobs = [blob(block) for block in blocks if is_blob(block)]
    for block in blocks:
        if isinstance(block, str):
            found += _text_parts(row, block)
        elif not isinstance(block, dict):
            raise Malformed("a content block that is no object")
        elif not is_blob(block):
            found += _block_parts(row, block, results)
    return _with_blobs(row, found, blobs)


def _block_parts(row: Mapping[str, Any], block: dict[str, Any], results: Path | None) -> list[Part]:
    kind = str(block.get("type"))
    if kind == "text":
        return _text_parts(row, str(block.get("text") or ""))
    if kind == "thinking":
        thought = str(block.get("thinking") or "")
        return [Part(role="reasoning", content=thought, said=(thought,))] if thought else []
    if kind == "redacted_thinking":
        return [Part(role="reasoning", content="[encrypted thinking]", said=(str(block),))]
    if kind.endswith("tool_use"):
        return [_call(block)]
    if kind.endswith("tool_result"):
        return [_result(row, block, results)]
    return _other(row, kind, block)


def _other(row: Mapping[str, Any], kind: str, block: dict[str, Any]) -> list[Part]:
    """Return a document of plain text as text, and keep a block that no version is known to have."""
    source = block.get("source")
    if isinstance(source, dict) and isinstance(source.get("data"), str):
        return _text_parts(row, source["data"])
    kept = without_blobs(block)
    return [Part(role="system", content=f"[{kind}]", payload={"block": kept}, said=(str(kept),))]


def _text_parts(row: Mapping[str, Any], text: str) -> list[Part]:
    if row.get("type") == "assistant":
        pieces = [(assistant_role(row, text), text)] if text.strip() else []
    else:
        role = user_role(row)
        pieces = split_user_text(text) if role == "user" else [(role, text)] if text.strip() else []
    return [Part(role=role, content=piece, said=(piece,)) for role, piece in pieces]


def _call(block: Mapping[str, Any]) -> Part:
    name, call_id = str(block.get("name") or "tool"), str(block.get("id") or "")
    given = without_blobs(block.get("input"))
    content = call_text(name, given)
    payload = {"tool": name, "input": given, "call_id": call_id}
    return Part(role="tool_call", content=content, payload=payload, said=(content, call_id))


def _result(row: Mapping[str, Any], block: Mapping[str, Any], results: Path | None) -> Part:
    """Return a tool's result.

    An output that the client saved beside the transcript counts as what the row says of it: a
    copy of the row in another session has no such file, and is the same result.
    """
    text, blobs = result_text(block.get("content"))
    call_id = str(block.get("tool_use_id") or "")
    payload: dict[str, Any] = {"call_id": call_id, "is_error": bool(block.get("is_error"))}
    if blobs:
        payload["blobs"] = blobs
    structured = row.get("toolUseResult")
    if isinstance(structured, dict) and structured.get("agentId"):
        payload["agent_id"] = str(structured["agentId"])
    said = (text, call_id, *(str(kept.get("sha256")) for kept in blobs))
    saved = saved_output(text, results)
    if saved is not None:
        payload["saved_output"], text = saved
    return Part(role="tool_result", content=text, payload=payload, said=said)


def _with_blobs(
    row: Mapping[str, Any], found: list[Part], blobs: Iterable[dict[str, Any]]
) -> list[Part]:
    """Give a row's images and documents to its last text, or make them a part of their own."""
    kept = list(blobs)
    if not kept:
        return found
    speaker = "assistant" if row.get("type") == "assistant" else user_role(row)
    part = next((part for part in reversed(found) if part.role == speaker), None)
    if part is None:
        part = Part(role=speaker, content=" ".join(map(label, kept)))
        found = [*found, part]
    part.payload["blobs"] = kept
    part.said = (*part.said, *(str(each.get("sha256")) for each in kept))
    return found
