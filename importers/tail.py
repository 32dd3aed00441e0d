"""Reading JSON Lines files that clients append to, rewrite, move, compress and delete.

The checkpoint of a file: ``path``, ``inode``, ``size`` and ``times`` (modified, changed) say which
file it was, and ``settled`` that these prove it; ``offset`` is the place after the last complete line that was read; ``mark`` is a hash of the
bytes at the beginning and before that place, by which a rewritten file is told from a grown one;
``unreadable`` counts the lines before that could not be read; ``context`` is what the client's
normaliser has to know about them.

A file that is not what it was is read again from its beginning: identities come from the client's
own ids, so that nothing is stored twice, and nothing stored is ever taken away.
"""

import copy
import errno
import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from importers.archive import Damaged, open_archive
from importers.base import (
    BATCH_BYTES,
    BATCH_RECORDS,
    UNKNOWN_SHAPE,
    Batch,
    Source,
    Unreadable,
)
from importers.lenient import Malformed, decode
from importers.lines import MARK_BYTES, Line, Plain, Text, lines
from importers.regular import NO_FILE, opened, status_of
from memory.drafts import Draft, SessionDraft

__all__ = ["PACKED", "Malformed", "Normalise", "Normalised", "Record", "decode", "present", "read"]

PACKED: Final = ".zst"

# A file can change twice within one tick of the file system's clock. Until its last change is
# older than this, its times alone do not prove that it is unchanged.
_SETTLED_NS: Final = 2_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One line of a client's file: the decoded object and where it stands."""

    value: dict[str, Any]
    raw: bytes
    path: str
    offset: int

    @property
    def origin(self) -> dict[str, Any]:
        """Where this record comes from: file, byte offset and sha-256 of its bytes."""
        digest = hashlib.sha256(self.raw).hexdigest()
        return {"path": self.path, "offset": self.offset, "hash": digest}


@dataclass(slots=True, kw_only=True)
class Normalised:
    """What one record gave: sessions and drafts, or the named rule by which it is skipped."""

    sessions: list[SessionDraft] = field(default_factory=list)
    drafts: list[Draft] = field(default_factory=list)
    skipped: str | None = None


Normalise = Callable[[Record, dict[str, Any]], Normalised]
"""A client's pure function of a record and the file's JSON-safe context, which it may change.

Raises Malformed for a record that is not what the client writes.
"""


def present(path: Path) -> tuple[Path, os.stat_result]:
    """Return this path, or its compressed or unpacked twin, with what the system says of it.

    The plain one comes first, unless it is no regular file. Raises FileNotFoundError when there
    is neither, OSError.
    """
    wrong: OSError | None = None
    plain = path.with_name(path.name.removesuffix(PACKED))
    for each in (plain, plain.with_name(plain.name + PACKED)):
        try:
            return each, status_of(each)
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno not in NO_FILE:
                raise
            wrong = wrong or error
    raise wrong or FileNotFoundError(
        errno.ENOENT, "neither the file nor its compressed twin is there", str(path)
    )


def read(source: Source, state: Mapping[str, Any] | None, normalise: Normalise) -> Batch:
    """Read one batch of records after the checkpoint, from the beginning when there is none.

    Raises OSError when the file as a whole cannot be read.
    """
    if state and _is_settled(state, source.path):
        return Batch(state=dict(state))
    path, status = present(source.path)
    if state and _is_unchanged(state, path, status):
        return Batch(state=dict(state))
    packed = path.name.endswith(PACKED)
    with _opened(path, packed=packed) as (text, status):
        batch = Batch()
        place = _Place()
        if state:
            place = _resume(state, path, status, text, batch.events)
        text.around(place.offset)
        begin = place.offset
        size = None if packed else status.st_size
        _take(
            lines(text, offset=place.offset, size=size, final=packed),
            batch,
            place,
            str(path),
            normalise,
        )
        batch.size = place.offset - begin
        if place.is_past_long_line:
            place.head, place.tail = text.around(place.offset)
        if packed and batch.finished:
            text.close()
    settled = batch.finished and time.time_ns() - status.st_ctime_ns > _SETTLED_NS
    batch.state = {
        "path": str(path),
        "inode": status.st_ino,
        "size": status.st_size,
        "times": _times(status),
        "settled": settled,
        "offset": place.offset,
        "mark": _mark(place.head, place.tail),
        "unreadable": place.unreadable + len(batch.unreadable),
        "context": place.context,
    }
    return batch


@dataclass(slots=True)
class _Place:
    """The place in a file that reading has come to, and what is known there."""

    offset: int = 0
    head: bytes = b""
    tail: bytes = b""
    context: dict[str, Any] = field(default_factory=dict)
    unreadable: int = 0
    is_past_long_line: bool = False

    def advance(self, line: Line) -> None:
        """Step behind a line."""
        self.offset = line.end
        if line.raw is None:
            self.is_past_long_line = True
            return
        end = b"\n"[: line.end - line.offset - len(line.raw)]
        if len(self.head) < MARK_BYTES:
            self.head += (line.raw[:MARK_BYTES] + end)[: MARK_BYTES - len(self.head)]
        self.tail = (self.tail + line.raw[-MARK_BYTES:] + end)[-MARK_BYTES:]


@contextmanager
def _opened(path: Path, *, packed: bool) -> Iterator[tuple[Text, os.stat_result]]:
    if packed:
        status = path.stat()
        yield open_archive(str(path), status.st_ino, status.st_size, status.st_mtime_ns), status
        return
    with opened(path) as file:
        yield Plain(file), os.fstat(file.fileno())


def _is_settled(state: Mapping[str, Any], path: Path) -> bool:
    """Tell at the price of one question whether a plain file is as it was: nearly all are."""
    name = str(path)
    if state["path"] != name or name.endswith(PACKED):
        return False
    try:
        return _is_unchanged(state, path, path.stat())
    except OSError:
        return False


def _is_unchanged(state: Mapping[str, Any], path: Path, status: os.stat_result) -> bool:
    was = [state["path"], state["inode"], state["size"], state["times"]]
    now = [str(path), status.st_ino, status.st_size, _times(status)]
    return bool(state["settled"] and was == now)


def _times(status: os.stat_result) -> list[int]:
    return [status.st_mtime_ns, status.st_ctime_ns]


def _resume(
    state: Mapping[str, Any],
    path: Path,
    status: os.stat_result,
    text: Text,
    events: list[str],
) -> _Place:
    """Return where to read on, and say what happened to the file since."""
    offset = int(state["offset"])
    was, now = str(state["path"]), str(path)
    repacked = was.endswith(PACKED) != now.endswith(PACKED)
    packed = now.endswith(PACKED)
    if not repacked and state["inode"] != status.st_ino:
        events.append("replaced")
        return _Place()
    if not packed and status.st_size < offset:
        events.append("truncated")
        return _Place()
    try:
        head, tail = text.around(offset)
    except Damaged:
        events.append("truncated")
        return _Place()
    if _mark(head, tail) != state["mark"]:
        events.append("rewritten")
        return _Place()
    if not repacked and state["size"] == status.st_size and state["times"][0] != status.st_mtime_ns:
        events.append("touched")  # written to without growing: the middle may have changed
        return _Place()
    if repacked:
        events.append("compressed" if packed else "unpacked")
    elif was != now:
        events.append("moved")
    return _Place(offset, head, tail, copy.deepcopy(state["context"]), state["unreadable"])


def _take(
    found: Iterator[Line], batch: Batch, place: _Place, path: str, normalise: Normalise
) -> None:
    """Normalise lines until the batch is full or there are no more."""
    taken = 0
    try:
        for line in found:
            taken += line.end - line.offset
            _take_line(line, batch, place, path, normalise)
            place.advance(line)
            if taken >= BATCH_BYTES or batch.records >= BATCH_RECORDS:
                batch.finished = False
                return
    except Damaged as error:
        batch.records += 1
        reason = f"the compressed file is damaged: {error}"
        batch.unreadable.append(Unreadable(path=path, offset=place.offset, reason=reason))


def _take_line(line: Line, batch: Batch, place: _Place, path: str, normalise: Normalise) -> None:
    if line.raw is not None and not line.raw.strip():
        return  # an empty line is no record
    batch.records += 1
    try:
        record = Record(value=decode(line.raw), raw=line.raw or b"", path=path, offset=line.offset)
        given = _normalised(record, place.context, normalise)
    except Malformed as error:
        batch.unreadable.append(Unreadable(path=path, offset=line.offset, reason=str(error)))
        return
    if given.drafts or given.sessions:
        batch.imported += 1
        batch.drafts += given.drafts
        batch.sessions += given.sessions
    else:
        batch.skipped[given.skipped or "nothing to keep"] += 1


def _normalised(record: Record, context: dict[str, Any], normalise: Normalise) -> Normalised:
    try:
        return normalise(record, context)
    except Malformed:
        raise
    except UNKNOWN_SHAPE as error:
        raise Malformed(f"a shape this importer does not know ({type(error).__name__})") from error


def _mark(head: bytes, tail: bytes) -> str:
    """Return the hash by which the bytes at the beginning and before a place are known again."""
    return hashlib.sha256(b"%d\n%b%b" % (len(head), head, tail)).hexdigest()
