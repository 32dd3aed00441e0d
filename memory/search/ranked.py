"""How well entries answer by their words and by their sessions': BM25 over whole segments at once.

Pure functions over arrays. `memory.search.ranking.bm25` gives one entry the same score.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from memory.search.matches import Flags, Matches, Postings, best_of, top
from memory.search.ranking import K1, SHORT, B, inverse_frequency
from memory.search.segments import Posting, Segment, is_many

__all__ = ["Floats", "Ranked", "Worth", "rank"]

Floats = NDArray[np.float32]
Worth = tuple[float, float]
"""What an entry gains by its words, and its session's score from 0 to 1."""

_NOTHING: Final = np.zeros(0, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Ranked:
    """How well each match answers by its words, and each session as a whole, from 0 to 1.

    ``gains`` has a number for each of a segment's entries, ``sessions`` one for each of its
    sessions.
    """

    matches: Matches
    gains: Sequence[Floats]
    sessions: Sequence[Floats]

    def of(self, ordinals: Collection[int]) -> dict[int, Worth]:
        """Return what some entries are worth; one that does not match gains nothing by words."""
        found: dict[int, Worth] = dict.fromkeys(ordinals, (0.0, 0.0))
        asked = np.sort(np.array(list(ordinals), dtype=np.int64))
        for segment, _, gains, sessions in self._parts():
            places = segment.places_of(asked)
            of_sessions = sessions[segment.codes[places]].tolist()
            worth = zip(gains[places].tolist(), of_sessions, strict=True)
            found |= zip((places + segment.first).tolist(), worth, strict=True)
        return found

    def best(self, count: int, *, session: float) -> list[int]:
        """Return the ordinals of so many best entries; ``session`` weighs the session's score.

        The best entry's words give 1. Of equals the newest come first.
        """
        unit = 1 / (max((float(each.max(initial=0)) for each in self.gains), default=0) or 1.0)
        keys, ordinals = [_NOTHING], [np.zeros(0, dtype=np.int64)]
        least = -np.inf  # that many are at least as good, so what is worse is not looked at
        for segment, flags, gains, sessions in self._parts():
            if is_many(flags):
                values = np.float32(unit) * gains
                values += np.float32(session) * segment.by_entries(sessions)
                places = np.flatnonzero(flags & (values >= least))
                some = values[places]
            else:
                places = np.flatnonzero(flags)
                some = np.float32(unit) * gains[places]
                some += np.float32(session) * sessions[segment.codes[places]]
            first = top(some, count)
            keys.append(some[first])
            ordinals.append(places[first] + segment.first)
            if len(first) == count:
                least = max(least, some[first].min())
        return best_of(keys, ordinals, count)

    def _parts(self) -> "zip[tuple[Segment, Flags, Floats, Floats]]":
        found = self.matches
        return zip(found.segments, found.flags, self.gains, self.sessions, strict=True)


def rank(matches: Matches, weights: Mapping[str, float], *, average: float) -> Ranked:
    """Return how well the matches answer, given the weight of each lexeme.

    Lexemes without weight count nothing; ``average`` is the length of an average entry in words.
    """
    gains = [
        _gains(segment, kept, flags, weights, average)
        for segment, kept, flags in zip(matches.segments, matches.kept, matches.flags, strict=True)
    ]
    told = [lexeme for lexeme, weight in weights.items() if weight and matches.held.get(lexeme)]
    return Ranked(matches, gains, _of_sessions(matches, told))


def _gains(
    segment: Segment,
    kept: Postings,
    flags: Flags,
    weights: Mapping[str, float],
    average: float,
) -> Floats:
    """Return the sum over each entry's lexemes of weight times saturated count."""
    told = {lexeme: posting for lexeme, posting in kept.items() if weights.get(lexeme)}
    sparse = [(weights[each], posting) for each, posting in told.items() if posting.dense is None]
    # With more digits than are kept, so that equals stay equal in whatever order they are added.
    sums = np.zeros(segment.entries)
    if sparse:
        # All at once, since most of the time goes into the number of steps.
        places, gains = _joined([posting for _, posting in sparse])
        gains /= gains + _norms(segment.lengths[places], average)
        sizes = [len(posting.places) for _, posting in sparse]
        gains *= np.repeat(np.array([weight for weight, _ in sparse], dtype=np.float32), sizes)
        sums += np.bincount(places, gains, segment.entries)
    norms: Floats | None = None
    for lexeme, posting in told.items():
        if posting.dense is not None:
            norms = _norms(segment.lengths, average) if norms is None else norms
            gains = posting.dense.astype(np.float32)
            gains /= gains + norms
            gains *= weights[lexeme]
            sums += gains
    worth = sums.astype(np.float32)
    if is_many(flags):
        worth *= segment.weights
        worth *= K1 + 1
    else:
        places = np.flatnonzero(flags)
        worth[places] *= segment.weights[places]
        worth[places] *= K1 + 1
    return worth


def _joined(postings: Sequence[Posting]) -> tuple[NDArray[np.intp], Floats]:
    """Return the places and counts of several postings, one behind the other."""
    places = np.concatenate([each.places for each in postings])
    return places, np.concatenate([each.counts for each in postings]).astype(np.float32)


def _norms(lengths: Floats, average: float) -> Floats:
    """Return what a lexeme's count is set against in entries of these lengths."""
    norms: Floats = np.maximum(lengths, SHORT)
    norms *= K1 * B / average
    norms += K1 * (1 - B)
    return norms


def _of_sessions(matches: Matches, lexemes: Sequence[str]) -> list[Floats]:
    """Return how well each session as a whole answers, from 0 to 1, for each segment.

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
    parts = zip(matches.segments, matches.kept, matches.flags, numbers, strict=True)
    for segment, kept, flags, number in parts:
        if is_many(flags):
            lengths[number] += segment.by_sessions(segment.lengths * flags)
        else:
            places = np.flatnonzero(flags)
            lengths[number] += _sums(segment, places, segment.lengths[places])
        held = [(row, kept[lexeme]) for row, lexeme in enumerate(lexemes) if lexeme in kept]
        for row, posting in held:
            if posting.dense is not None:
                counts[row, number] += segment.by_sessions(posting.dense)
        sparse = [(row, posting) for row, posting in held if posting.dense is None]
        if sparse:
            rows = [row for row, _ in sparse]
            counts[np.ix_(np.array(rows), number)] += _by_rows(
                segment, [posting for _, posting in sparse]
            )
    scores = _bm25_of_sessions(counts, lengths, is_session=names != 0).astype(np.float32)
    return [scores[number] for number in numbers]


def _sums(segment: Segment, places: NDArray[np.intp], values: NDArray[Any]) -> NDArray[np.float64]:
    """Return the sums by session of what some entries have."""
    return np.bincount(segment.codes[places], values, len(segment.sessions)).astype(np.float64)


def _by_rows(segment: Segment, postings: Sequence[Posting]) -> NDArray[np.float64]:
    """Return how often each session holds the terms of several postings, a row for each."""
    size = len(segment.sessions)
    places, counts = _joined(postings)
    rows = np.repeat(np.arange(len(postings)), [len(each.places) for each in postings])
    found = np.bincount(rows * size + segment.codes[places], counts, len(postings) * size)
    return found.reshape(len(postings), size).astype(np.float64)


def _bm25_of_sessions(
    counts: NDArray[Any], lengths: NDArray[Any], *, is_session: NDArray[np.bool_]
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
