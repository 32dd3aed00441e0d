"""Segments: runs of entries with what a search needs to know of each, as arrays.

Entries of the index are numbered in feed order. A block is a run of 65,536 numbers, so that within
one a number takes two bytes; a segment is a run inside one block. A posting gives the entries of
one term in one segment, and where the term stands in them. Segments are never changed: several are
joined into a new one.
"""

import sys
import uuid
from array import array
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memory.search.packed import MAX_COUNT, Packed
from memory.search.pages import Run, spans
from memory.search.source import Source
from memory.search.voices import is_prose

__all__ = [
    "BLOCK",
    "MAX_LENGTH",
    "Columns",
    "Growing",
    "Piece",
    "Posting",
    "Segment",
    "dense_of",
    "is_many",
    "microseconds",
    "posting_of",
    "segment_of",
    "session_code",
    "together",
]

BLOCK: Final = 65_536
"""Entries of a block: as many as two bytes can number."""
MAX_LENGTH: Final = 65_535
"""Words of one entry, as far as its length matters to its score."""
_DENSE: Final = 8  # from one entry in so many on, a step for each entry of a segment costs less
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MASK: Final = BLOCK - 1


class Columns(NamedTuple):
    """What is stored of a segment's entries, one array of numbers each."""

    lengths: bytes
    """uint16: words, at most 65,535."""
    weights: bytes
    """uint8: hundredths of the weight of who speaks."""
    times: bytes
    """int64: microseconds since 1970."""
    sessions: bytes
    """uint64: the session's `session_code`."""
    spoken: bytes
    """uint8: 1 for prose, see `memory.search.voices.is_prose`."""


class Piece(NamedTuple):
    """What is to be stored of a run of entries, the first of which has the number ``first``."""

    first: int
    columns: Columns
    run: Run

    @property
    def entries(self) -> int:
        """How many entries it has."""
        return len(self.columns.weights)


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment in memory: ``entries`` numbers from ``first`` on; ``id`` is 0 if it is not stored.

    ``codes`` gives each entry its place in ``sessions``, which holds every `session_code` once.
    ``by_session`` are the entries session after session, and ``bounds`` where each session begins
    there, and the last one ends. ``turns`` are the places where another session goes on.
    """

    id: int
    first: int
    entries: int
    lengths: NDArray[np.float32]
    weights: NDArray[np.float32]
    times: NDArray[np.int64]
    sessions: NDArray[np.uint64]
    codes: NDArray[np.intp]
    by_session: NDArray[np.int32]
    bounds: NDArray[np.int64]
    turns: NDArray[np.int64]
    spoken: NDArray[np.bool_]

    def by_sessions(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return the sum over each session's entries, given a value for each entry."""
        sums = np.add.reduceat(values, self.turns, dtype=np.float64)
        return np.bincount(self.codes[self.turns], sums, len(self.sessions)).astype(np.float64)

    def by_entries(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return its session's value for each entry, given one for each session."""
        sizes = np.diff(self.turns, append=self.entries)
        return np.repeat(values[self.codes[self.turns]], sizes)

    def places_of(self, ordinals: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the places of those of some numbers, in order, that the segment has."""
        low, high = np.searchsorted(ordinals, (self.first, self.first + self.entries))
        return ordinals[low:high] - self.first


class Posting(NamedTuple):
    """Entries of one segment that hold a term, from 0 in order, and how often; labels once.

    Where it stands in them is stored in the page whose first term is ``page``, behind the positions
    that the counts ``before`` tell of; None where nothing is stored. ``dense`` has the counts of
    all of the segment's entries, and is there where many hold the term: it is faster than going to
    each.
    """

    places: NDArray[np.intp]
    counts: NDArray[np.uint8]
    page: str | None = None
    before: bytes = b""
    dense: NDArray[np.uint8] | None = None


def session_code(session_id: uuid.UUID | None) -> int:
    """Return the part of a session's id that tells it from others; 0 for none."""
    return session_id.int & 0xFFFF_FFFF_FFFF_FFFF if session_id is not None else 0


def microseconds(moment: datetime) -> int:
    """Return a time as it stands in a segment."""
    past = moment - _EPOCH
    return (past.days * 86_400 + past.seconds) * 1_000_000 + past.microseconds


@dataclass(slots=True)
class Growing:
    """A piece that is being made, from the number of its first entry on; it lies in one block."""

    # Arrays of the standard library take subscripts from Python 3.12 on, hence the quotes.

    first: int
    _lengths: "array[int]" = field(default_factory=lambda: array("H"))
    _weights: "array[int]" = field(default_factory=lambda: array("B"))
    _times: "array[int]" = field(default_factory=lambda: array("q"))
    _sessions: "array[int]" = field(default_factory=lambda: array("Q"))
    _spoken: bytearray = field(default_factory=bytearray)
    # Terms are numbered as they come. Of each entry, the numbers of its terms, their counts and
    # their positions.
    _numbers: defaultdict[str, int] = field(default_factory=lambda: defaultdict(count().__next__))
    _terms: "array[int]" = field(default_factory=lambda: array("I"))
    _sizes: "array[int]" = field(default_factory=lambda: array("I"))
    _counts: bytearray = field(default_factory=bytearray)
    _positions: bytearray = field(default_factory=bytearray)

    def add(self, source: Source, packed: Packed, *, length: int, weight: float) -> None:
        """Add the next entry with its terms."""
        self._lengths.append(min(length, MAX_LENGTH))
        self._weights.append(round(100 * weight))
        self._times.append(microseconds(source.occurred_at))
        self._sessions.append(session_code(source.session_id))
        self._spoken.append(is_prose(source.kind, source.role))
        self._sizes.append(len(packed.terms))
        self._terms.extend(map(self._numbers.__getitem__, packed.terms))
        self._counts += packed.counts
        self._positions += packed.positions

    def piece(self) -> Piece:
        """Return what was made."""
        columns = Columns(
            lengths=_stored(self._lengths),
            weights=_stored(self._weights),
            times=_stored(self._times),
            sessions=_stored(self._sessions),
            spoken=bytes(self._spoken),
        )
        return Piece(self.first, columns, self._run())

    def _run(self) -> Run:
        if not self._numbers:
            return Run((), (), b"", b"", b"")
        names = sorted(self._numbers)
        rank = np.empty(len(names), dtype=np.uint32)
        rank[[self._numbers[each] for each in names]] = np.arange(len(names))
        terms = rank[np.array(self._terms, dtype=np.int64)]
        order = np.argsort(terms, kind="stable")  # so entries stay in order within a term
        numbers = self.first % BLOCK + np.arange(len(self._lengths))
        places = np.repeat(numbers, np.array(self._sizes, dtype=np.int64))[order]
        counts = np.frombuffer(bytes(self._counts), dtype=np.uint8).astype(np.int64)
        spots = spans((np.cumsum(counts) - counts)[order], counts[order])
        positions = np.frombuffer(bytes(self._positions), dtype=np.uint16)[spots]
        return Run(
            terms=names,
            sizes=np.bincount(terms, minlength=len(names)).tolist(),
            places=places.astype("<u2").tobytes(),
            counts=counts[order].astype(np.uint8).tobytes(),
            positions=positions.astype("<u2").tobytes(),
        )


def segment_of(first: int, stored: Columns, *, number: int = 0) -> Segment:
    """Return a segment from its columns; ``number`` is its id."""
    lengths = np.frombuffer(stored.lengths, dtype="<u2").astype(np.float32)
    sessions, codes = np.unique(
        np.frombuffer(stored.sessions, dtype="<u8").astype(np.uint64), return_inverse=True
    )
    return Segment(
        id=number,
        first=first,
        entries=len(lengths),
        lengths=lengths,
        weights=np.frombuffer(stored.weights, dtype="<u1").astype(np.float32) * np.float32(0.01),
        times=np.frombuffer(stored.times, dtype="<i8").astype(np.int64),
        sessions=sessions,
        codes=codes.astype(np.intp),
        by_session=np.argsort(codes, kind="stable").astype(np.int32),
        bounds=np.concatenate(([0], np.cumsum(np.bincount(codes, minlength=len(sessions))))),
        turns=np.flatnonzero(np.diff(codes, prepend=-1)),
        spoken=np.frombuffer(stored.spoken, dtype=np.bool_),
    )


def posting_of(
    first: int, places: bytes, counts: bytes, page: str | None = None, before: bytes = b""
) -> Posting:
    """Return a posting from what is stored of it, given the number of its segment's first entry."""
    numbers = np.frombuffer(places, dtype="<u2").astype(np.intp) - (first & _MASK)
    return Posting(numbers, np.frombuffer(counts, dtype="<u1"), page, before)


def is_many(flags: NDArray[np.bool_]) -> bool:
    """Tell whether so many of a segment's entries are meant that a step for each costs less."""
    return int(np.count_nonzero(flags)) * _DENSE >= len(flags) > 0


def dense_of(posting: Posting, *, entries: int) -> NDArray[np.uint8] | None:
    """Return the counts of all of a segment's entries, if many of them hold a term."""
    if len(posting.places) * _DENSE < entries:
        return None
    counts = np.zeros(entries, dtype=np.uint8)
    counts[posting.places] = posting.counts
    return counts


def together(postings: Sequence[Posting], *, entries: int) -> Posting:
    """Return the entries of a segment that hold any of some terms, their counts added up."""
    counts = np.zeros(entries, dtype=np.int64)
    for each in postings:
        counts[each.places] += each.counts
    places = np.flatnonzero(counts)
    found = Posting(places, np.minimum(counts[places], MAX_COUNT).astype(np.uint8))
    return found._replace(dense=dense_of(found, entries=entries))


def _stored(numbers: "array[int]") -> bytes:
    """Return the numbers as they are stored: the low byte first."""
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()
