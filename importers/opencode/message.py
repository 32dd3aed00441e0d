"""A message as OpenCode stores it, whichever layout it comes from, and what is said in it."""

import hashlib
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from importers.tail import Malformed

__all__ = ["Message", "Part", "Row", "Spoken", "decoded", "time_of"]


_LAST_TIME: Final = 253_402_300_800_000  # the year 10000, in milliseconds


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
    """One part of a message: a text, a tool call, a file."""

    row: Row
    data: dict[str, Any]


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


def time_of(data: dict[str, Any], name: str) -> int | None:
    """Return one of the times that a record holds, in milliseconds."""
    times = data.get("time")
    time = times.get(name) if isinstance(times, dict) else None
    if not isinstance(time, int | float) or not 0 < time < _LAST_TIME:
        return None
    return int(time)


def decoded(text: str | bytes, *, path: str, place: int, name: str) -> tuple[Row, dict[str, Any]]:
    """Decode a record. Raises Malformed when it is no JSON object."""
    raw = text if isinstance(text, bytes) else text.encode(errors="surrogatepass")
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Malformed(f"{name} is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise Malformed(f"{name} is JSON, but no object")
    digest = hashlib.sha256(raw).hexdigest()
    return Row(path=path, place=place, id=name, size=len(raw), digest=digest), value
