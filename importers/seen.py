"""Which identities a store was seen to hold, in bounded memory: on disk, and gone with the process."""

import hashlib
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Final, Self

__all__ = ["Seen"]

_AT_ONCE: Final = 500  # values of one statement; SQLite's own limit was 999 for long
_DIGEST_BYTES: Final = 16


class Seen:
    """A set of texts, of any size; a text is known by the first 16 bytes of its sha-256."""

    def __init__(self) -> None:
        """Make the file of the set, in the folder for temporary files."""
        self._folder = tempfile.TemporaryDirectory(prefix="shared-memory-")
        # Batches are added and asked for by whichever thread is free, one at a time.
        self._connection = sqlite3.connect(
            Path(self._folder.name, "seen.db"), isolation_level=None, check_same_thread=False
        )
        self._connection.executescript(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
            "CREATE TABLE seen (digest BLOB PRIMARY KEY) WITHOUT ROWID"
        )

    def __enter__(self) -> Self:
        """Return the set itself."""
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        """Remove the file."""
        with self._folder, closing(self._connection):
            pass

    def __len__(self) -> int:
        """Return how many texts there are."""
        return int(self._connection.execute("SELECT count(*) FROM seen").fetchone()[0])

    def add(self, texts: Sequence[str]) -> None:
        """Add texts; those that are there already change nothing."""
        self._connection.execute("BEGIN")
        self._connection.executemany(
            "INSERT OR IGNORE INTO seen VALUES (?)", [(_digest(text),) for text in texts]
        )
        self._connection.execute("COMMIT")

    def unknown(self, texts: Sequence[str]) -> list[str]:
        """Return those of the texts that are not in the set, in their order."""
        found: set[bytes] = set()
        digests = [_digest(text) for text in texts]
        for start in range(0, len(digests), _AT_ONCE):
            some = digests[start : start + _AT_ONCE]
            marks = ",".join("?" * len(some))
            statement = f"SELECT digest FROM seen WHERE digest IN ({marks})"  # noqa: S608 - marks alone
            found.update(bytes(row[0]) for row in self._connection.execute(statement, some))
        return [text for text, digest in zip(texts, digests, strict=True) if digest not in found]


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()[:_DIGEST_BYTES]
