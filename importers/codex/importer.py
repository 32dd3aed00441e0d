"""Codex as an importer: its stores, its rollouts, and a title for each session."""

import copy
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from importers import tail
from importers.attributes import attribute, count_value
from importers.base import Batch, Source, Store
from importers.codex.entries import normalise
from importers.codex.rollouts import ARCHIVED, SESSIONS, Forks, rollouts
from importers.codex.thread import PROVIDER
from importers.codex.titles import Titles

__all__ = ["CodexImporter"]


class CodexImporter:
    """Reads what Codex CLI, its app and its IDE extensions store under one folder."""

    def __init__(self) -> None:
        """Begin without knowing any store."""
        self._forks = Forks()
        self._titles: dict[Path, Titles] = {}
        self._databases: dict[Path, Path] = {}

    @property
    def provider(self) -> str:
        """The short name of the client."""
        return PROVIDER

    def stores(self, environment: Mapping[str, str], home: Path) -> list[Store]:
        """Return the store that ``CODEX_HOME`` names, else ``~/.codex``, if it has sessions."""
        root = Path(environment.get("CODEX_HOME") or home / ".codex").absolute()
        self._databases[root] = Path(environment.get("CODEX_SQLITE_HOME") or root).absolute()
        exists = any((root / name).is_dir() for name in (SESSIONS, ARCHIVED))
        return [Store(provider=PROVIDER, root=root)] if exists else []

    def sources(self, store: Store) -> Iterable[Source]:
        """Return the rollouts, oldest first, with the titles of their threads read anew."""
        self._titles_of(store.root).refresh()
        return rollouts(store, self._forks)

    def read(self, source: Source, state: Mapping[str, Any] | None) -> Batch:
        """Read one batch of a rollout. Raises OSError when it cannot be read at all."""
        batch = tail.read(source, state, normalise)
        _add_title(batch, self._titles_of(source.store.root))
        return batch

    def _titles_of(self, root: Path) -> Titles:
        if root not in self._titles:
            self._titles[root] = Titles(root, self._databases.get(root, root))
        return self._titles[root]


def _add_title(batch: Batch, titles: Titles) -> None:
    """Say the thread's title when it is another than the one that was said last."""
    context = dict(batch.state.get("context") or {})
    thread = context.get("thread")
    title = titles.of(thread) if thread else None
    if not thread or not title:
        return
    seen = context["titled"] = copy.deepcopy(context.get("titled", {}))
    nth = count_value(seen, title)
    if nth is not None:
        batch.drafts.append(attribute(PROVIDER, thread, "title", title, nth=nth))
        batch.state = {**batch.state, "context": context}
