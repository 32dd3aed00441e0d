"""Which of the entries found are shown: each content once, and not above its newer version."""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, NamedTuple

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from memory.search import scores as scoring
from memory.search.scores import Scores

__all__ = ["Saying", "Shown", "read", "without_copies"]

# The key is part of what an entry says; 64 bits tell the few hundred of one answer apart.
_SAYINGS: Final = text("""
    SELECT entries.id, newer.id AS newer, entries.occurred_at,
        hashtextextended(concat(entries.key, chr(10), entries.content), 0) AS said
    FROM entries LEFT JOIN entries AS newer ON newer.supersedes = entries.id
    WHERE entries.id = ANY (CAST(:ids AS uuid[]))
""")


class Saying(NamedTuple):
    """When an entry said what (as a hash), and the entry that replaced it."""

    occurred_at: datetime
    said: int
    newer: uuid.UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """An entry to be shown: its newer version, and how many entries say the same."""

    id: uuid.UUID
    newer: uuid.UUID | None
    copies: int


async def read(session: AsyncSession, ids: Iterable[uuid.UUID]) -> dict[uuid.UUID, Saying]:
    """Return what these entries say, and when."""
    rows = await session.execute(_SAYINGS, {"ids": list(ids)})
    return {row.id: Saying(row.occurred_at, row.said, row.newer) for row in rows}


def without_copies(scores: Scores, sayings: Mapping[uuid.UUID, Saying]) -> list[Shown]:
    """Return the entries best first, each content once; lowers superseded versions' scores."""
    newer = {each: saying.newer for each, saying in sayings.items() if saying.newer}
    scoring.lower_superseded(scores, newer)
    shown: dict[int, Shown] = {}
    for each in scoring.best(scores, len(scores)):
        saying = sayings[each]
        first = shown.get(saying.said)
        if first is not None:
            shown[saying.said] = replace(first, copies=first.copies + 1)
        else:
            shown[saying.said] = Shown(id=each, newer=saying.newer, copies=1)
    return list(shown.values())
