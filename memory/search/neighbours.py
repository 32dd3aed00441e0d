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
    asked = np.unique(np.array(ordinals, dtype=np.int64))
    wanted = np.unique(np.concatenate([_sessions_of(each, asked) for each in segments]))
    wanted = wanted[wanted != 0]
    if not len(wanted):
        return found
    rows = [np.stack(_rows(each, codes)) for each in segments if len(codes := _codes(each, wanted))]
    named, times, numbers, spoken = np.concatenate(rows, axis=1)
    is_asked = np.isin(numbers, asked)
    matters = np.flatnonzero(is_asked | (spoken != 0))
    order = matters[np.lexsort((numbers[matters], times[matters], named[matters]))]
    named, numbers, spoken = named[order], numbers[order], spoken[order]
    for at in np.flatnonzero(is_asked[order]):
        for step in (-1, 1):
            beside = _side(named, spoken, int(at), step)
            found[int(numbers[at])] += [
                (int(numbers[place]), distance) for distance, place in enumerate(beside, start=1)
            ]
    return found


def _sessions_of(segment: Segment, ordinals: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the sessions of those of some entries, in order, that are in a segment."""
    return segment.sessions[segment.codes[segment.places_of(ordinals)]]


def _codes(segment: Segment, sessions: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Return the codes of those of some sessions, in order, that a segment has."""
    at = np.searchsorted(segment.sessions, sessions)
    at, sessions = at[at < len(segment.sessions)], sessions[at < len(segment.sessions)]
    codes: NDArray[np.intp] = at[segment.sessions[at] == sessions]
    return codes


def _rows(segment: Segment, codes: NDArray[np.intp]) -> tuple[NDArray[np.int64], ...]:
    """Return session, time, number and whether it is prose of these sessions' entries."""
    spans = [segment.by_session[segment.bounds[each] : segment.bounds[each + 1]] for each in codes]
    places = np.concatenate(spans)
    # As signed numbers, which tell sessions apart as well.
    names = segment.sessions.view(np.int64)[segment.codes[places]]
    spoken = segment.spoken[places].astype(np.int64)
    return names, segment.times[places], places.astype(np.int64) + segment.first, spoken


def _side(named: NDArray[Any], spoken: NDArray[Any], begin: int, step: int) -> Iterator[int]:
    """Give where the nearest prose of the same session stands, on one side of a place."""
    left = FARTHEST
    at = begin + step
    while left and 0 <= at < len(named) and named[at] == named[begin]:
        if spoken[at]:
            yield at
            left -= 1
        at += step
