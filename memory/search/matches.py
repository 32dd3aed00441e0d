"""Which entries hold words of a query, and how well: BM25 over whole segments at once.

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
from memory.search.ranking import K1, SHORT, B, inverse_frequency
from memory.search.segments import Posting, Segment, microseconds

__all__ = ["Matches", "Ranked", "holding_all", "match", "rank"]

Postings = Mapping[str, Posting]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float32]

_NOTHING: Final = np.zeros(0, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Matches:
    """The entries that hold any of some lexemes and meet every filter.

    ``allowed`` says for each segment which entries meet the filters, None where all do; ``hits``
    which of those hold a lexeme. ``frequencies`` counts for each lexeme the entries of the ledger
    that hold it, ``held`` those of them that meet the filters.
    """

    segments: Sequence[Segment]
    postings: Sequence[Postings]
    allowed: Sequence[Flags | None]
    hits: Sequence[Flags]
    frequencies: Mapping[str, int]
    held: Mapping[str, int]

    @property
    def counts(self) -> list[int]:
        """How many entries match, segment by segment."""
        return [int(np.count_nonzero(each)) for each in self.hits]

    def counts_in(self, ordinals: Collection[int]) -> dict[int, dict[str, int]]:
        """Return for some entries how often each lexeme that they hold occurs in them."""
        found: dict[int, dict[str, int]] = {each: {} for each in ordinals}
        asked = np.sort(np.array(list(ordinals), dtype=np.int64))
        for segment, some in zip(self.segments, self.postings, strict=True):
            low, high = np.searchsorted(asked, (segment.first, segment.first + segment.entries))
            places = (asked[low:high] - segment.first).astype(np.int32)
            for lexeme in self.frequencies if len(places) else ():
                for place, count in _counts_at(some.get(lexeme), places):
                    found[place + segment.first][lexeme] = count
        return found

    def count_holding(self, lexemes: Collection[str]) -> int:
        """Count the matches that hold any of some lexemes."""
        together = _holding_any(self.segments, self.postings, lexemes, self.allowed)
        return sum(int(np.count_nonzero(each)) for each in together)


@dataclass(frozen=True, slots=True)
class Ranked:
    """How well each entry of some matches answers: by its words, and by its session's.

    ``gains`` and ``sessions`` have a number for each entry of each segment; those of sessions go
    from 0 to 1.
    """

    matches: Matches
    gains: Sequence[Floats]
    sessions: Sequence[Floats]

    def of(self, ordinal: int) -> tuple[float, float]:
        """Return an entry's gain by words and its session's score; 0 for one without a match."""
        for segment, gains, sessions in zip(
            self.matches.segments, self.gains, self.sessions, strict=True
        ):
            at = ordinal - segment.first
            if 0 <= at < segment.entries:
                return float(gains[at]), float(sessions[at])
        return 0.0, 0.0

    def best(self, count: int, *, session: float) -> list[int]:
        """Return the ordinals of so many best entries; ``session`` weighs the session's score.

        The best entry's words give 1. Of equals the newest come first.
        """
        unit = 1 / (max((float(each.max(initial=0)) for each in self.gains), default=0) or 1.0)
        keys, ordinals = [_NOTHING], [np.zeros(0, dtype=np.int64)]
        for segment, gains, sessions, hits in zip(
            self.matches.segments, self.gains, self.sessions, self.matches.hits, strict=True
        ):
            places = np.flatnonzero(hits)
            values = unit * gains[places] + session * sessions[places]
            if len(places) > count:
                least = np.partition(values, -count)[-count]
                newest = np.flatnonzero(values == least)[-count:]
                first = np.concatenate((np.flatnonzero(values > least), newest))
                places, values = places[first], values[first]
            keys.append(values)
            ordinals.append(places + segment.first)
        together, named = np.concatenate(keys), np.concatenate(ordinals)
        order = np.lexsort((named, together))[::-1][:count]
        return [int(each) for each in named[order]]


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
    allowed = [
        _allowed(segment, some, conditions, since, until)
        for segment, some in zip(segments, postings, strict=True)
    ]
    frequencies = dict.fromkeys(lexemes, 0)
    held = dict.fromkeys(lexemes, 0)
    for some, flags in zip(postings, allowed, strict=True):
        for lexeme in lexemes:
            if posting := some.get(lexeme):
                frequencies[lexeme] += len(posting.places)
                kept = flags[posting.places] if flags is not None else None
                held[lexeme] += len(posting.places) if kept is None else int(kept.sum())
    hits = list(_holding_any(segments, postings, lexemes, allowed))
    return Matches(segments, postings, allowed, hits, frequencies, held)


def rank(matches: Matches, weights: Mapping[str, float], *, average: float) -> Ranked:
    """Return how well the matches answer, given the weight of each lexeme.

    Lexemes without weight count nothing; ``average`` is the length of an average entry in words.
    """
    gains = [
        _gains(segment, postings, hits, weights, average)
        for segment, postings, hits in zip(
            matches.segments, matches.postings, matches.hits, strict=True
        )
    ]
    told = [lexeme for lexeme, weight in weights.items() if weight and matches.held.get(lexeme)]
    return Ranked(matches, gains, _of_sessions(matches, told))


def holding_all(matches: Matches, lexemes: Collection[str]) -> Iterator[int]:
    """Give the ordinals of the matches that hold all of the lexemes, the newest first."""
    order = sorted(range(len(matches.segments)), key=lambda at: -matches.segments[at].first)
    for at in order:
        segment, some = matches.segments[at], matches.postings[at]
        if all(lexeme in some for lexeme in lexemes):
            left = matches.hits[at].copy()
            for lexeme in lexemes:
                left &= _flags(segment, [some[lexeme]])
            for place in np.flatnonzero(left)[::-1]:
                yield int(place) + segment.first


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
            flags = _flags(segment, some)
            found.append(~flags if condition.excludes else flags)
    if not found:
        return None
    return np.logical_and.reduce(found) if len(found) > 1 else found[0]


def _holding_any(
    segments: Sequence[Segment],
    postings: Sequence[Postings],
    lexemes: Collection[str],
    allowed: Sequence[Flags | None],
) -> Iterator[Flags]:
    """Give for each segment which of the allowed entries hold any of the lexemes."""
    for segment, some, flags in zip(segments, postings, allowed, strict=True):
        found = _flags(segment, [some[lexeme] for lexeme in lexemes if lexeme in some])
        yield found if flags is None else found & flags


def _counts_at(posting: Posting | None, places: NDArray[np.int32]) -> Iterator[tuple[int, int]]:
    """Give those of some places, in order, that a posting has, with their counts."""
    if posting is not None and len(posting.places):
        at = np.minimum(np.searchsorted(posting.places, places), len(posting.places) - 1)
        holds = posting.places[at] == places
        yield from zip(places[holds].tolist(), posting.counts[at[holds]].tolist(), strict=True)


def _flags(segment: Segment, postings: Sequence[Posting]) -> Flags:
    flags = np.zeros(segment.entries, dtype=np.bool_)
    for each in postings:
        flags[each.places] = True
    return flags


def _gains(
    segment: Segment,
    postings: Postings,
    hits: Flags,
    weights: Mapping[str, float],
    average: float,
) -> Floats:
    """Return the sum over each entry's lexemes of weight times saturated count."""
    gains = np.zeros(segment.entries, dtype=np.float32)
    norm = K1 * (1 - B + B * np.maximum(segment.lengths, SHORT) / average)
    for lexeme, weight in weights.items():
        posting = postings.get(lexeme)
        if weight and posting is not None:
            counts = posting.counts.astype(np.float32)
            gains[posting.places] += weight * counts / (counts + norm[posting.places])
    return np.where(hits, gains * ((K1 + 1) * segment.weights), np.float32(0))


def _of_sessions(matches: Matches, lexemes: Sequence[str]) -> list[Floats]:
    """Return how well each entry's session as a whole answers, from 0 to 1.

    The session's matches are taken as one text; a lexeme is worth the less, the more of these
    sessions hold it.
    """
    if not matches.segments:
        return []
    # From each segment's own numbers of sessions to those of all.
    names, joined = np.unique(
        np.concatenate([each.sessions for each in matches.segments]), return_inverse=True
    )
    bounds = np.cumsum([len(each.sessions) for each in matches.segments])[:-1]
    numbers = np.split(joined, bounds)
    lengths = np.zeros(len(names))
    counts = np.zeros((len(lexemes), len(names)))
    for segment, some, hits, number in zip(
        matches.segments, matches.postings, matches.hits, numbers, strict=True
    ):
        size = len(segment.sessions)
        lengths[number] += np.bincount(segment.codes[hits], segment.lengths[hits], size)
        for row, lexeme in enumerate(lexemes):
            if posting := some.get(lexeme):
                kept = hits[posting.places]
                codes = segment.codes[posting.places[kept]]
                counts[row, number] += np.bincount(codes, posting.counts[kept], size)
    scores = _bm25_of_sessions(counts, lengths, is_session=names != 0)
    return [
        scores[number][segment.codes].astype(np.float32)
        for segment, number in zip(matches.segments, numbers, strict=True)
    ]


def _bm25_of_sessions(
    counts: NDArray[Any], lengths: NDArray[Any], *, is_session: Flags
) -> NDArray[Any]:
    """Return BM25 of sessions as texts, the best being 1; counts are lexemes by sessions."""
    counts, lengths = counts * is_session, lengths * is_session
    total = int(np.count_nonzero(lengths))
    average = max(1.0, float(lengths.sum()) / max(1, total))
    norm = K1 * (1 - B + B * lengths / average)
    scores = np.zeros(len(lengths))
    for row in counts:
        told = inverse_frequency(int(np.count_nonzero(row)), total)
        scores += told * row * (K1 + 1) / (row + norm)
    return scores / (float(scores.max(initial=0)) or 1.0)
