"""The engine that search is measured against: SQLite's FTS5 with its bm25()."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from million_texts import Query

__all__ = ["Fts5", "Row"]

LIMIT: Final = 10


class Row(NamedTuple):
    """What the filters ask for."""

    number: int
    client: str
    project: int
    session: int
    role: str
    at: float


class Fts5:
    """An index of words beside a plain table, which filters are joined with.

    The index keeps no copy of the texts (``content=''``), since the ledger's does not either.
    """

    def __init__(self, path: Path) -> None:
        """Open or make the database."""
        self.path = path
        self._connection = sqlite3.connect(path)
        self._connection.executescript(
            """
            PRAGMA journal_mode = WAL;
            PRAGMA synchronous = NORMAL;
            PRAGMA cache_size = -1000000;
            PRAGMA mmap_size = 8000000000;
            CREATE TABLE IF NOT EXISTS plain (
                number INTEGER PRIMARY KEY, client TEXT, project INT, session INT, role TEXT, at REAL
            );
            CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
                body, content='', tokenize='unicode61'
            );
            """
        )

    def rows(self) -> int:
        """Return how many messages it holds; their numbers begin at 0."""
        [found] = self._connection.execute("SELECT count(*) FROM plain").fetchone()
        return int(found)

    def add(self, rows: Sequence[Row], texts: Sequence[str]) -> None:
        """Insert a batch in one transaction."""
        with self._connection as connection:
            connection.executemany("INSERT INTO plain VALUES (?, ?, ?, ?, ?, ?)", rows)
            numbered = zip((row.number for row in rows), texts, strict=True)
            connection.executemany("INSERT INTO words (rowid, body) VALUES (?, ?)", numbered)

    def optimise(self) -> None:
        """Merge the index into one part, which is its fastest form."""
        with self._connection as connection:
            connection.execute("INSERT INTO words (words) VALUES ('optimize')")
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def size(self) -> int:
        """Return the bytes of the index of words."""
        [found] = self._connection.execute(
            "SELECT sum(pgsize) FROM dbstat WHERE name LIKE 'words%'"
        ).fetchone()
        return int(found or 0)

    def find(self, query: Query, value: object) -> list[int]:
        """Return the numbers of the best messages; ``value`` is what the query's filter asks for."""
        found = self._connection.execute(
            f"SELECT words.rowid FROM words {_condition(query)} ORDER BY rank LIMIT {LIMIT}",  # noqa: S608 - from our own names
            _arguments(query, value),
        )
        return [number for (number,) in found]

    def count(self, query: Query, value: object) -> int:
        """Return how many messages match."""
        [found] = self._connection.execute(
            f"SELECT count(*) FROM words {_condition(query)}",  # noqa: S608 - from our own names
            _arguments(query, value),
        ).fetchone()
        return int(found)

    def close(self) -> None:
        """Close the database."""
        self._connection.close()


def _condition(query: Query) -> str:
    """Return the joins and conditions of a query."""
    if not query.filter:
        return "WHERE words MATCH ?"
    column, compared = ("at", ">=") if query.filter == "since" else (query.filter, "=")
    return (
        "JOIN plain ON plain.number = words.rowid"
        f" WHERE words MATCH ? AND plain.{column} {compared} ?"
    )


def _arguments(query: Query, value: object) -> list[object]:
    if query.is_phrase:
        match = f'"{" ".join(query.words)}"'
    elif query.is_prefix:
        match = f"{query.words[0]}*"
    else:
        match = " OR ".join(f'"{word}"' for word in query.words)
    return [match, value] if query.filter else [match]
