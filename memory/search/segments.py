"""Segments: runs of entries with what a search needs to know of each, as arrays.

Entries of the index are numbered in feed order. A block is a run of 65,536 numbers, so that within
one a number takes two bytes; a segment is a run inside one block. Postings give the entries of one
term in one segment. Both are written once, and joined by concatenation.
"""

import sys
import uuid
from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memory.search.source import Source
from memory.search.voices import is_prose

__all__ = [
    "BLOCK",
    "MAX_COUNT",
    "MAX_LENGTH",
    "Columns",
    "Growing",
    "Posting",
    "Segment",
    "microseconds",
    "posting_of",
    "segment_of",
    "session_code",
    "together",
]

BLOCK: Final = 65_536
"""Entries of a block: as many as two bytes can number."""
MAX_COUNT: Final = 255
"""A term's occurrences in one entry are counted up to here."""

MAX_LENGTH: Final = 65_535
"""Words of one entry, as far as its length matters to its score."""
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


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment in memory: ``entries`` numbers from ``first`` on.

    ``codes`` gives each entry its place in ``sessions``, which holds every `session_code` once.
    ``by_session`` are the entries session after session, and ``bounds`` where each session begins
    there, and the last one ends.
    """

    first: int
    entries: int
    lengths: NDArray[np.float32]
    weights: NDArray[np.float32]
    times: NDArray[np.int64]
    sessions: NDArray[np.uint64]
    codes: NDArray[np.intp]
    by_session: NDArray[np.int32]
    bounds: NDArray[np.int64]
    spoken: NDArray[np.bool_]

    def places_of(self, ordinals: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the places of those of some numbers, in order, that the segment has."""
        low, high = np.searchsorted(ordinals, (self.first, self.first + self.entries))
        return ordinals[low:high] - self.first


class Posting(NamedTuple):
    """Entries of one segment that hold a term, from 0 in order, and how often; labels once."""

    places: NDArray[np.intp]
    counts: NDArray[np.uint8]


def session_code(session_id: uuid.UUID | None) -> int:
    """Return the part of a session's id that tells it from others; 0 for none."""
    return session_id.int & 0xFFFF_FFFF_FFFF_FFFF if session_id is not None else 0


def microseconds(moment: datetime) -> int:
    """Return a time as it stands in a segment."""
    past = moment - _EPOCH
    return (past.days * 86_400 + past.seconds) * 1_000_000 + past.microseconds


@dataclass(slots=True)
class Growing:
    """A segment that is being made, from the number of its first entry on."""

    # Arrays of the standard library take subscripts from Python 3.12 on, hence the quotes.

    first: int
    _lengths: "array[int]" = field(default_factory=lambda: array("H"))
    _weights: "array[int]" = field(default_factory=lambda: array("B"))
    _times: "array[int]" = field(default_factory=lambda: array("q"))
    _sessions: "array[int]" = field(default_factory=lambda: array("Q"))
    _spoken: bytearray = field(default_factory=bytearray)
    # Terms are numbered as they come; of each entry, the numbers of its terms and their counts.
    _numbers: defaultdict[str, int] = field(default_factory=lambda: defaultdict(count().__next__))
    _terms: "array[int]" = field(default_factory=lambda: array("I"))
    _counts: "array[int]" = field(default_factory=lambda: array("I"))
    _sizes: "array[int]" = field(default_factory=lambda: array("I"))

    @property
    def entries(self) -> int:
        """How many entries it has."""
        return len(self._lengths)

    @property
    def room(self) -> int:
        """How many more fit into its block."""
        return BLOCK - self.first % BLOCK - self.entries

    def add(self, source: Source, counts: Mapping[str, int], *, length: int, weight: float) -> None:
        """Add the next entry with its terms, how often each occurs; there must be room."""
        self._lengths.append(min(length, MAX_LENGTH))
        self._weights.append(round(100 * weight))
        self._times.append(microseconds(source.occurred_at))
        self._sessions.append(session_code(source.session_id))
        self._spoken.append(is_prose(source.kind, source.role))
        self._terms.extend(map(self._numbers.__getitem__, counts))
        self._counts.extend(counts.values())
        self._sizes.append(len(counts))

    def columns(self) -> Columns:
        """Return what is stored of its entries."""
        return Columns(
            lengths=_stored(self._lengths),
            weights=_stored(self._weights),
            times=_stored(self._times),
            sessions=_stored(self._sessions),
            spoken=bytes(self._spoken),
        )

    def postings(self) -> Iterator[tuple[str, bytes, bytes]]:
        """Give each term, in order, with its entries' numbers in the block, and counts."""
        terms = np.array(self._terms, dtype=np.uint32)
        numbers = self.first % BLOCK + np.arange(self.entries)
        places = np.repeat(numbers, np.array(self._sizes, dtype=np.int64))
        order = np.argsort(terms, kind="stable")  # so entries stay in order within a term
        stored = places[order].astype("<u2").tobytes()
        counts = np.minimum(np.array(self._counts), MAX_COUNT)[order].astype(np.uint8).tobytes()
        ends = [0, *np.cumsum(np.bincount(terms, minlength=len(self._numbers))).tolist()]
        for term, number in sorted(self._numbers.items()):
            begin, end = ends[number], ends[number + 1]
            yield term, stored[2 * begin : 2 * end], counts[begin:end]


def segment_of(first: int, stored: Columns) -> Segment:
    """Return a segment from its columns."""
    lengths = np.frombuffer(stored.lengths, dtype="<u2").astype(np.float32)
    sessions, codes = np.unique(
        np.frombuffer(stored.sessions, dtype="<u8").astype(np.uint64), return_inverse=True
    )
    return Segment(
        first=first,
        entries=len(lengths),
        lengths=lengths,
        weights=np.frombuffer(stored.weights, dtype="<u1").astype(np.float32) * np.float32(0.01),
        times=np.frombuffer(stored.times, dtype="<i8").astype(np.int64),
        sessions=sessions,
        codes=codes.astype(np.intp),
        by_session=np.argsort(codes, kind="stable").astype(np.int32),
        bounds=np.concatenate(([0], np.cumsum(np.bincount(codes, minlength=len(sessions))))),
        spoken=np.frombuffer(stored.spoken, dtype=np.bool_),
    )


def posting_of(first: int, places: bytes, counts: bytes) -> Posting:
    """Return a posting from what is stored of it, given the number of its segment's first entry."""
    numbers = np.frombuffer(places, dtype="<u2").astype(np.intp) - (first & _MASK)
    return Posting(numbers, np.frombuffer(counts, dtype="<u1"))


def together(postings: Sequence[Posting], *, entries: int) -> Posting:
    """Return the entries of a segment that hold any of some terms, their counts added up."""
    counts = np.zeros(entries, dtype=np.int64)
    for each in postings:
        counts[each.places] += each.counts
    places = np.flatnonzero(counts)
    return Posting(places, np.minimum(counts[places], MAX_COUNT).astype(np.uint8))


def _stored(numbers: "array[int]") -> bytes:
    """Return the numbers as they are stored: the low byte first."""
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()
