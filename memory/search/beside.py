"""The turns beside a hit: what was said just before it and just after."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Row, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from memory.models import Entry
from memory.search.context import neighbours

__all__ = ["EXCERPT", "Beside", "Turn", "turns_beside"]

EXCERPT: Final = 1_000
"""Characters of a turn that are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A turn beside a hit; ``excerpt`` is its beginning, ``length`` counts all its characters."""

    id: uuid.UUID
    role: str | None
    kind: str
    source_client: str
    occurred_at: datetime
    excerpt: str
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """The nearest turns of prose on both sides; None at the ends of a session."""

    before: Turn | None = None
    after: Turn | None = None


async def turns_beside(
    session: AsyncSession, entries: Collection[Entry]
) -> dict[uuid.UUID, Beside]:
    """Return what stands beside each entry in its session, tools and thoughts left out."""
    near = await neighbours(session, [each.id for each in entries])
    nearest = {other for found in near.values() for other, distance in found if distance == 1}
    rows = await session.execute(
        select(
            Entry.id,
            Entry.role,
            Entry.kind,
            Entry.source_client,
            Entry.occurred_at,
            Entry.position,
            Entry.seq,
            func.left(Entry.content, EXCERPT).label("excerpt"),
            func.length(Entry.content).label("length"),
        ).where(Entry.id.in_(nearest))
    )
    turns = {row.id: row for row in rows}
    found: dict[uuid.UUID, Beside] = {}
    for entry in entries:
        sides: dict[str, Turn] = {}
        for other, distance in near[entry.id]:
            if distance == 1 and other in turns:
                row = turns[other]
                side = "after" if _place(row) > _place(entry) else "before"
                sides[side] = Turn(**{name: getattr(row, name) for name in Turn.__slots__})
        found[entry.id] = Beside(**sides)
    return found


def _place(row: Entry | Row[Any]) -> tuple[int, datetime, int]:
    """Return where an entry stands in its session, as `crud.read_session` orders it."""
    return (-1 if row.position is None else row.position, row.occurred_at, row.seq)
