"""Claude Code keeps one JSON Lines file per session, and one per sub-agent."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from importers import tail
from importers.base import Batch, Source, Store
from importers.claude.head import LAST_COPYING, Head, peek
from importers.claude.place import Place, sub_agents, transcripts
from importers.claude.rows import normalise
from importers.claude.sessions import PROVIDER

__all__ = ["ClaudeImporter"]

_FORKING: Final = (2, 0, 5)
"""From this version on only a fork copies rows; before, resuming a session did."""


@dataclass(frozen=True, slots=True)
class ClaudeImporter:
    """The importer of Claude Code's transcripts; remembers the first rows of each file."""

    provider: str = PROVIDER
    _heads: dict[Path, tuple[int, Head]] = field(default_factory=dict)

    def stores(self, environment: Mapping[str, str], home: Path) -> list[Store]:
        """Return the store in CLAUDE_CONFIG_DIR, else in ``~/.claude``, when it is there."""
        chosen = environment.get("CLAUDE_CONFIG_DIR", "")
        root = Path(chosen) if chosen else home / ".claude"
        return [Store(provider=PROVIDER, root=root)] if (root / "projects").is_dir() else []

    def sources(self, store: Store) -> Iterator[Source]:
        """Return the transcripts, those that began first before those that may copy them.

        A folder that cannot be listed is a source that cannot be read.
        """
        taken: set[str] = set()
        for project in sorted((store.root / "projects").iterdir()):
            if not project.is_dir():
                continue
            try:
                found = [*self._ordered(project), *((path, ()) for path in sub_agents(project))]
            except OSError:
                found = [(project, ())]
            for path, after in found:
                key = _key(store, project, path)
                if key in taken:  # the same session in two projects: copied, not moved
                    key = str(path)
                taken.add(key)
                before = tuple(_key(store, project, each) for each in after)
                yield Source(store=store, path=path, key=key, after=before)

    def read(self, source: Source, state: Mapping[str, Any] | None) -> Batch:
        """Read one batch of rows after the checkpoint. Raises OSError."""
        if source.path.is_dir():
            list(source.path.iterdir())  # raises what kept it from being listed
        older = partial(self._older, source.path)
        place = Place.of(source.path, source.store.root / "projects", older=older)
        batch = tail.read(source, state, partial(normalise, place=place))
        version = tuple(batch.state["context"].get("version", ()))
        if () < version < _FORKING:
            batch.edge = "resumed_from"
        return batch

    def _ordered(self, project: Path) -> list[tuple[Path, Iterable[Path]]]:
        """Return a folder's transcripts by their beginning, with those each may be a copy of."""
        heads = self._by_start(project)
        return [
            (path, _originals(head, heads[:number])) for number, (path, head) in enumerate(heads)
        ]

    def _by_start(self, project: Path) -> list[tuple[Path, Head | None]]:
        heads = [(path, self._head(path)) for path in transcripts(project)]
        return sorted(heads, key=lambda each: (each[1].start if each[1] else "~", each[0]))

    def _head(self, path: Path) -> Head | None:
        """Return the first rows of a file, which stay the same while it is appended to."""
        known = self._heads.get(path)
        try:
            inode = path.stat().st_ino
            if known is not None and known[0] == inode:
                return known[1]
            head = peek(path)
        except OSError:
            return None  # reading this file says so; its neighbours are not concerned
        if head is not None:
            self._heads[path] = (inode, head)
        return head

    def _older(self, path: Path) -> list[Path]:
        """Return the files of the same folder that began earlier and copied under new uuids."""
        ordered = self._by_start(path.parent)
        before = ordered[: [each for each, _ in ordered].index(path)]
        return [each for each, head in before if head is not None and _is_copying(head)]


def _originals(head: Head | None, before: list[tuple[Path, Head | None]]) -> list[Path]:
    """Return which of the earlier files a file may hold copies of."""
    if head is None:
        return []
    return [
        path
        for path, other in before
        if other is not None
        and (
            other.first == head.first
            or head.is_continuation
            or (_is_copying(head) and _is_copying(other))
        )
    ]


def _is_copying(head: Head) -> bool:
    return () < head.version < LAST_COPYING


def _key(store: Store, project: Path, path: Path) -> str:
    """Return the name of a file's checkpoint, without its project.

    The client moves a session's file to another project when it enters a worktree.
    """
    return str(store.root / "projects" / path.relative_to(project))
