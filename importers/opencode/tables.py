"""The tables of ``opencode.db``: which of them are in use, and what was changed in them.

Since 2.x messages are written to ``session_message``, and sessions to ``session_v2``; the older
tables stay, frozen. Both are read, a message that is in both only from the newer one. Tables that
hold secrets are never read: the connection refuses all but these.
"""

import errno
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from importers import sqlite_store
from importers.opencode.message import Message, Part, Row, decoded, milliseconds, time_of
from importers.tail import Malformed

__all__ = ["TABLES", "Changed", "Tables", "Torn"]

TABLES: Final = ("project", "session", "message", "part", "session_v2", "session_message")

_NEEDED: Final = {
    "session": {"id", "time_created", "time_updated"},
    "session_v2": {"id", "time_created", "time_updated"},
    "message": {"id", "session_id", "time_created", "time_updated", "data"},
    "part": {"id", "message_id", "session_id", "time_updated", "data"},
    "session_message": {"id", "session_id", "type", "seq", "time_created", "time_updated", "data"},
}
_PAGE: Final = 50  # messages
_BEFORE_ALL: Final = -(2**63)  # the least number that a column holds; times may be odd

# There is no index on time_updated; this scan took 0.6 s, warm, on a database of 13.5 GB.
_CHANGES: Final = {
    "session": "SELECT id AS name, time_created AS created, time_updated AS changed, 1 AS rows"
    " FROM session",
    "session_v2": "SELECT id AS name, time_created AS created, time_updated AS changed, 1 AS rows"
    " FROM session_v2",
    "message": "SELECT session_id AS name, NULL AS created, max(time_updated) AS changed,"
    " count(*) AS rows FROM message GROUP BY session_id",
    "part": "SELECT session_id AS name, NULL AS created, max(time_updated) AS changed,"
    " count(*) AS rows FROM part GROUP BY session_id",
    "session_message": "SELECT session_id AS name, NULL AS created, max(time_updated) AS changed,"
    " count(*) AS rows FROM session_message GROUP BY session_id",
}
_SESSION: Final = {
    "session": "SELECT * FROM session WHERE id = ?",
    "session_v2": "SELECT * FROM session_v2 WHERE id = ?",
}
_MESSAGES: Final = """
    SELECT rowid AS place, id, time_created, data FROM message
    WHERE session_id = :session AND (time_created, id) > (:time, :id)
      AND (time_updated >= :since OR id IN
           (SELECT message_id FROM part WHERE session_id = :session AND time_updated >= :since))
    ORDER BY time_created, id LIMIT :page
"""
_ROWS: Final = """
    SELECT rowid AS place, id, type, seq, time_created, data FROM session_message
    WHERE session_id = :session AND seq > :seq AND time_updated >= :since
    ORDER BY seq LIMIT :page
"""
_FIRST: Final = {
    "message": "SELECT rowid AS place, id, time_created, data FROM message"
    " WHERE session_id = ? ORDER BY time_created, id LIMIT 1",
    "session_message": "SELECT rowid AS place, id, time_created, data FROM session_message"
    " WHERE session_id = ? AND type = 'user' ORDER BY seq LIMIT 1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A session, when it was made and last changed (ms), and how many rows it has."""

    session: str
    created: int
    changed: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Torn:
    """A row that is not what OpenCode writes, and how many parts hang on it."""

    place: int
    reason: str
    parts: int = 0


class Tables:
    """One view of a database, whichever generations of tables it has."""

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        """Look which tables there are, with the columns that are needed.

        Raises OSError when there are tables, but none that are known.
        """
        self._connection = connection
        self.path = path
        self._present = {
            table
            for table, needed in _NEEDED.items()
            if needed <= sqlite_store.columns(connection, table)
        }
        if not {"message", "part"} <= self._present:
            self._present -= {"message", "part"}
        known = bool(self._sessions) and bool({"message", "session_message"} & self._present)
        if not known and connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise OSError(errno.EINVAL, "OpenCode's tables of sessions are not in here", path)

    @property
    def _sessions(self) -> list[str]:
        """The tables of sessions, the one that is in use first."""
        return [table for table in ("session_v2", "session") if table in self._present]

    def changes(self) -> list[Changed]:
        """Return all sessions, oldest first, so that originals come before their forks."""
        created: dict[str, int] = {}
        changed: dict[str, int] = {}
        rows: dict[str, int] = {}
        for table, statement in _CHANGES.items():
            if table not in self._present:
                continue
            for row in self._connection.execute(statement):
                name = str(row["name"])
                if table in self._sessions:
                    made = milliseconds(row["created"]) or 0
                    created[name] = min(made, created.get(name, made))
                changed[name] = max(milliseconds(row["changed"]) or 0, changed.get(name, 0))
                rows[name] = rows.get(name, 0) + int(row["rows"])
        found = [
            Changed(session=name, created=at, changed=changed[name], rows=rows[name])
            for name, at in created.items()
        ]
        return sorted(found, key=lambda each: (each.created, each.session))

    def session(self, name: str) -> dict[str, Any] | None:
        """Return a session's row, with its project's ``worktree``; None when it is gone."""
        rows = [
            self._connection.execute(_SESSION[table], (name,)).fetchone()
            for table in self._sessions
        ]
        row = next((row for row in rows if row), None)
        if row is None:
            return None
        session = dict(row)
        session["model"] = _json(session.get("model"))
        session["worktree"] = self._worktree(session.get("project_id"))
        return session

    def first(self, name: str) -> int | None:
        """Return when the session's first prompt was made, in milliseconds."""
        rows = [
            self._connection.execute(statement, (name,)).fetchone()
            for table, statement in _FIRST.items()
            if table in self._present
        ]
        return min((self._begun(row) for row in rows if row), default=None)

    def messages(
        self, name: str, since: int, at: Mapping[str, Any]
    ) -> Iterator[tuple[Message | Torn, dict[str, Any]]]:
        """Yield what was changed at ``since`` (ms; 0: ever) or later, and the place behind each.

        ``at`` is such a place, or empty to begin.
        """
        place = {"time": _BEFORE_ALL, "id": "", "seq": -1, **at}
        since = since or _BEFORE_ALL
        newer = self._newer(name)
        while "message" in self._present and place["seq"] < 0:
            bound = {**place, "session": name, "since": since, "page": _PAGE}
            page = self._connection.execute(_MESSAGES, bound).fetchall()
            for row in page:
                place = {"time": row["time_created"], "id": row["id"], "seq": -1}
                if row["id"] not in newer:
                    yield self._message(row), place
            if len(page) < _PAGE:
                break
        while "session_message" in self._present:
            bound = {"session": name, "since": since, "seq": place["seq"], "page": _PAGE}
            page = self._connection.execute(_ROWS, bound).fetchall()
            for row in page:
                place = {**place, "seq": row["seq"]}
                yield self._row(row), place
            if len(page) < _PAGE:
                break

    def _newer(self, name: str) -> frozenset[str]:
        """Return the ids of the messages that are in the newer table."""
        if not {"message", "session_message"} <= self._present:
            return frozenset()
        rows = self._connection.execute(
            "SELECT id FROM session_message WHERE session_id = ?", (name,)
        )
        return frozenset(str(row["id"]) for row in rows)

    def _message(self, row: sqlite3.Row) -> Message | Torn:
        parts = self._connection.execute(
            "SELECT rowid AS place, id, data FROM part WHERE message_id = ? ORDER BY id",
            (row["id"],),
        ).fetchall()
        try:
            own, data = self._decoded(row)
        except Malformed as error:
            return Torn(place=int(row["place"]), reason=str(error), parts=len(parts))
        return Message(
            row=own,
            kind=str(data.get("role")),
            created=_created(data, row),
            data=data,
            parts=[self._part(part) for part in parts],
        )

    def _part(self, row: sqlite3.Row) -> Part:
        try:
            own, data = self._decoded(row)
        except Malformed as error:
            place, name = int(row["place"]), str(row["id"])
            return Part.torn(error, path=self.path, place=place, name=name)
        return Part(row=own, data=data)

    def _row(self, row: sqlite3.Row) -> Message | Torn:
        try:
            own, data = self._decoded(row)
        except Malformed as error:
            return Torn(place=int(row["place"]), reason=str(error))
        return Message(row=own, kind=str(row["type"]), created=_created(data, row), data=data)

    def _begun(self, row: sqlite3.Row) -> int:
        try:
            return _created(self._decoded(row)[1], row)
        except Malformed:
            return _created({}, row)

    def _decoded(self, row: sqlite3.Row) -> tuple[Row, dict[str, Any]]:
        return decoded(row["data"], path=self.path, place=int(row["place"]), name=str(row["id"]))

    def _worktree(self, project: object) -> str | None:
        if "worktree" not in sqlite_store.columns(self._connection, "project"):
            return None
        row = self._connection.execute(
            "SELECT worktree FROM project WHERE id = ?", (project,)
        ).fetchone()
        return str(row["worktree"]) if row and row["worktree"] else None


def _created(data: dict[str, Any], row: sqlite3.Row) -> int:
    return time_of(data, "created") or milliseconds(row["time_created"]) or 0


def _json(text: object) -> Any:
    try:
        return decoded(text, path="", place=0, name="")[1]
    except Malformed:
        return None  # an ornament: the messages tell the model, too
