"""The results of tool calls as text that people read and search."""

import re
from pathlib import Path
from typing import Any, Final

from importers.attachments import label
from importers.calls import plain
from importers.claude.blobs import blob, is_blob, without_blobs
from importers.regular import opened

__all__ = ["MAX_RESULT_BYTES", "result_text", "saved_output"]

MAX_RESULT_BYTES: Final = 64 * 1024 * 1024
"""So much of an output that the client saved beside the transcript is read."""

_SAVED: Final = re.compile(
    r"\A<persisted-output>\n[^\n]*saved to: [^\n]*?(?P<name>[A-Za-z0-9._-]+)[ \t]*\n"
)


def result_text(content: Any) -> tuple[str, list[dict[str, Any]]]:
    """Return a tool's output as text, and the images and documents in it."""
    if content is None:
        return "", []
    if not isinstance(content, list):
        return plain(without_blobs(content)), []
    pieces: list[str] = []
    blobs: list[dict[str, Any]] = []
    for block in content:
        if is_blob(block):
            blobs.append(blob(block))
            pieces.append(label(blobs[-1]))
        elif isinstance(block, dict) and isinstance(block.get("text"), str):
            pieces.append(block["text"])
        else:
            pieces.append(plain(without_blobs(block)))
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
        with opened(path) as file:
            whole = file.read(MAX_RESULT_BYTES)
    except OSError:
        return None  # the preview says that there is more, and where
    return found["name"], whole.decode(errors="replace")
