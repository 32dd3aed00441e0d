"""Which entries hold words of a query, over whole segments at once.

Pure functions over arrays. The index's segments and the one made of what is not indexed yet are
matched alike, so that a word weighs the same in both.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from memory.search.labels import Condition
from memory.search.segments import Posting, Segment, dense_of, microseconds

__all__ = [
    "Flags",
    "Matches",
    "Numbers",
    "Postings",
    "allowed",
    "best_of",
    "holding_all",
    "match",
    "top",
    "where",
]

Postings = Mapping[str, Posting]
Flags = NDArray[np.bool_]
Numbers = NDArray[np.intp]

_NONE: Final = np.zeros(0, dtype=np.intp)


@dataclass(frozen=True, slots=True)
class Matches:
    """The entries that hold any of some lexemes and meet every filter.

    ``flags`` tell for each of a segment's entries whether it is one. ``postings`` are those that
    were read, ``kept`` what of the lexemes' is left by the filters. ``frequencies`` counts for each
    lexeme the entries of the ledger that hold it, ``held`` those of them that meet the filters.
    """

    segments: Sequence[Segment]
    postings: Sequence[Postings]
    kept: Sequence[Postings]
    flags: Sequence[Flags]
    frequencies: Mapping[str, int]
    held: Mapping[str, int]

    @property
    def counts(self) -> list[int]:
        """How many entries match, segment by segment."""
        return [int(np.count_nonzero(each)) for each in self.flags]

    def counts_in(self, ordinals: Collection[int]) -> dict[int, dict[str, int]]:
        """Return for some entries how often each lexeme that they hold occurs in them."""
        found: dict[int, dict[str, int]] = {each: {} for each in ordinals}
        asked = np.sort(np.array(list(ordinals), dtype=np.int64))
        for segment, some in zip(self.segments, self.kept, strict=True):
            places = segment.places_of(asked)
            for lexeme, posting in some.items() if len(places) else ():
                at, holds = where(posting.places, places)
                numbers = (places[holds] + segment.first).tolist()
                for number, count in zip(numbers, posting.counts[at[holds]].tolist(), strict=True):
                    found[number][lexeme] = count
        return found

    def count_holding(self, lexemes: Collection[str]) -> int:
        """Count the matches that hold any of some lexemes."""
        return sum(
            int(np.count_nonzero(_held(segment, [some[each] for each in lexemes if each in some])))
            for segment, some in zip(self.segments, self.kept, strict=True)
        )


def match(
    segments: Sequence[Segment],
    postings: Sequence[Postings],
    lexemes: Collection[str],
    conditions: Sequence[Condition],
    *,
    since: datetime | None = None,
    until: datetime | None = None,
) -> Matches:
    """Return the entries that hold any of the lexemes and meet the conditions, times included."""
    kept: list[Postings] = []
    for segment, some in zip(segments, postings, strict=True):
        flags = _allowed(segment, some, conditions, since, until)
        own = {each: some[each] for each in lexemes if each in some}
        if flags is not None:
            own = {each: _filtered(posting, flags) for each, posting in own.items()}
        kept.append(own)
    return Matches(
        segments=segments,
        postings=postings,
        kept=kept,
        flags=[
            _held(segment, list(some.values()))
            for segment, some in zip(segments, kept, strict=True)
        ],
        frequencies=_sizes(postings, lexemes),
        held=_sizes(kept, lexemes),
    )


def allowed(
    matches: Matches,
    conditions: Sequence[Condition],
    *,
    since: datetime | None = None,
    until: datetime | None = None,
) -> Numbers:
    """Return the ordinals of all entries that meet the conditions, whatever words they hold."""
    found = [_NONE]
    for segment, some in zip(matches.segments, matches.postings, strict=True):
        flags = _allowed(segment, some, conditions, since, until)
        places = np.arange(segment.entries) if flags is None else np.flatnonzero(flags)
        found.append(places + segment.first)
    return np.concatenate(found)


def holding_all(
    matches: Matches, lexemes: Collection[str]
) -> Iterator[tuple[Segment, Postings, Numbers]]:
    """Give for each segment, with its postings, the matches that hold all of the lexemes."""
    for segment, some, matching in zip(
        matches.segments, matches.postings, matches.flags, strict=True
    ):
        if all(each in some for each in lexemes):
            holds = [_held(segment, [some[each]]) for each in lexemes]
            yield segment, some, np.flatnonzero(np.logical_and.reduce([matching, *holds]))
        else:
            yield segment, some, _NONE


def top(values: NDArray[Any], count: int) -> Numbers:
    """Return where so many of the highest values stand; of equals, the last ones."""
    if len(values) <= count:
        return np.arange(len(values))
    least = np.partition(values, -count)[-count]
    higher = np.flatnonzero(values > least)
    equal = np.flatnonzero(values == least)
    return np.concatenate((higher, equal[len(higher) - count :]))


def best_of(values: Sequence[NDArray[Any]], ordinals: Sequence[Numbers], count: int) -> list[int]:
    """Return so many ordinals by their values, the highest first; of equals the newest.

    Both are given segment by segment; there is at least one.
    """
    together, named = np.concatenate(values), np.concatenate(ordinals)
    found: list[int] = named[np.lexsort((named, together))[::-1][:count]].tolist()
    return found


def where(held: Numbers, wanted: Numbers) -> tuple[Numbers, Flags]:
    """Return where wanted places stand among those that are held, both in order, and which do."""
    if not len(held):
        return np.zeros(len(wanted), dtype=np.intp), np.zeros(len(wanted), dtype=np.bool_)
    at = np.minimum(np.searchsorted(held, wanted), len(held) - 1)
    return at, held[at] == wanted


def _allowed(
    segment: Segment,
    postings: Postings,
    conditions: Sequence[Condition],
    since: datetime | None,
    until: datetime | None,
) -> Flags | None:
    """Return which entries of a segment meet the filters, None where all do."""
    found: list[Flags] = []
    if since is not None:
        found.append(segment.times >= microseconds(since))
    if until is not None:
        found.append(segment.times <= microseconds(until))
    for condition in conditions:
        some = [postings[label] for label in condition.labels if label in postings]
        if some or not condition.excludes:
            flags = _held(segment, some)
            found.append(~flags if condition.excludes else flags)
    if not found:
        return None
    return np.logical_and.reduce(found) if len(found) > 1 else found[0]


def _filtered(posting: Posting, flags: Flags) -> Posting:
    passes = flags[posting.places]
    kept = Posting(posting.places[passes], posting.counts[passes])
    return kept._replace(dense=dense_of(kept, entries=len(flags)))


def _held(segment: Segment, postings: Sequence[Posting]) -> Flags:
    """Return which entries of a segment hold any of some terms."""
    flags = np.zeros(segment.entries, dtype=np.bool_)
    for each in postings:
        if each.dense is None:
            flags[each.places] = True
        else:
            flags |= each.dense.astype(np.bool_)
    return flags


def _sizes(postings: Sequence[Postings], lexemes: Collection[str]) -> dict[str, int]:
    """Return how many entries hold each lexeme."""
    return {
        lexeme: sum(len(some[lexeme].places) for some in postings if lexeme in some)
        for lexeme in lexemes
    }
