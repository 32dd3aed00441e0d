"""The entries that may answer a query."""

import uuid
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy.ext.asyncio import AsyncSession

from memory.database.statements import rows_of
from memory.search.labels import Carried

__all__ = [
    "BY_ENTRY",
    "BY_ORDINAL",
    "UNNUMBERED",
    "Candidate",
    "read",
    "read_entries",
]

_READ: Final = """
    SELECT entry_id, ordinal, occurred_at, said, length, labels FROM search WHERE generation = $1
"""
BY_ORDINAL: Final = _READ + " AND ordinal = ANY ($2::int[])"
BY_ENTRY: Final = _READ + " AND entry_id = ANY ($2::uuid[])"
UNNUMBERED: Final = -1
"""The number of an entry that the index does not hold."""


class Candidate(NamedTuple):
    """An entry that may answer a query.

    ``counts`` says how often each lexeme of the query that the entry holds occurs in it.
    ``length`` is in words; what it ``carried`` see `memory.search.labels`; ``said`` see
    `memory.search.source`; ``ordinal`` is its number in the index, or UNNUMBERED.
    """

    id: uuid.UUID
    counts: Mapping[str, int]
    length: int
    carried: Carried
    occurred_at: datetime
    said: int
    ordinal: int


async def read(session: AsyncSession, generation: int, ordinals: Sequence[int]) -> list[Candidate]:
    """Return the entries with these numbers, without their counts."""
    if not ordinals:
        return []
    rows = await rows_of(session, BY_ORDINAL, generation, list(ordinals))
    return [_candidate(row) for row in rows]


async def read_entries(
    session: AsyncSession, generation: int, ids: Collection[uuid.UUID]
) -> list[Candidate]:
    """Return those of some entries that are indexed, without their counts."""
    if not ids:
        return []
    rows = await rows_of(session, BY_ENTRY, generation, list(ids))
    return [_candidate(row) for row in rows]


def _candidate(row: Any) -> Candidate:
    return Candidate(
        id=row["entry_id"],
        counts={},
        length=row["length"],
        carried=Carried(*row["labels"].split("\n")),
        occurred_at=row["occurred_at"],
        said=row["said"],
        ordinal=row["ordinal"],
    )
