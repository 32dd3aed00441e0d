"""Claude Code keeps one JSON Lines file per session, and one per sub-agent."""

import errno
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from importers import tail
from importers.base import Batch, Source, Store
from importers.claude.head import LAST_COPYING, Head, peek
from importers.claude.place import SUFFIX, Place, sub_agents, transcripts
from importers.claude.rows import normalise
from importers.claude.sessions import PROVIDER
from importers.tail import Normalised, Record

__all__ = ["ClaudeImporter"]

PROJECTS: Final = "projects"

_FORKING: Final = (2, 0, 5)
"""From this version on only a fork copies rows; before, resuming a session did."""


class ClaudeImporter:
    """Reads the transcripts of Claude Code and of its sub-agents."""

    def __init__(self) -> None:
        """Begin without knowing any file."""
        self._heads: dict[str, tuple[int, Head]] = {}

    @property
    def provider(self) -> str:
        """The short name of the client."""
        return PROVIDER

    def stores(self, environment: Mapping[str, str], home: Path) -> list[Store]:
        """Return the store that ``CLAUDE_CONFIG_DIR`` names, else ``~/.claude``, if it has sessions."""
        root = Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude").absolute()
        return [Store(provider=PROVIDER, root=root)] if (root / PROJECTS).is_dir() else []

    def sources(self, store: Store) -> Iterator[Source]:
        """Yield the transcripts, those that began first before those that may copy them.

        A folder that cannot be listed is a source that cannot be read. Raises OSError.
        """
        taken: set[str] = set()
        for project in sorted((store.root / PROJECTS).iterdir()):
            if not project.is_dir():
                continue
            try:
                found = list(self._sources(store, project))
            except OSError:
                found = [Source(store=store, path=project, key=str(project))]
            for source in found:
                if source.key in taken:  # the same session in two projects: copied, not moved
                    source = Source(store=store, path=source.path, key=str(source.path))  # noqa: PLW2901 - the same source under another name
                taken.add(source.key)
                yield source

    def read(self, source: Source, state: Mapping[str, Any] | None) -> Batch:
        """Read one batch of rows after the checkpoint. Raises OSError."""
        if source.path.suffix != SUFFIX:
            list(source.path.iterdir())  # raises again what kept the folder from being listed
            raise OSError(errno.EAGAIN, "could not be listed a moment ago", str(source.path))
        batch = tail.read(source, state, self._normaliser(source))
        version = tuple(batch.state["context"].get("version", ()))
        if () < version < _FORKING:
            batch.edge = "resumed_from"
        return batch

    def _normaliser(self, source: Source) -> tail.Normalise:
        """Return the normaliser of one file, which looks at where the file lies when it must."""
        place: Place | None = None

        def normalise_here(record: Record, context: dict[str, Any]) -> Normalised:
            nonlocal place
            if place is None:
                older = partial(self._older, source.path)
                place = Place.of(source.path, source.store.root / PROJECTS, older=older)
            return normalise(record, context, place=place)

        return normalise_here

    def _sources(self, store: Store, project: Path) -> Iterator[Source]:
        """Yield a folder's sources, each with those before it that it may hold copies of."""
        keys: list[str] = []
        by_first: dict[str, list[str]] = {}
        copying: list[str] = []
        for path, head in self._by_start(project):
            key = _key(store, project, path)
            after: list[str] = []
            if head is not None:
                twins = by_first.setdefault(head.first, [])
                after = [*twins, *(copying if _is_copying(head) else ())]
                if head.is_continuation:
                    after = keys
                twins.append(key)
                if _is_copying(head):
                    copying.append(key)
            yield Source(store=store, path=Path(path), key=key, after=tuple(after))
            keys.append(key)
        for agent in sub_agents(project):
            yield Source(store=store, path=agent, key=_key(store, project, str(agent)))

    def _by_start(self, project: Path) -> list[tuple[str, Head | None]]:
        heads = [(path, self._head(path, inode)) for path, inode in transcripts(project)]
        return sorted(heads, key=lambda each: (each[1].start if each[1] else "~", each[0]))

    def _head(self, path: str, inode: int) -> Head | None:
        """Return the first rows of a file, which stay the same while it is appended to."""
        known = self._heads.get(path)
        if known is not None and known[0] == inode:
            return known[1]
        try:
            head = peek(Path(path))
        except OSError:
            return None  # reading this file says so; its neighbours are not concerned
        if head is not None:
            self._heads[path] = (inode, head)
        return head

    def _older(self, path: Path) -> list[Path]:
        """Return the files of the same folder that began earlier and copied under new uuids."""
        ordered = self._by_start(path.parent)
        before = ordered[: [each for each, _ in ordered].index(str(path))]
        return [Path(each) for each, head in before if head is not None and _is_copying(head)]


def _is_copying(head: Head) -> bool:
    return () < head.version < LAST_COPYING


def _key(store: Store, project: Path, path: str) -> str:
    """Return the name of a file's checkpoint, without its project.

    The client moves a session's file to another project when it enters a worktree.
    """
    return f"{store.root}/{PROJECTS}{path.removeprefix(str(project))}"
