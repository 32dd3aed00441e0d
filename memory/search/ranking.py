"""How well an entry answers: BM25 over the words, and how they stand in it.

Pure functions, so that entries from the index and entries not yet indexed are scored alike. The
constants were measured on LoCoMo's questions.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from memory.drafts import Kind
from memory.search.candidates import Candidate

__all__ = ["adjacency", "bm25", "inverse_frequency", "sessions", "weight_of", "weights"]

K1: Final = 0.9
B: Final = 0.4

_ROLES: Final[Mapping[str, float]] = {"reasoning": 0.8, "tool_call": 0.6, "tool_result": 0.4}
_VALUES: Final = frozenset({Kind.FACT, Kind.DECISION, Kind.PREFERENCE, Kind.PROJECT_STATE})
_VALUE_WEIGHT: Final = 1.2
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

    Those of ``without``, names of who speaks, weigh nothing while there are others: who is named
    is looked for among the writers.
    """
    lexemes = list(lexemes)
    silent = set(without) if set(lexemes) - set(without) else set()
    return {
        lexeme: 0.0 if lexeme in silent else inverse_frequency(frequencies.get(lexeme, 0), entries)
        for lexeme in lexemes
    }


def weight_of(candidate: Candidate) -> float:
    """Return the weight of who speaks: recorded values, prose, tool calls, tool output."""
    if candidate.kind in _VALUES:
        return _VALUE_WEIGHT
    return _ROLES.get(candidate.role, 1.0)


def bm25(candidate: Candidate, weights: Mapping[str, float], *, average: float) -> float:
    """Return the sum over an entry's lexemes of weight times saturated count.

    Lexemes without weight count nothing; ``average`` is the length of an average entry in words.
    """
    norm = K1 * (1 - B + B * candidate.length / average)
    gain = 0.0
    for lexeme, places in candidate.places.items():
        if lexeme in weights:
            count = places.count(",") + 1
            gain += weights[lexeme] * count / (count + norm)
    return gain * (K1 + 1) * weight_of(candidate)


def sessions(candidates: Iterable[Candidate], weights: Mapping[str, float]) -> dict[str, float]:
    """Return how well each session as a whole answers, from 0 to 1.

    The session's entries that hold a word are taken as one text; a word that has a weight is worth
    the less, the more of these sessions hold it.
    """
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    lengths: Counter[str] = Counter()
    for each in candidates:
        if each.session:
            lengths[each.session] += each.length
            found = counts[each.session]
            for lexeme, places in each.places.items():
                if weights.get(lexeme):
                    found[lexeme] += places.count(",") + 1
    spread = Counter(lexeme for found in counts.values() for lexeme in found)
    told = {lexeme: inverse_frequency(spread[lexeme], len(counts)) for lexeme in spread}
    average = max(1.0, sum(lengths.values()) / max(1, len(lengths)))
    scores: dict[str, float] = {}
    for session, found in counts.items():
        norm = K1 * (1 - B + B * lengths[session] / average)
        scores[session] = sum(
            told[lexeme] * count * (K1 + 1) / (count + norm) for lexeme, count in found.items()
        )
    best = max(scores.values(), default=0.0) or 1.0
    return {session: score / best for session, score in scores.items()}


def adjacency(candidate: Candidate, words: Sequence[str]) -> int:
    """Count the neighbouring words of the query that stand side by side in an entry too."""
    pairs = 0
    for first, second in pairwise(words):
        if first in candidate.places and second in candidate.places:
            behind = set(candidate.positions(second))
            pairs += any(
                at + distance in behind
                for at in candidate.positions(first)
                for distance in _PAIR_DISTANCES
            )
    return pairs
