"""Where Codex keeps its rollouts, and which file is which thread's.

A rollout is written to ``sessions/YYYY/MM/DD/``, may be moved to ``archived_sessions/`` and be
compressed in either place. Its key is the plain path under ``sessions/``, whatever became of it.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from importers.archive import Archive, Damaged
from importers.base import Source, Store
from importers.codex.thread import FORKED_FROM, thread_of
from importers.regular import opened
from importers.tail import PACKED

__all__ = ["ARCHIVED", "SESSIONS", "Forks", "rollouts"]

SESSIONS: Final = "sessions"
ARCHIVED: Final = "archived_sessions"

_DAY: Final = re.compile(r"rollout-(\d{4})-(\d{2})-(\d{2})T")
_HEADER_BYTES: Final = 4096  # the ids stand before the instructions, which fill the rest
_FORKED_FROM: Final = re.compile(
    rf'"(?:{"|".join(FORKED_FROM)})"\s*:\s*"([0-9a-f-]{{36}})"'.encode()
)


class Forks:
    """Which thread each file was forked from; a header never changes, so it is read once."""

    def __init__(self) -> None:
        """Begin without knowing any file."""
        self._origins: dict[str, str | None] = {}

    def origin(self, key: str, path: Path) -> str | None:
        """Return the thread that this file's thread was forked from, or None."""
        if key not in self._origins:
            header = _header(path)
            if b"\n" not in header and len(header) < _HEADER_BYTES:
                return None  # still being written, or gone: ask again
            found = _FORKED_FROM.search(header.split(b"\n", 1)[0])
            self._origins[key] = found[1].decode() if found else None
        return self._origins[key]


def rollouts(store: Store, forks: Forks) -> list[Source]:
    """Return the rollouts, oldest first, each fork after the thread that it was forked from.

    Where a thread has a plain and a compressed file, the plain one is current, as for Codex itself.
    What is no regular file is a source that cannot be read, unless the thread has one elsewhere.
    """
    chosen: dict[str, Path] = {}
    for path in sorted(_files(store.root), key=_preference):
        chosen.setdefault(_key(store.root, path), path)
    ordered = sorted(chosen.items(), key=lambda each: (each[1].name, each[0]))
    keys = {thread: key for key, path in reversed(ordered) if (thread := thread_of(path.name))}
    return [
        Source(store=store, path=path, key=key, after=_after(forks.origin(key, path), key, keys))
        for key, path in ordered
    ]


def _after(origin: str | None, key: str, keys: dict[str, str]) -> tuple[str, ...]:
    parent = keys.get(origin) if origin else None
    return (parent,) if parent and parent != key else ()


def _files(root: Path) -> Iterator[Path]:
    for folder, pattern in ((root / SESSIONS, "**/*.jsonl*"), (root / ARCHIVED, "*.jsonl*")):
        for path in folder.glob(pattern):
            if path.name.endswith((".jsonl", f".jsonl{PACKED}")):
                yield path


def _preference(path: Path) -> tuple[bool, bool, bool, str]:
    return not path.is_file(), path.parent.name == ARCHIVED, path.name.endswith(PACKED), str(path)


def _key(root: Path, path: Path) -> str:
    plain = path.name.removesuffix(PACKED)
    day = _DAY.match(plain)
    if path.parent.name == ARCHIVED and day:
        return str(root.joinpath(SESSIONS, *day.groups(), plain))
    return str(path.with_name(plain))


def _header(path: Path) -> bytes:
    try:
        if path.name.endswith(PACKED):
            return Archive(str(path)).read(_HEADER_BYTES)
        with opened(path) as file:
            return file.read(_HEADER_BYTES)
    except (Damaged, OSError):
        return b""  # reading the source itself will say what is wrong with it
