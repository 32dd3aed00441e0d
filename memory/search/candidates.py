"""The entries worth a close look: their words and where these stand."""

import uuid
from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy.ext.asyncio import AsyncSession

from memory.database.statements import rows_of
from memory.search.labels import Carried
from memory.search.places import Places, unpack

__all__ = [
    "BY_ENTRY",
    "BY_ORDINAL",
    "ORDINALS",
    "Candidate",
    "ordinals",
    "read",
    "read_entries",
]

_READ: Final = """
    SELECT entry_id, ordinal, length, labels, lexemes, ends, positions FROM search
    WHERE generation = $1
"""
BY_ORDINAL: Final = _READ + " AND ordinal = ANY ($2::int[])"
BY_ENTRY: Final = _READ + " AND entry_id = ANY ($2::uuid[])"
ORDINALS: Final = """
    SELECT entry_id, ordinal FROM search WHERE generation = $1 AND entry_id = ANY ($2::uuid[])
"""


class Candidate(NamedTuple):
    """An entry that may answer a query.

    ``places`` gives each lexeme that was read of it with its positions: numbers of words from 0.
    ``length`` is in words; what it ``carried`` see `memory.search.labels`; ``ordinal`` is its
    number in the index.
    """

    id: uuid.UUID
    places: dict[str, list[int]]
    length: int
    carried: Carried
    ordinal: int


async def read(
    session: AsyncSession, generation: int, ordinals: Sequence[int], lexemes: Collection[str]
) -> list[Candidate]:
    """Return the entries with these numbers, and where in them the lexemes stand."""
    if not ordinals:
        return []
    rows = await rows_of(session, BY_ORDINAL, generation, list(ordinals))
    return [_candidate(row, lexemes) for row in rows]


async def read_entries(
    session: AsyncSession,
    generation: int,
    ids: Collection[uuid.UUID],
    lexemes: Collection[str],
) -> list[Candidate]:
    """Return those of some entries that are indexed, and where in them the lexemes stand."""
    if not ids:
        return []
    rows = await rows_of(session, BY_ENTRY, generation, list(ids))
    return [_candidate(row, lexemes) for row in rows]


async def ordinals(
    session: AsyncSession, generation: int, ids: Collection[uuid.UUID]
) -> dict[uuid.UUID, int]:
    """Return the numbers of those of some entries that are indexed."""
    if not ids:
        return {}
    rows = await rows_of(session, ORDINALS, generation, list(ids))
    return {row["entry_id"]: row["ordinal"] for row in rows}


def _candidate(row: Any, lexemes: Collection[str]) -> Candidate:
    stored = Places(row["lexemes"], row["ends"], row["positions"])
    return Candidate(
        id=row["entry_id"],
        places=unpack(stored, lexemes, length=row["length"]),
        length=row["length"],
        carried=Carried(*row["labels"].split("\n")),
        ordinal=row["ordinal"],
    )
