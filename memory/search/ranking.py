"""How well an entry answers: BM25 over the words, and what stands beside it.

Pure functions, so that entries from the index and entries not yet indexed are scored alike. The
constants were measured on LoCoMo's questions, see docs/decisions.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from memory.drafts import Kind
from memory.search.candidates import Candidate

__all__ = ["adjacency", "bm25", "inverse_frequency", "normalised", "sessions", "weight_of"]

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


def weight_of(candidate: Candidate) -> float:
    """Return the weight of who speaks: recorded values, prose, tool calls, tool output."""
    if candidate.kind in _VALUES:
        return _VALUE_WEIGHT
    return _ROLES.get(candidate.role, 1.0)


def bm25(
    counts: Mapping[str, int], length: float, weights: Mapping[str, float], *, average: float
) -> float:
    """Return the sum over the lexemes of weight times saturated count."""
    norm = K1 * (1 - B + B * length / average)
    return sum(
        weights[lexeme] * count * (K1 + 1) / (count + norm) for lexeme, count in counts.items()
    )


def normalised(scores: Mapping[str, float]) -> dict[str, float]:
    """Return the scores as shares of the best."""
    best = max(scores.values(), default=0.0)
    return {name: score / best for name, score in scores.items()} if best > 0 else dict(scores)


def sessions(candidates: Iterable[Candidate]) -> dict[str, float]:
    """Return how well each session as a whole answers, from 0 to 1.

    The session's entries that hold a word are taken as one text; a word is worth the less, the
    more of these sessions hold it.
    """
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    lengths: Counter[str] = Counter()
    for each in candidates:
        if each.session:
            lengths[each.session] += each.length
            for lexeme in each.places:
                counts[each.session][lexeme] += each.count(lexeme)
    spread = Counter(lexeme for found in counts.values() for lexeme in found)
    told = {lexeme: inverse_frequency(spread[lexeme], len(counts)) for lexeme in spread}
    average = sum(lengths.values()) / max(1, len(lengths))
    return normalised(
        {
            session: bm25(found, lengths[session], told, average=max(1.0, average))
            for session, found in counts.items()
        }
    )


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
