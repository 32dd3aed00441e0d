"""Where pi keeps its session files, and which may hold copies of another's lines.

A session is ``sessions/<directory>/<time>_<id>.jsonl``; pi 0.30.0 wrote beside that folder, and
later versions move such a file into it. So a file is known by its name alone. The id in the name
is the session's only since the second version of the format (0.27.9 wrote another there).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import Any, Final

from importers.base import UNKNOWN_SHAPE, Source, Store
from importers.regular import opened
from importers.tail import decode

__all__ = ["SESSIONS", "STRAY", "Headers", "origin_of", "session_files", "session_of_name"]

SESSIONS: Final = "sessions"
STRAY: Final = "[0-9]*_*.jsonl"  # beside it; other clients have other lists of lines there
_PATTERNS: Final = (f"{SESSIONS}/*/*.jsonl", f"{SESSIONS}/*.jsonl", STRAY)
_HEADER_BYTES: Final = 64 * 1024  # a header holds two paths


def session_of_name(path: str) -> str | None:
    """Return the id that stands in the name of a session's file."""
    return Path(path).stem.partition("_")[2] or None


def origin_of(header: dict[str, Any]) -> str | None:
    """Return the name of the file that a session was forked, cloned or handed over from."""
    origin = header.get("parentSession") or header.get("branchedFrom")
    # Another machine may have written the path; PureWindowsPath knows both kinds of separators.
    return PureWindowsPath(origin).name if isinstance(origin, str) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Header:
    session: str | None
    origin: str | None


class Headers:
    """What the first lines of a store's files say; read once, for they never change."""

    def __init__(self) -> None:
        """Begin without knowing any file."""
        self._known: dict[Path, _Header] = {}
        self._sessions: dict[str, str] = {}

    def origin(self, path: Path) -> str | None:
        """Return the name of the file that this one was forked from, or None."""
        if path not in self._known:
            header = _header(path)
            if header is None:
                return None  # reading the whole file says what is wrong with it; ask again then
            self._known[path] = header
            if header.session:
                self._sessions[path.name] = header.session
        return self._known[path].origin

    def session(self, name: str) -> str | None:
        """Return the id of the session in the file of this name, if that was seen."""
        return self._sessions.get(name)


def session_files(store: Store, headers: Headers) -> list[Source]:
    """Return the session files by time, each to be read after the one that it was forked from.

    What is no regular file is a source that cannot be read, and gives way to its namesake.
    """
    found: dict[str, Path] = {}
    for path in sorted(_files(store.root), key=_order):
        key = str(store.root / SESSIONS / path.name)
        # The same name in two folders: copied, not moved.
        found[str(path) if key in found else key] = path
    keys = {path.name: key for key, path in reversed(found.items())}
    return [
        Source(store=store, path=path, key=key, after=_after(headers.origin(path), key, keys))
        for key, path in found.items()
    ]


def _order(path: Path) -> tuple[str, bool, int, Path]:
    return path.name, not path.is_file(), len(path.parts), path


def _after(origin: str | None, key: str, keys: dict[str, str]) -> tuple[str, ...]:
    parent = keys.get(origin) if origin else None
    return (parent,) if parent and parent != key else ()


def _files(root: Path) -> Iterator[Path]:
    for pattern in _PATTERNS:
        yield from root.glob(pattern)


def _header(path: Path) -> _Header | None:
    try:
        with opened(path) as file:
            header = decode(file.readline(_HEADER_BYTES))
        session = header.get("id") if header.get("type") == "session" else None
        return _Header(session=str(session) if session else None, origin=origin_of(header))
    except (OSError, *UNKNOWN_SHAPE):
        return None
