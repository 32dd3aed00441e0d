"""The score of each entry, kept in parts so that an answer can say why."""

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from memory.search import ranking
from memory.search.candidates import Candidate
from memory.search.hints import Hints
from memory.search.ranked import Ranked
from memory.search.voices import weight_of
from memory.text import Query

__all__ = [
    "Own",
    "Parts",
    "Scores",
    "add_exact",
    "add_hints",
    "add_neighbours",
    "add_order",
    "best",
    "lower_superseded",
    "of_words",
    "term_weights",
    "total",
]

Parts = dict[str, float]
Scores = dict[uuid.UUID, Parts]
Positions = Mapping[str, Collection[int]]


class Own(NamedTuple):
    """What entries have by their own words and meaning, and what one of gain by words gives."""

    unit: float
    known: dict[uuid.UUID, float]


TERM_WEIGHT: Final = 1.5
"""Of a whole identifier, against a word that is as rare."""
ORDER: Final = 0.2
"""For neighbouring words of the query that are neighbours in the entry; at most MOST_PAIRS times."""
MOST_PAIRS: Final = 3
SESSION: Final = 0.5
"""For being in the session that answers best as a whole."""
MEANT: Final = 0.3
"""For being in the session of the entry that is nearest in meaning."""
NEIGHBOURS: Final[Mapping[int, float]] = {1: 0.3, 2: 0.2}
"""Share of what the words of a neighbour at this distance give."""
WRITER: Final = 0.2
"""For being by the one whom the question names as who spoke."""
TIME: Final = 0.4
"""For a time that the question names, as far as it fits."""
WHEN: Final = 0.1
"""For naming a time where the question asks for one."""
WORDS: Final = 0.6
"""Share of the words where meaning counts too."""
ID: Final = 100.0
PHRASE: Final = 10.0
SUPERSEDED: Final = 0.5
"""Share of everything but ids and phrases that a superseded entry loses."""

_LEAST: Final = 1e-6
_NO_COSINES: Final[Mapping[uuid.UUID, float]] = {}


def term_weights(query: Query, weights: Mapping[str, float]) -> dict[str, float]:
    """Return the weights of a query's lexemes, those of whole identifiers raised.

    An entry that holds a path holds its shorter forms too, so a longer form weighs what it tells
    beyond them: together they give about what the longest one held tells.
    """
    terms = {
        lexeme: TERM_WEIGHT * max(0.0, weights[lexeme] - max(shorter, default=0.0))
        for lexeme in query.terms
        for shorter in [
            [weights[each] for each in query.terms if each in lexeme and each != lexeme]
        ]
    }
    return {lexeme: weights[lexeme] for lexeme in query.words + query.beginnings} | terms


def of_words(
    candidates: Collection[Candidate],
    query: Query,
    weights: Mapping[str, float],
    ranked: Ranked,
    *,
    average: float,
    cosines: Mapping[uuid.UUID, float] = _NO_COSINES,
) -> tuple[Scores, Own]:
    """Return the scores of entries by words and sessions, best first, and what each has alone.

    The best entry's words and identifiers give 1 together; with ``cosines`` they give WORDS, and
    the nearest meaning gives the rest. Both are spread from 0 to 1 first (measured: a sum of these
    is better than either alone, and fusion by ranks worse than words alone).
    """
    terms = {lexeme: weights[lexeme] for lexeme in query.terms}
    gains = {each.id: ranking.bm25(each, weights, average=average) for each in candidates}
    share = WORDS if cosines else 1.0
    unit = share / (max(gains.values(), default=0.0) or 1.0)
    spread = _spread(cosines)
    meaning = {name: (1 - share) * near for name, near in spread.items()}
    own = Own(unit, {name: unit * gain + meaning.get(name, 0.0) for name, gain in gains.items()})
    meant = _nearest_by_session(candidates, spread)
    worth = ranked.of([each.ordinal for each in candidates])
    sessions = {
        each.id: SESSION * worth[each.ordinal][1] + MEANT * meant.get(each.carried.session, 0.0)
        for each in candidates
    }
    scores: Scores = {}
    for each in sorted(
        candidates, key=lambda each: (own.known[each.id] + sessions[each.id], each.id), reverse=True
    ):
        whole = unit * ranking.bm25(each, terms, average=average) if terms else 0.0
        parts = {
            "words": unit * gains[each.id] - whole,
            "identifiers": whole,
            "meaning": meaning.get(each.id, 0.0),
            "session": sessions[each.id],
        }
        scores[each.id] = {name: part for name, part in parts.items() if part > _LEAST}
    return scores, own


def add_order(
    scores: Scores,
    own: Own,
    entries: Mapping[uuid.UUID, Candidate],
    placed: Mapping[uuid.UUID, Positions],
    words: Sequence[str],
) -> None:
    """Add what it gives that the words of the query stand side by side, as far as it is known."""
    for entry_id, places in placed.items():
        by = entries[entry_id].carried
        pairs = min(MOST_PAIRS, ranking.adjacency(places, words))
        if pairs:
            given = ORDER * pairs * weight_of(by.kind, by.role)
            scores[entry_id]["order"] = given
            own.known[entry_id] += given


def _spread(cosines: Mapping[uuid.UUID, float]) -> dict[uuid.UUID, float]:
    """Return the cosines as shares of the way from the lowest to the highest."""
    if not cosines:
        return {}
    lowest, highest = min(cosines.values()), max(cosines.values())
    if highest <= lowest:
        return dict.fromkeys(cosines, 1.0)
    return {name: (value - lowest) / (highest - lowest) for name, value in cosines.items()}


def _nearest_by_session(
    candidates: Iterable[Candidate], near: Mapping[uuid.UUID, float]
) -> dict[str, float]:
    """Return how near in meaning the nearest entry of each session is."""
    found: dict[str, float] = {}
    for each in candidates:
        session = each.carried.session
        if session and each.id in near:
            found[session] = max(found.get(session, 0.0), near[each.id])
    return found


def add_neighbours(scores: Scores, beside: Mapping[uuid.UUID, Iterable[tuple[float, int]]]) -> None:
    """Add what neighbouring entries give, given what each has alone and its distance."""
    for entry_id, near in beside.items():
        given = sum(NEIGHBOURS[distance] * alone for alone, distance in near)
        if given:
            scores[entry_id]["neighbours"] = given


def add_hints(
    scores: Scores,
    entries: Mapping[uuid.UUID, Candidate],
    hints: Hints,
    *,
    timed: Collection[uuid.UUID],
) -> None:
    """Add what it gives to be by the one, and of the time, that the question names.

    ``timed`` are the entries that tell a time themselves.
    """
    if not (hints.writers or hints.times or hints.asks_when):
        return
    for entry_id, given in scores.items():
        candidate = entries[entry_id]
        parts = {
            "writer": WRITER * hints.is_by_writer(candidate),
            "time": TIME * hints.fit(candidate.occurred_at),
            "when": WHEN * (hints.asks_when and entry_id in timed),
        }
        given |= {name: part for name, part in parts.items() if part}


def add_exact(
    scores: Scores, ids: Sequence[uuid.UUID], phrases: Sequence[Collection[uuid.UUID]]
) -> None:
    """Put entries that were named first: by id, in the order given, then by phrase."""
    for place, entry_id in enumerate(ids):
        scores.setdefault(entry_id, {})["id"] = ID * (1 - place / (2 * len(ids)))
    for found in phrases:
        for entry_id in found:
            parts = scores.setdefault(entry_id, {})
            parts["phrase"] = parts.get("phrase", 0.0) + PHRASE


def lower_superseded(scores: Scores, newer: Mapping[uuid.UUID, uuid.UUID]) -> None:
    """Lower each superseded entry, and in any case below the entry that replaced it."""
    for entry_id in newer:
        parts = scores[entry_id]
        lost = SUPERSEDED * sum(
            part for name, part in parts.items() if name not in {"id", "phrase"}
        )
        if lost:
            parts["superseded"] = -lost
    for entry_id in sorted(newer, reverse=True):  # ids are ordered by time: heads come first
        head = scores.get(newer[entry_id])
        if head is not None and "id" not in scores[entry_id]:
            above = total(scores[entry_id]) - total(head)
            if above >= 0:
                parts = scores[entry_id]
                parts["superseded"] = parts.get("superseded", 0.0) - above - _LEAST


def total(parts: Parts) -> float:
    """Return the score."""
    return sum(parts.values())


def best(scores: Scores, count: int) -> list[uuid.UUID]:
    """Return the ids with the highest scores, best first; of equals the newest."""
    ordered = sorted(scores, key=lambda each: (total(scores[each]), each.int), reverse=True)
    return ordered[:count]
