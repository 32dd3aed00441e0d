"""Reading a client's SQLite database without changing a byte of it.

A database in WAL mode is opened where it lies only when its ``-wal`` and ``-shm`` files exist, and
then with ``readonly_shm``: plain ``mode=ro`` rewrites the ``-shm``, and either makes the files that
are missing (measured with SQLite 3.40). Everything else is copied, the database with its ``-wal``,
into a folder of our own. ``immutable=1`` is never used: it does not look into the ``-wal``, which
may hold everything.
"""

import contextlib
import errno
import shutil
import sqlite3
import tempfile
import time
import weakref
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, Final

from importers.regular import opened, status_of

__all__ = ["Copies", "columns", "reading", "stamp"]

BUSY_SECONDS: Final = 0.5  # for the client's lock, each time; the other stores wait meanwhile
LOCK_ATTEMPTS: Final = 3  # some locks are refused at once, without that wait
COPY_ATTEMPTS: Final = 5  # a database that changes while it is copied is copied again
PAUSE_SECONDS: Final = 0.1
SPARE_BYTES: Final = 256 * 1024 * 1024  # a copy leaves this much of the disk free

_MAGIC: Final = b"SQLite format 3\x00"
_HEADER_BYTES: Final = 20
_WAL_VERSION: Final = 2  # bytes 18 and 19 of the header (sqlite.org/fileformat.html)
_SIDES: Final = ("", "-wal", "-journal")
_CATALOGUE: Final = frozenset({"sqlite_master", "sqlite_schema"})
_HARMLESS: Final = frozenset(
    {
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_PRAGMA,
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_TRANSACTION,
    }
)
_LOCKED: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_Authorizer = Callable[[int, str | None, str | None, str | None, str | None], int]
# Python raises the second one for an error that quotes a damaged name.
_FAULTS: Final = (sqlite3.DatabaseError, UnicodeDecodeError)
# What a read-only open answers when it would have to repair, or when the disk knows no locks.
_NEEDS_COPY: Final = frozenset(
    {
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_READONLY,
    }
)


class Copies:
    """The copies that were needed, each kept while its original stays as it was.

    Reading a large database takes many batches; one copy serves them all. The copies go with this
    object, at the latest when the process ends.
    """

    def __init__(self) -> None:
        """Begin without any copy."""
        self._kept: dict[Path, tuple[str, Path, Callable[[], object]]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Lend the copies to another process, which removes none but those it makes itself."""
        lent = {path: (stamp, copy, _leave) for path, (stamp, copy, _) in self._kept.items()}
        return {"_kept": lent}

    def of(self, path: Path) -> Path:
        """Return a current copy of the database; raises OSError when none can be made."""
        kept = self._kept.get(path)
        if kept and kept[0] == stamp(path):
            return kept[1]
        self.drop(path)
        folder = Path(tempfile.mkdtemp(prefix="shared-memory-"))
        finalizer = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        try:
            copied = _copy(path, folder)
        except OSError:
            finalizer()
            raise
        self._kept[path] = (copied, folder / path.name, finalizer)
        return folder / path.name

    def drop(self, path: Path) -> None:
        """Remove the copy of this database, if there is one."""
        if kept := self._kept.pop(path, None):
            kept[2]()


def stamp(path: Path) -> str:
    """Return what changes whenever the database does: size, time and inode of its files.

    Raises FileNotFoundError when there is no database, OSError when one is no regular file.
    """
    status_of(path)
    return " ".join(_mark(path.with_name(path.name + side)) for side in _SIDES)


@contextlib.contextmanager
def reading(path: Path, *, tables: Collection[str], copies: Copies) -> Iterator[sqlite3.Connection]:
    """Open one consistent view of a client's database, in which only ``tables`` can be read.

    Rows are ``sqlite3.Row``. Keep it short: while it lasts, the client cannot shrink its ``-wal``.
    Raises OSError: the file is gone, is no SQLite database, stays locked, or is damaged.
    """
    try:
        with contextlib.closing(_begin(path, copies)) as connection:
            connection.set_authorizer(_only(frozenset(tables)))
            yield connection
    except _FAULTS as error:
        raise _problem(error, path) from error


def columns(connection: sqlite3.Connection, table: str) -> frozenset[str]:
    """Return the names of a table's columns; none when there is no such table."""
    rows = connection.execute(f'PRAGMA table_info("{table}")')
    return frozenset(str(row["name"]) for row in rows)


def _leave() -> None:
    """Leave a copy to the process that made it."""


def _mark(path: Path) -> str:
    try:
        status = status_of(path)
    except FileNotFoundError:
        return "-"
    return f"{status.st_size}:{status.st_mtime_ns}:{status.st_ino}"


def _begin(path: Path, copies: Copies) -> sqlite3.Connection:
    stamp(path)  # SQLite would wait for ever for a pipe in the place of a journal
    options = _direct_options(path)
    if options is None:
        return _open(copies.of(path), "mode=rw")
    try:
        return _open(path, options)
    except sqlite3.OperationalError as error:
        if _primary(error) not in _NEEDS_COPY:
            raise
    return _open(copies.of(path), "mode=rw")  # ours: SQLite may repair it


def _direct_options(path: Path) -> str | None:
    """Return how to open the database where it lies; None when that would write beside it."""
    with opened(path) as file:
        header = file.read(_HEADER_BYTES)
    if not header:
        return "mode=ro"  # the client has just made it
    if not header.startswith(_MAGIC):
        raise OSError(errno.EINVAL, "this is not an SQLite database", str(path))
    if _WAL_VERSION not in header[18:20]:
        return "mode=ro"
    beside = all(_mark(path.with_name(path.name + side)) != "-" for side in ("-wal", "-shm"))
    return "mode=ro&readonly_shm=1" if beside else None


def _open(path: Path, options: str) -> sqlite3.Connection:
    """Connect and take the view; tries again while the client holds a lock."""
    for attempt in range(1, LOCK_ATTEMPTS + 1):
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?{options}",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
        )
        connection.row_factory = sqlite3.Row
        connection.text_factory = _decoded
        try:
            connection.execute("BEGIN")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except _FAULTS as error:
            connection.close()
            if _primary(error) not in _LOCKED or attempt == LOCK_ATTEMPTS:
                raise
            time.sleep(PAUSE_SECONDS * attempt)
        else:
            return connection
    raise AssertionError  # the last attempt returned or raised


def _copy(path: Path, folder: Path) -> str:
    """Copy the database with its journals; returns the stamp of what was copied."""
    for attempt in range(1, COPY_ATTEMPTS + 1):
        before = stamp(path)
        sides = [side for side in _SIDES if path.with_name(path.name + side).exists()]
        _check_space(path, sides, folder)
        for old in folder.iterdir():
            old.unlink()
        with contextlib.suppress(FileNotFoundError):  # a side that went: the stamp tells
            for side in sides:
                shutil.copyfile(path.with_name(path.name + side), folder / (path.name + side))
        if stamp(path) == before:
            return before
        time.sleep(PAUSE_SECONDS * attempt)
    raise OSError(errno.EBUSY, "this database changes faster than it can be copied", str(path))


def _check_space(path: Path, sides: list[str], folder: Path) -> None:
    needed = sum(path.with_name(path.name + side).stat().st_size for side in sides) + SPARE_BYTES
    if shutil.disk_usage(folder).free < needed:
        message = f"no room in {folder.parent} for a copy of this database; set TMPDIR elsewhere"
        raise OSError(errno.ENOSPC, message, str(path))


def _only(tables: frozenset[str]) -> _Authorizer:
    """Return an authorizer that lets these tables be read and nothing be written."""

    def authorize(
        action: int, first: str | None, _second: str | None, _database: str | None, _by: str | None
    ) -> int:
        readable = action == sqlite3.SQLITE_READ and (first in tables or first in _CATALOGUE)
        return sqlite3.SQLITE_OK if readable or action in _HARMLESS else sqlite3.SQLITE_DENY

    return authorize


def _decoded(text: bytes) -> str:
    """Decode a text; one damaged byte must not cost the whole database."""
    return text.decode(errors="replace")


def _primary(error: Exception) -> int:
    """Return the primary result code, without the extension in the upper bits."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF


def _problem(error: Exception, path: Path) -> OSError:
    if _primary(error) in _LOCKED:
        return OSError(errno.EBUSY, "its client holds this database locked", str(path))
    return OSError(errno.EIO, f"SQLite cannot read this database: {error}", str(path))
