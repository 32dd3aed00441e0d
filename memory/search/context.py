"""What stands beside an entry in its session."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from memory.drafts import OWN_KINDS
from memory.search.voices import NOT_PROSE

__all__ = ["LOOK_AHEAD", "NEIGHBOURS", "neighbours"]

LOOK_AHEAD: Final = 16
"""Entries on each side among which the two nearest of prose are found; tools lie between them."""

_SIDE: Final = """(
    SELECT near.id, row_number() OVER (ORDER BY near.place) AS distance FROM (
        SELECT other.id, other.role, other.kind, row_number() OVER (ORDER BY {order}) AS place
        FROM entries AS other
        WHERE other.session_id = entry.session_id AND {side}
        ORDER BY {order} LIMIT :look_ahead
    ) AS near
    WHERE NOT near.kind = ANY (CAST(:kinds AS text[]))
        AND (near.role IS NULL OR NOT near.role = ANY (CAST(:roles AS text[])))
    LIMIT 2
)"""
_PLACED: Final = ("position", "occurred_at", "seq")
_UNPLACED: Final = ("occurred_at", "seq")


def _side(columns: Sequence[str], *, is_after: bool) -> str:
    """Return the query for one side of an entry, along the index on a session's entries."""
    others, own = (", ".join(f"{table}.{name}" for name in columns) for table in ("other", "entry"))
    side = f"({others}) {'>' if is_after else '<'} ({own})"
    if columns is _UNPLACED:
        side = f"entry.position IS NULL AND other.position IS NULL AND {side}"
    direction = "ASC" if is_after else "DESC"
    order = ", ".join(f"other.{name} {direction}" for name in columns)
    return _SIDE.format(side=side, order=order)


_SIDES: Final = " UNION ALL ".join(
    _side(columns, is_after=is_after)
    for columns in (_PLACED, _UNPLACED)
    for is_after in (True, False)
)
NEIGHBOURS: Final = text(f"""
    SELECT entry.id, beside.id AS neighbour, beside.distance
    FROM entries AS entry CROSS JOIN LATERAL ({_SIDES}) AS beside
    WHERE entry.id = ANY (CAST(:ids AS uuid[]))
""")  # noqa: S608 - our own constants
_LEFT_OUT: Final = {"kinds": list(OWN_KINDS), "roles": list(NOT_PROSE)}


async def neighbours(
    session: AsyncSession, ids: Sequence[uuid.UUID]
) -> Mapping[uuid.UUID, list[tuple[uuid.UUID, int]]]:
    """Return the two nearest entries of prose before and behind each entry, with their distance.

    Entries outside of sessions have none.
    """
    found: dict[uuid.UUID, list[tuple[uuid.UUID, int]]] = {each: [] for each in ids}
    values = {"ids": list(ids), "look_ahead": LOOK_AHEAD, **_LEFT_OUT}
    rows = await session.execute(NEIGHBOURS, values)
    for row in rows:
        found[row.id].append((row.neighbour, row.distance))
    return found
