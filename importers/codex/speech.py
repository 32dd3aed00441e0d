"""Telling what the user typed from what Codex says in the user's name.

Since 0.158 each block of a message says what it is (``content_item_kinds``); before, the tag at the
beginning of the text does.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from importers.attachments import attachment, label
from importers.calls import plain

__all__ = ["Said", "said", "said_by_user"]

# What the harness wraps its own texts in, as its versions from 0.20 to 0.171 do.
_TAGS: Final = (
    "additional_context",
    "apps_instructions",
    "codex_internal_context",
    "collaboration_mode",
    "context_window",
    "context_window_guidance",
    "environment_context",
    "environments_instructions",
    "goal_context",
    "hook_prompt",
    "internal_model_context",
    "model_switch",
    "multi_agent_mode",
    "permissions instructions",
    "personality_spec",
    "plugins_instructions",
    "recommended_plugins",
    "rollout_budget",
    "skill",
    "skills_instructions",
    "subagent_notification",
    "token_budget",
    "tools",
    "turn_aborted",
    "user_instructions",
)
_HARNESS: Final = re.compile(rf"\s*(?:<(?:{'|'.join(_TAGS)})[\s>]|# AGENTS\.md instructions)")
_IMAGE_TAGS: Final = re.compile(r"\s*(?:<image\b[^>]*>|</image>)\s*")  # around an image block
_USER_KIND: Final = "user."


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A message's text, and what is kept of its images and files."""

    text: str = ""
    attachments: list[dict[str, Any]] = field(default_factory=list)

    def __bool__(self) -> bool:
        """Tell whether anything was said."""
        return bool(self.text.strip())


def said(content: Any) -> Said:
    """Return what blocks of content say; ``content`` may also be plain text."""
    if not isinstance(content, list):
        return Said(text="" if content is None else plain(content))
    pieces: list[str] = []
    attachments: list[dict[str, Any]] = []
    for block in content:
        kept = _attached(block)
        if kept is not None:
            attachments.append(kept)
            pieces.append(label(kept))
        elif isinstance(block, dict) and isinstance(block.get("text"), str):
            pieces.append(block["text"])
        elif isinstance(block, dict) and "encrypted_content" in block:
            pieces.append("[encrypted]")
        else:
            pieces.append(plain(block))
    return Said(text="\n".join(pieces), attachments=attachments)


def said_by_user(payload: Mapping[str, Any]) -> tuple[Said, Said]:
    """Split a row in the user's name: what the user said, and what the harness added."""
    content = payload.get("content")
    if not isinstance(content, list):
        content = [{"type": "input_text", "text": plain(content or "")}]
    passthrough = payload.get("internal_chat_message_metadata_passthrough")
    kinds = passthrough.get("content_item_kinds") if isinstance(passthrough, dict) else None
    if not isinstance(kinds, list) or len(kinds) != len(content):
        kinds = [None] * len(content)
    typed: list[Any] = []
    added: list[Any] = []
    for block, kind in zip(content, kinds, strict=True):
        (added if _is_harness(block, kind) else typed).append(block)
    return said(_without_image_tags(typed)), said(added)


def _is_harness(block: Any, kind: Any) -> bool:
    if isinstance(kind, str):
        return not kind.startswith(_USER_KIND)
    text = block.get("text") if isinstance(block, dict) else block
    return isinstance(text, str) and _HARNESS.match(text) is not None


def _without_image_tags(blocks: Sequence[Any]) -> list[Any]:
    """Drop the tags that the client puts before and after an image, when there is one."""
    if not any(_attached(block) for block in blocks):
        return list(blocks)
    return [
        block
        for block in blocks
        if not (isinstance(block, dict) and _IMAGE_TAGS.fullmatch(str(block.get("text", ""))))
    ]


def _attached(block: Any) -> dict[str, Any] | None:
    if not isinstance(block, dict):
        return None
    url = block.get("image_url") or block.get("file_url") or block.get("file_data")
    if isinstance(url, dict):
        url = url.get("url")
    if not isinstance(url, str):
        return None
    return attachment(url, name=block.get("filename"))
