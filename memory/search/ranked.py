"""How well entries answer by their words and by their sessions': BM25 over whole segments at once.

Pure functions over arrays. `memory.search.ranking.bm25` gives one entry the same score.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from memory.search.matches import Matches, Postings, best_of, top, where
from memory.search.ranking import K1, SHORT, B, inverse_frequency
from memory.search.segments import Segment

__all__ = ["Ranked", "Worth", "rank"]

Floats = NDArray[np.float32]
Worth = tuple[float, float]
"""What an entry gains by its words, and its session's score from 0 to 1."""

_NOTHING: Final = np.zeros(0, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Ranked:
    """How well each match answers by its words, and each session as a whole, from 0 to 1.

    ``gains`` has a number for each of the matches' places, ``sessions`` one for each session of a
    segment.
    """

    matches: Matches
    gains: Sequence[Floats]
    sessions: Sequence[Floats]

    def of(self, ordinals: Collection[int]) -> dict[int, Worth]:
        """Return what some entries are worth; one that does not match gains nothing by words."""
        found: dict[int, Worth] = dict.fromkeys(ordinals, (0.0, 0.0))
        asked = np.sort(np.array(list(ordinals), dtype=np.int64))
        for segment, places, gains, sessions in self._parts():
            numbers = segment.places_of(asked)
            at, matching = where(places, numbers)
            own = np.zeros(len(numbers), dtype=np.float32)
            own[matching] = gains[at[matching]]
            worth = zip(own.tolist(), sessions[segment.codes[numbers]].tolist(), strict=True)
            found |= zip((numbers + segment.first).tolist(), worth, strict=True)
        return found

    def best(self, count: int, *, session: float) -> list[int]:
        """Return the ordinals of so many best entries; ``session`` weighs the session's score.

        The best entry's words give 1. Of equals the newest come first.
        """
        unit = 1 / (max((float(each.max(initial=0)) for each in self.gains), default=0) or 1.0)
        keys, ordinals = [_NOTHING], [np.zeros(0, dtype=np.int64)]
        for segment, places, gains, sessions in self._parts():
            values = np.float32(unit) * gains
            values += np.float32(session) * sessions[segment.codes[places]]
            first = top(values, count)
            keys.append(values[first])
            ordinals.append(places[first] + segment.first)
        return best_of(keys, ordinals, count)

    def _parts(self) -> "zip[tuple[Segment, NDArray[np.intp], Floats, Floats]]":
        found = self.matches
        return zip(found.segments, found.places, self.gains, self.sessions, strict=True)


def rank(matches: Matches, weights: Mapping[str, float], *, average: float) -> Ranked:
    """Return how well the matches answer, given the weight of each lexeme.

    Lexemes without weight count nothing; ``average`` is the length of an average entry in words.
    """
    gains = [
        _gains(segment, kept, places, weights, average)
        for segment, kept, places in zip(
            matches.segments, matches.kept, matches.places, strict=True
        )
    ]
    told = [lexeme for lexeme, weight in weights.items() if weight and matches.held.get(lexeme)]
    return Ranked(matches, gains, _of_sessions(matches, told))


def _gains(
    segment: Segment,
    kept: Postings,
    places: NDArray[np.intp],
    weights: Mapping[str, float],
    average: float,
) -> Floats:
    """Return the sum over each entry's lexemes of weight times saturated count."""
    if not len(places):
        return _NOTHING
    sums = np.zeros(segment.entries, dtype=np.float32)
    for lexeme, posting in kept.items():
        if weight := weights.get(lexeme):
            # In place, since most of the time goes into memory.
            norm = segment.lengths[posting.places]
            np.maximum(norm, SHORT, out=norm)
            norm *= K1 * B / average
            norm += K1 * (1 - B)
            counts = posting.counts.astype(np.float32)
            norm += counts
            counts /= norm
            counts *= weight
            sums[posting.places] += counts
    gains: Floats = sums[places]
    gains *= segment.weights[places]
    gains *= K1 + 1
    return gains


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
    parts = zip(matches.segments, matches.kept, matches.places, numbers, strict=True)
    for segment, kept, places, number in parts:
        size = len(segment.sessions)
        own = segment.codes[places]
        lengths[number] += np.bincount(own, segment.lengths[places], size)
        for row, lexeme in enumerate(lexemes):
            if posting := kept.get(lexeme):
                is_all = len(posting.places) == len(places)
                held = own if is_all else segment.codes[posting.places]
                counts[row, number] += np.bincount(held, posting.counts, size)
    scores = _bm25_of_sessions(counts, lengths, is_session=names != 0).astype(np.float32)
    return [scores[number] for number in numbers]


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
