"""A message as OpenCode stores it, whichever layout it comes from, and what is said in it."""

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from importers.base import UNKNOWN_SHAPE, moment_of
from importers.tail import Malformed, decode

__all__ = [
    "Heard",
    "Message",
    "Part",
    "Row",
    "Spoken",
    "decoded",
    "milliseconds",
    "strange",
    "time_of",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Where a record lies: its file and place in it (a row number, or 0); its size and hash."""

    path: str
    place: int
    id: str
    size: int
    digest: str

    @property
    def origin(self) -> dict[str, Any]:
        """The record's place as provenance of an entry."""
        return {"path": self.path, "row": self.id, "hash": self.digest}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a message: a text, a tool call, a file.

    ``fault`` says why it cannot be read; it keeps its place, and the parts beside it are read.
    """

    row: Row
    data: dict[str, Any]
    fault: str | None = None

    @classmethod
    def torn(cls, error: Exception, *, path: str, place: int, name: str) -> "Part":
        """Return the part that cannot be read because of this error."""
        row = Row(path=path, place=place, id=name, size=0, digest="")
        return cls(row=row, data={}, fault=str(error))


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message with its parts, in order.

    ``kind`` is ``user`` or ``assistant``, and more in the tables of 2.x; ``created`` is in
    milliseconds, and the same in every copy of the message.
    """

    row: Row
    kind: str
    created: int
    data: dict[str, Any]
    parts: list[Part] = field(default_factory=list)

    @property
    def size(self) -> int:
        """The bytes that were read for it."""
        return self.row.size + sum(part.row.size for part in self.parts)

    @property
    def is_final(self) -> bool:
        """Whether OpenCode will write no more of it."""
        completed = time_of(self.data, "completed")
        return self.kind != "assistant" or bool(completed or self.data.get("error"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """One thing said: ``name`` is its identity within the message, ``slot`` its order there."""

    role: str
    content: str
    name: str
    slot: int
    row: Row
    at: Any = None
    call_id: str | None = None
    payload: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Heard:
    """What a message says, how many records say nothing, by rule, and which cannot be read."""

    said: list[Spoken] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    torn: list[tuple[Row, str]] = field(default_factory=list)

    def take(self, part: Part, read: Callable[[], list[Spoken] | str]) -> None:
        """Add what a part says, the rule by which it says nothing, or why it cannot be read."""
        if part.fault is not None:
            self.torn.append((part.row, part.fault))
            return
        try:
            given = read()
        except UNKNOWN_SHAPE as error:
            self.torn.append((part.row, strange(part.row, error)))
            return
        if isinstance(given, str):
            self.skipped[given] += 1
        else:
            self.said += given


def strange(row: Row, error: Exception) -> str:
    """Return why a record that raised this error cannot be read."""
    return f"{row.id}: a shape this importer does not know ({type(error).__name__})"


def time_of(data: dict[str, Any], name: str) -> int | None:
    """Return one of the times that a record holds, in milliseconds."""
    times = data.get("time")
    return milliseconds(times.get(name)) if isinstance(times, dict) else None


def milliseconds(time: Any) -> int | None:
    """Return a time in milliseconds as a whole number; None for what is no time."""
    return None if moment_of(time) is None else int(time)


def decoded(data: object, *, path: str, place: int, name: str) -> tuple[Row, dict[str, Any]]:
    """Decode a record, a text or its bytes. Raises Malformed when it is no JSON object."""
    raw = data.encode(errors="surrogatepass") if isinstance(data, str) else data
    if not isinstance(raw, bytes):
        raise Malformed(f"{name}: no text")
    try:
        value = decode(raw)
    except Malformed as error:
        raise Malformed(f"{name}: {error}") from error
    digest = hashlib.sha256(raw).hexdigest()
    return Row(path=path, place=place, id=name, size=len(raw), digest=digest), value
