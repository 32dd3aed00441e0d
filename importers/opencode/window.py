"""Which session of OpenCode is at work in a directory, read from its database.

The part of a running tool call is in the database before the server is called (seen in a run of
1.18.33), so that the session and the call can be told from it.
"""

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from importers import sqlite_store
from importers.opencode.importer import OpenCodeImporter
from importers.sqlite_store import Copies
from memory.tools.window import Window

__all__ = ["current"]

_TABLES: Final = ("session_v2", "session")  # the one that is in use first
_NEEDED: Final = frozenset({"id", "directory", "time_updated"})
_SESSIONS: Final = 8  # the newest of a directory
_PARTS: Final = 50  # the newest of those sessions
_RUNNING: Final = frozenset({"pending", "running"})


class _NoCopies(Copies):
    """No copies: one of gigabytes would hold up the call."""

    def of(self, path: Path) -> Path:
        """Raise OSError: the database cannot be read where it lies."""
        raise OSError(path)


def current(directory: str, tool: str, environment: Mapping[str, str], home: Path) -> Window | None:
    """Return the session that runs this tool, else the newest one; None without any.

    Of databases that cannot be read where they lie nothing is said.
    """
    found: list[tuple[int, Window]] = []
    for path in OpenCodeImporter().databases(environment, home):
        try:
            with sqlite_store.reading(
                path, tables=(*_TABLES, "part"), copies=_NoCopies()
            ) as connection:
                found += _windows(connection, directory, tool)
        except OSError:
            continue
    return max(found, key=lambda each: each[0])[1] if found else None


def _windows(connection: sqlite3.Connection, directory: str, tool: str) -> list[tuple[int, Window]]:
    sessions: dict[str, int] = {}
    for table in _TABLES:
        if sqlite_store.columns(connection, table) >= _NEEDED:
            rows = connection.execute(
                f"SELECT id, time_updated FROM {table} WHERE directory = ?"  # noqa: S608 - our own names
                " ORDER BY time_updated DESC LIMIT ?",
                (directory, _SESSIONS),
            )
            for row in rows:
                sessions.setdefault(str(row["id"]), int(row["time_updated"] or 0))
    if not sessions:
        return []
    running = _running(connection, list(sessions), tool)
    names = {session for session, _ in running}
    if len(names) == 1:
        call = running[0][1] if len(running) == 1 else ""
        name = names.pop()
        return [(sessions[name], Window(session=name, call=call))]
    newest = max(sessions, key=lambda name: sessions[name])
    return [(sessions[newest], Window(session=newest))]


def _running(
    connection: sqlite3.Connection, sessions: list[str], tool: str
) -> list[tuple[str, str]]:
    """Return session and call of each of the newest parts in which this tool runs."""
    if not sqlite_store.columns(connection, "part") >= {"id", "session_id", "data"}:
        return []
    marks = ", ".join("?" for _ in sessions)
    rows = connection.execute(
        f"SELECT session_id, data FROM part WHERE session_id IN ({marks})"  # noqa: S608 - marks alone
        " ORDER BY id DESC LIMIT ?",
        (*sessions, _PARTS),
    )
    return [
        (str(row["session_id"]), str(data.get("callID") or ""))
        for row in rows
        if _runs(data := _decoded(row["data"]), tool)
    ]


def _runs(data: Mapping[str, Any], tool: str) -> bool:
    state, name = data.get("state"), str(data.get("tool") or "")
    is_running = isinstance(state, dict) and state.get("status") in _RUNNING
    return is_running and (name == tool or name.endswith(f"_{tool}"))


def _decoded(text: object) -> Mapping[str, Any]:
    try:
        data = json.loads(text) if isinstance(text, str | bytes) else None
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}
