"""Which prose stands beside an entry in its session, by the index's arrays.

Of the hundreds of entries that may answer, no row is read for this. The order is that of time, and
of the feed among equals; where a client's own order differs, the answer's ``context`` shows it.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from memory.search.segments import Segment

__all__ = ["FARTHEST", "neighbours"]

FARTHEST: Final = 2
"""Entries of prose on each side."""


def neighbours(
    segments: Sequence[Segment], ordinals: Sequence[int]
) -> dict[int, list[tuple[int, int]]]:
    """Return the numbers of the nearest prose on both sides of entries, with the distance from 1.

    Entries outside of sessions, and numbers of no entry, have none.
    """
    found: dict[int, list[tuple[int, int]]] = {each: [] for each in ordinals}
    asked = np.array(ordinals, dtype=np.int64)
    sessions = np.unique(np.concatenate([_sessions_of(each, asked) for each in segments]))
    wanted = sessions[sessions != 0]
    if not len(wanted):
        return found
    rows = [np.stack(columns) for each in segments for columns in _rows(each, asked, wanted)]
    named, times, numbers, spoken = np.concatenate(rows, axis=1)
    order = np.lexsort((numbers, times, named))
    named, numbers, spoken = named[order], numbers[order], spoken[order]
    for at in np.flatnonzero(np.isin(numbers, asked)):
        for step in (-1, 1):
            beside = _side(named, spoken, int(at), step)
            found[int(numbers[at])] += [
                (int(numbers[place]), distance) for distance, place in enumerate(beside, start=1)
            ]
    return found


def _sessions_of(segment: Segment, ordinals: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the sessions of those of some entries that are in a segment."""
    places = ordinals - segment.first
    places = places[(places >= 0) & (places < segment.entries)]
    return segment.sessions[segment.codes[places]]


def _rows(
    segment: Segment, asked: NDArray[np.int64], wanted: NDArray[np.uint64]
) -> Iterator[tuple[NDArray[Any], ...]]:
    """Give session, time, number and whether it is prose of a segment's entries that matter."""
    is_wanted = np.isin(segment.sessions, wanted)
    if not is_wanted.any():
        return
    chosen = segment.spoken.copy()
    places = asked - segment.first
    chosen[places[(places >= 0) & (places < segment.entries)]] = True
    chosen &= is_wanted[segment.codes]
    places = np.flatnonzero(chosen)
    # As signed numbers, which are as good for telling sessions apart.
    names = segment.sessions.view(np.int64)[segment.codes[places]]
    yield names, segment.times[places], places + segment.first, segment.spoken[places]


def _side(named: NDArray[Any], spoken: NDArray[Any], begin: int, step: int) -> Iterator[int]:
    """Give where the nearest prose of the same session stands, on one side of a place."""
    left = FARTHEST
    at = begin + step
    while left and 0 <= at < len(named) and named[at] == named[begin]:
        if spoken[at]:
            yield at
            left -= 1
        at += step
