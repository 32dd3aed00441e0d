"""The entries worth ranking: those that hold the rarest words of a query."""

import re
import uuid
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from memory.search.labels import CARRIED, MARK, filters
from memory.search.request import Request
from memory.text import tsquery_word

__all__ = [
    "BUDGET",
    "ENOUGH",
    "FEW",
    "MAX_PAIRED",
    "MOST_COMMON",
    "MOST_PAIRED",
    "Candidate",
    "Found",
    "find",
    "statement",
]

BUDGET: Final = 5_000
"""Candidates that are ranked (measured: 97 % of the exact ten best at 100,000 entries)."""
FEW: Final = 500
"""Candidates of the rarest words with which two common ones in one entry are not looked for."""
ENOUGH: Final = 100
"""Candidates with which a common word alone is not looked for; as many as an answer has hits."""
MOST_PAIRED: Final = 2_000
"""Newest candidates with two common words."""
MOST_COMMON: Final = 1_000
"""Newest candidates with a common word alone: they hardly differ, and each costs time."""
MAX_PAIRED: Final = 8
"""Common words, the rarest of them, any two of which an entry may hold."""

# Which index is the right one depends on how common the words are.
_PLAN_FOR_THE_WORDS: Final = text("SET LOCAL plan_cache_mode = force_custom_plan")
# Neither words nor labels hold a quote or a blank; labels stand side by side, in this order.
_WORDS: Final = re.compile(r"'([^'=][^']*)':([0-9A-D,]+)")
_LABELS: Final = re.compile("".join(f"(?:'{name}([^']*)':1A ?)?" for name in CARRIED))


class Candidate(NamedTuple):
    """An entry that holds words of the query.

    ``places`` gives each lexeme that was read of it with its positions as PostgreSQL writes them:
    ``3A,17A``. ``length`` is in words; ``session`` is the session's id in hexadecimal; ``speaker``
    see `memory.search.labels.speaker_of`.
    """

    id: uuid.UUID
    places: dict[str, str]
    length: int
    client: str
    kind: str
    role: str
    session: str
    speaker: str

    def positions(self, lexeme: str) -> list[int]:
        """Return where a lexeme occurs: numbers of words from 1."""
        places = self.places.get(lexeme, "")
        return [int(place.rstrip("ABCD")) for place in places.split(",")] if places else []


@dataclass(frozen=True, slots=True)
class Found:
    """Candidates, and whether they are every entry that holds any of the words."""

    candidates: list[Candidate]
    is_complete: bool


def statement(request: Request) -> str:
    """Return the SQL that reads candidates.

    ``setweight`` marks the words looked for with the weight A and ``ts_filter`` keeps what has it,
    labels too: reading six times fewer words than ``unnest`` would (measured). The newest come
    first, for words of which there are too many.
    """
    times = " AND ".join(
        condition
        for moment, condition in (
            (request.since, "entries.occurred_at >= :since"),
            (request.until, "entries.occurred_at <= :until"),
        )
        if moment is not None
    )
    join = f"JOIN entries ON entries.id = search.entry_id AND {times}" if times else ""
    return f"""
        SELECT search.entry_id, search.length,
            ts_filter(setweight(search.words, 'A', CAST(:lexemes AS text[])), '{{a}}')::text AS found
        FROM search {join}
        WHERE search.words @@ CAST(:query AS tsquery)
        ORDER BY search.entry_id DESC LIMIT :limit
    """  # noqa: S608 - nothing of a caller's is in it


async def find(
    session: AsyncSession,
    request: Request,
    frequencies: Mapping[str, int],
    *,
    also: Collection[str] = (),
    now: datetime,
) -> Found:
    """Return the entries that hold the rarest lexemes, at most BUDGET.

    ``frequencies`` are those of every lexeme of the query; the lexemes of ``also`` are read of the
    entries found, and not looked for. Where few entries hold a rare one, the
    common ones are looked for too: first any two of them in one entry, then any one.
    """
    conditions = filters(request, now=now)
    sql = text(statement(request))
    times = {"since": request.since, "until": request.until}
    arguments = {name: moment for name, moment in times.items() if moment is not None}
    found: dict[uuid.UUID, Candidate] = {}
    is_complete = True  # as it is when the index holds none of the words
    await session.execute(_PLAN_FOR_THE_WORDS)
    for step in _steps(frequencies):
        if len(found) >= step.unless:
            return Found(list(found.values()), is_complete=False)
        room = min(step.most, BUDGET - len(found))
        bound = {
            **arguments,
            "lexemes": [*frequencies, *also],
            "query": "&".join([f"({step.query})", *conditions]),
            "limit": room,
        }
        rows = (await session.execute(sql, bound)).all()
        found |= {row.entry_id: _candidate(row.entry_id, row.length, row.found) for row in rows}
        is_complete = len(rows) < room
    return Found(list(found.values()), is_complete)


class _Step(NamedTuple):
    """A text search query, to be asked for so many unless there are others enough already."""

    query: str
    most: int
    unless: int


def _steps(frequencies: Mapping[str, int]) -> Iterator[_Step]:
    """Give the queries to ask in turn."""
    rarest: list[str] = []
    common: list[str] = []
    total = 0
    for lexeme in sorted(frequencies, key=lambda each: frequencies[each]):
        total += frequencies[lexeme]
        if frequencies[lexeme]:
            (rarest if total <= BUDGET else common).append(tsquery_word(lexeme))
    if rarest:
        yield _Step("|".join(rarest), BUDGET, BUDGET)
    if len(common) > 1:
        some = common[:MAX_PAIRED]
        pairs = [f"{first}&({'|'.join(some[at:])})" for at, first in enumerate(some[:-1], start=1)]
        yield _Step("|".join(pairs), MOST_PAIRED, FEW)
    if common:
        yield _Step("|".join(common), MOST_COMMON, ENOUGH)


def _candidate(entry_id: uuid.UUID, length: int, found: str) -> Candidate:
    """Read what ``ts_filter`` kept: ``'=kind/message':1A 'retri':3A,17A``."""
    labels = _LABELS.match(found, max(0, found.find(f"'{MARK}")))
    carried = labels.groups(default="") if labels else ("",) * len(CARRIED)
    return Candidate(entry_id, dict(_WORDS.findall(found)), length, *carried)
