"""Tool calls and their results as text that people read and search."""

import json
import re
from pathlib import Path
from typing import Any, Final

from importers.claude.blobs import blob, is_blob, placeholder, without_blobs

__all__ = ["MAX_RESULT_BYTES", "call_text", "result_text", "saved_output"]

MAX_RESULT_BYTES: Final = 64 * 1024 * 1024
"""So much of an output that the client saved beside the transcript is read."""

# What a call is about, in the order in which it is looked for.
_MAIN: Final = (
    "command",
    "file_path",
    "notebook_path",
    "path",
    "pattern",
    "query",
    "url",
    "skill",
    "description",
    "prompt",
    "text",
)
_SAVED: Final = re.compile(
    r"\A<persisted-output>\n[^\n]*saved to: [^\n]*?(?P<name>[A-Za-z0-9._-]+)[ \t]*\n"
)


def call_text(name: str, given: Any) -> str:
    """Return a tool call as text: its name and main input in one line, the rest below."""
    if not isinstance(given, dict):
        return f"{name}: {_plain(given)}" if given else name
    main = next((key for key in _MAIN if isinstance(given.get(key), str)), None)
    first = f"{name}: {given[main]}" if main else name
    rest = [f"{key}: {_plain(value)}" for key, value in given.items() if key != main]
    return "\n".join([first, *rest])


def result_text(content: Any) -> tuple[str, list[dict[str, Any]]]:
    """Return a tool's output as text, and the images and documents in it."""
    if content is None:
        return "", []
    if not isinstance(content, list):
        return _plain(content), []
    pieces: list[str] = []
    blobs: list[dict[str, Any]] = []
    for block in content:
        if is_blob(block):
            blobs.append(blob(block))
            pieces.append(placeholder(blobs[-1]))
        elif isinstance(block, dict) and isinstance(block.get("text"), str):
            pieces.append(block["text"])
        else:
            pieces.append(_plain(block))
    return "\n".join(pieces), blobs


def saved_output(text: str, folder: Path | None) -> tuple[str, str] | None:
    """Return (file name, whole text) of an output that the client saved beside the transcript.

    Only a plain file directly in ``folder``, the session's own, is read, whatever path the
    transcript names. None when the text is no such preview, or the file is not there.
    """
    found = _SAVED.match(text)
    if found is None or folder is None:
        return None
    path = folder / found["name"]
    if folder.is_symlink() or path.is_symlink() or not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            whole = file.read(MAX_RESULT_BYTES)
    except OSError:
        return None  # the preview says that there is more, and where
    return found["name"], whole.decode(errors="replace")


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(without_blobs(value), ensure_ascii=False)
