"""The first rows of a transcript: which came first, and which may be a copy of which."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from importers.regular import opened
from importers.tail import Malformed, decode

__all__ = ["LAST_COPYING", "Head", "is_kept", "peek", "version_of"]

PEEK_BYTES: Final = 8 * 1024 * 1024  # a first prompt with pasted images fits in
LAST_COPYING: Final = (1, 0, 103)
"""Versions before this one gave the rows that a resumed session copies new uuids."""

_VERSION: Final = re.compile(r"\d{1,9}(?:\.\d{1,9})*", re.ASCII)
_ABOUT: Final = ("cwd", "gitBranch", "version", "entrypoint", "timestamp")
_KEPT: Final = frozenset({"user", "assistant"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What the first rows of a transcript tell.

    ``start`` is when the file itself began: copied rows may be older. ``first`` is the uuid of
    the first message. ``is_continuation`` says that it begins with a compaction, so that its
    first message stands in the middle of another file. ``row`` holds what the first message
    says about the session.
    """

    start: str
    first: str
    session: str
    version: tuple[int, ...]
    is_continuation: bool
    row: dict[str, Any]


def is_kept(row: dict[str, Any]) -> bool:
    """Tell whether a row is a message of the conversation."""
    kind = row.get("type")
    boundary = kind == "system" and row.get("subtype") == "compact_boundary"
    known = boundary or (isinstance(kind, str) and kind in _KEPT)
    return isinstance(row.get("uuid"), str) and known


def version_of(row: dict[str, Any]) -> tuple[int, ...]:
    """Return a row's version of the client, for comparison; empty when it names none."""
    text = str(row.get("version") or "").partition("-")[0]
    return tuple(map(int, text.split("."))) if _VERSION.fullmatch(text) else ()


def peek(path: Path) -> Head | None:
    """Return what the beginning of a transcript tells; None when it has no message yet.

    Raises OSError.
    """
    own = ""
    with opened(path) as file:
        while file.tell() < PEEK_BYTES and (line := file.readline(PEEK_BYTES)):
            try:
                row = decode(line)
            except Malformed:
                continue  # the reader of the whole file reports it
            at = row.get("timestamp")
            at = at if isinstance(at, str) else ""
            if is_kept(row):
                return _head_of(row, path, start=max(own, at))
            own = own or at
    return None


def _head_of(row: dict[str, Any], path: Path, *, start: str) -> Head:
    return Head(
        start=start,
        first=row["uuid"],
        session=str(row.get("sessionId") or path.stem),
        version=version_of(row),
        is_continuation=row["type"] == "system" or bool(row.get("isCompactSummary")),
        row={name: row.get(name) for name in _ABOUT},
    )
