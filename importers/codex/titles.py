"""The titles of threads, which stand beside the rollouts and not in them.

``state_5.sqlite`` has a name that the user gave and a title that Codex made; the older
``session_index.jsonl`` has one name a line, of which the last one counts.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from importers import sqlite_store
from importers.base import UNKNOWN_SHAPE
from importers.regular import opened
from importers.sqlite_store import Copies
from memory import log

__all__ = ["MAX_TITLE", "Titles"]

MAX_TITLE: Final = 200  # characters; Codex takes the whole first prompt for a title

_INDEX: Final = "session_index.jsonl"
_STATE: Final = re.compile(r"state_(\d+)\.sqlite")
_TABLE: Final = "threads"
# The name comes last: the user's word wins over what Codex made up.
_TITLES: Final = {
    "title": "SELECT id, title FROM threads",
    "name": "SELECT id, name FROM threads",
}

_log = log.get(__name__)


class Titles:
    """The titles in one folder, read again when its files change."""

    def __init__(self, root: Path, databases: Path) -> None:
        """Look in the client's folder, and for its databases in theirs."""
        self._index = root / _INDEX
        self._databases = databases
        self._copies = Copies()
        self._stamps: dict[Path, str] = {}
        self._found: dict[Path, dict[str, str]] = {}
        self._faults: dict[Path, str] = {}

    def refresh(self) -> None:
        """Read what has changed. What cannot be read is logged: a title is not worth a session."""
        self._try(self._databases, self._refresh_state)
        self._try(self._index, self._refresh_index)

    def _try(self, path: Path, read: Callable[[], None]) -> None:
        """Read some titles; log what fails, once until it fails otherwise."""
        try:
            read()
        except FileNotFoundError:
            return  # what it said stays known
        except OSError as error:
            if self._faults.get(path) != str(error):
                _log.warning("the titles in %s cannot be read: %s", path, error)
            self._faults[path] = str(error)
        else:
            self._faults.pop(path, None)

    def _refresh_state(self) -> None:
        path = _newest(self._databases)
        if path is not None:
            self._refresh(path, lambda: _from_state(path, self._copies))

    def _refresh_index(self) -> None:
        self._refresh(self._index, lambda: _from_index(self._index))

    def _refresh(self, path: Path, read: Callable[[], dict[str, str]]) -> None:
        stamp = sqlite_store.stamp(path)
        if self._stamps.get(path) != stamp:
            self._found[path] = read()
            self._stamps[path] = stamp

    def of(self, thread: str) -> str | None:
        """Return the newest title of a thread, if it has any."""
        return next((titles[thread] for titles in self._sources() if thread in titles), None)

    def _sources(self) -> list[dict[str, str]]:
        databases = [titles for path, titles in self._found.items() if path != self._index]
        return [*databases, self._found.get(self._index, {})]


def _newest(folder: Path) -> Path | None:
    """Return the state database with the highest number: Codex begins a new one on a change."""
    numbered = [(int(named[1]), path) for path in _listed(folder) if (named := _is_state(path))]
    return max(numbered)[1] if numbered else None


def _listed(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def _is_state(path: Path) -> re.Match[str] | None:
    return _STATE.fullmatch(path.name)


def _from_index(path: Path) -> dict[str, str]:
    titles: dict[str, str] = {}
    with opened(path) as file:
        lines = file.read().splitlines()
    for line in lines:
        try:
            row = json.loads(line)
            if isinstance(row, dict) and row.get("id"):
                _keep(titles, str(row["id"]), row.get("thread_name"))
        except UNKNOWN_SHAPE:
            continue  # a torn line; the whole one comes with the next change
    return titles


def _from_state(path: Path, copies: Copies) -> dict[str, str]:
    titles: dict[str, str] = {}
    with sqlite_store.reading(path, tables={_TABLE}, copies=copies) as connection:
        columns = sqlite_store.columns(connection, _TABLE)
        for column, statement in _TITLES.items():
            if {"id", column} <= columns:
                for row in connection.execute(statement):
                    _keep(titles, str(row["id"]), row[column])
    copies.drop(path)
    return titles


def _keep(titles: dict[str, str], thread: str, title: Any) -> None:
    text = " ".join(str(title or "").split())
    if text:
        titles[thread] = text if len(text) <= MAX_TITLE else f"{text[: MAX_TITLE - 1]}…"
