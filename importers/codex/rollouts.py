"""Where Codex keeps its rollouts, and which file is which thread's.

A rollout is written to ``sessions/YYYY/MM/DD/``, may be moved to ``archived_sessions/`` and be
compressed in either place. Its key is the plain path under ``sessions/``, whatever became of it.
Where a thread has a file in both places, one may have what the other lacks: both are read, and the
second is named by its own path.
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

    Where a folder has a plain and a compressed file of a thread, the plain one is current, as for
    Codex itself. What is no regular file is a source that cannot be read, unless the thread has one
    elsewhere.
    """
    chosen: dict[str, Path] = {}
    others: dict[str, Path] = {}
    places: set[Path] = set()
    for path in sorted(_files(store.root), key=_preference):
        plain = _plain(path)
        if plain in places:
            continue  # its twin, which is current
        places.add(plain)
        if chosen.setdefault(_key(store.root, path), path) != path and path.is_file():
            others[str(plain)] = path
    keys = {thread: key for key, path in chosen.items() if (thread := thread_of(path.name))}
    ordered = sorted(
        [*chosen.items(), *others.items()], key=lambda each: (each[1].name, each[0] in others)
    )
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
    return not path.is_file(), path.name.endswith(PACKED), path.parent.name == ARCHIVED, str(path)


def _plain(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(PACKED))


def _key(root: Path, path: Path) -> str:
    plain = _plain(path)
    day = _DAY.match(plain.name)
    if path.parent.name == ARCHIVED and day:
        return str(root.joinpath(SESSIONS, *day.groups(), plain.name))
    return str(plain)


def _header(path: Path) -> bytes:
    try:
        if path.name.endswith(PACKED):
            return Archive(str(path)).read(_HEADER_BYTES)
        with opened(path) as file:
            return file.read(_HEADER_BYTES)
    except (Damaged, OSError):
        return b""  # reading the source itself will say what is wrong with it
