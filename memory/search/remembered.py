"""What a process remembers of the index, so that it reads it once: columns, and long postings.

A segment is never changed, and its stamp never means another one; so nothing here grows old.
"""

import uuid
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field
from threading import Lock
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memory.search.segments import Segment

__all__ = ["LONG", "MAX_BYTES", "MAX_ENTRIES", "Kept", "Remembered"]

MAX_ENTRIES: Final = 8_000_000
"""Entries whose columns are remembered; each takes 30 to 55 bytes."""
MAX_BYTES: Final = 32_000_000
"""Bytes of postings that are remembered."""
LONG: Final = 500
"""Entries of a posting that is worth it: reading a shorter one costs no more than looking it up."""


class Kept(NamedTuple):
    """A posting as the index stores it, with what `segments.Posting` has beside."""

    places: bytes
    counts: bytes
    page: str
    before: bytes
    dense: NDArray[np.uint8] | None


@dataclass(slots=True)
class Remembered:
    """Segments by their stamps, and postings by stamp and term: those used last."""

    _segments: OrderedDict[uuid.UUID, Segment] = field(default_factory=OrderedDict)
    _postings: OrderedDict[tuple[uuid.UUID, str], Kept] = field(default_factory=OrderedDict)
    _entries: int = 0
    _bytes: int = 0
    _lock: Lock = field(default_factory=Lock)

    def segments(self) -> dict[uuid.UUID, Segment]:
        """Return every segment that is remembered."""
        with self._lock:
            return dict(self._segments)

    def postings(self, terms: Collection[str]) -> dict[tuple[uuid.UUID, str], Kept]:
        """Return what is remembered of some terms' postings in segments that are remembered."""
        with self._lock:
            wanted = ((stamp, term) for stamp in self._segments for term in terms)
            found = {each: self._postings[each] for each in wanted if each in self._postings}
            for each in found:
                self._postings.move_to_end(each)
        return found

    def keep_segment(self, stamp: uuid.UUID, segment: Segment) -> None:
        """Remember a segment as the one used last, and forget others where there are too many."""
        with self._lock:
            if stamp not in self._segments:
                self._entries += segment.entries
            self._segments[stamp] = segment
            self._segments.move_to_end(stamp)
            while self._entries > MAX_ENTRIES and len(self._segments) > 1:
                _, oldest = self._segments.popitem(last=False)
                self._entries -= oldest.entries

    def keep_posting(self, stamp: uuid.UUID, term: str, stored: Kept) -> None:
        """Remember a posting if it is long, and forget others where they take too much room."""
        if len(stored.counts) < LONG:
            return
        with self._lock:
            before = self._postings.pop((stamp, term), None)
            self._bytes += _size(stored) - (_size(before) if before else 0)
            self._postings[stamp, term] = stored
            while self._bytes > MAX_BYTES:
                _, oldest = self._postings.popitem(last=False)
                self._bytes -= _size(oldest)


def _size(stored: Kept) -> int:
    dense = 0 if stored.dense is None else stored.dense.nbytes
    return len(stored.places) + len(stored.counts) + len(stored.before) + dense
