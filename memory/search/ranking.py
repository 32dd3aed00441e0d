"""How well an entry answers: BM25 over the words, and how they stand in it.

Pure functions, so that entries from the index and entries not yet indexed are scored alike; the
same sum is taken over whole segments in `memory.search.ranked`. The constants were measured on
LoCoMo's questions.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from memory.search.candidates import Candidate
from memory.search.segments import MAX_LENGTH
from memory.search.voices import weight_of

__all__ = ["K1", "SHORT", "B", "adjacency", "bm25", "inverse_frequency", "weights"]

K1: Final = 0.9
B: Final = 0.4
SHORT: Final = 10
"""Words that an entry counts as having at least: two words do not answer best for being few."""

_PAIR_DISTANCES: Final = (1, 2)


def inverse_frequency(frequency: int, entries: int) -> float:
    """Return how much a lexeme tells that so many of all entries hold."""
    entries = max(entries, frequency)
    return math.log(1 + (entries - frequency + 0.5) / (frequency + 0.5))


def weights(
    lexemes: Iterable[str],
    frequencies: Mapping[str, int],
    *,
    entries: int,
    without: Collection[str],
) -> dict[str, float]:
    """Return each lexeme's weight among so many entries.

    Those of ``without``, names of who speaks and words of dates, weigh nothing while there are
    others: both are looked for beside the words.
    """
    lexemes = list(lexemes)
    silent = set(without) if set(lexemes) - set(without) else set()
    return {
        lexeme: 0.0 if lexeme in silent else inverse_frequency(frequencies.get(lexeme, 0), entries)
        for lexeme in lexemes
    }


def bm25(candidate: Candidate, weights: Mapping[str, float], *, average: float) -> float:
    """Return the sum over an entry's lexemes of weight times saturated count.

    Lexemes without weight count nothing; ``average`` is the length of an average entry in words.
    """
    norm = K1 * (1 - B + B * min(max(candidate.length, SHORT), MAX_LENGTH) / average)
    gain = 0.0
    for lexeme, count in candidate.counts.items():
        gain += weights.get(lexeme, 0.0) * count / (count + norm)
    return gain * (K1 + 1) * weight_of(candidate.carried.kind, candidate.carried.role)


def adjacency(places: Mapping[str, Collection[int]], words: Sequence[str]) -> int:
    """Count the neighbouring words of a query that stand side by side in an entry too.

    ``places`` are the positions of the entry's words.
    """
    pairs = 0
    for first, second in pairwise(words):
        if first in places and second in places:
            behind = set(places[second])
            pairs += any(
                at + distance in behind for at in places[first] for distance in _PAIR_DISTANCES
            )
    return pairs
