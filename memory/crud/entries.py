"""Single entries, and how many there are."""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import and_, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from memory.crud.said import said
from memory.database.statements import rows_of
from memory.drafts import MEMORY_CALL, OWN_KINDS, Kind
from memory.errors import NotFound
from memory.models import Entry, Session

__all__ = [
    "Total",
    "find_call",
    "find_entry",
    "get_entry",
    "get_entry_and_newer",
    "superseded_by",
    "totals",
]

_NEAR: Final = timedelta(days=1)
_COLUMNS: Final = tuple(Entry.__table__.columns.keys())
_ENTRY_AND_NEWER: Final = f"""
    SELECT {", ".join(_COLUMNS)},
        (SELECT newer.id FROM entries AS newer WHERE newer.supersedes = entries.id)
    FROM entries WHERE id = $1
"""  # noqa: S608 - the names of our own columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """What one client has in the ledger; times are of the client's own clock.

    ``entries`` is what people, models and tools said, ``harness`` what the client's own program
    added; ``attributes`` are those of sessions. An import appends these three; bindings of
    directories and names of machines are made beside it.
    """

    source_client: str
    sessions: int
    entries: int
    harness: int
    attributes: int
    first_at: datetime | None
    last_at: datetime | None


async def get_entry(session: AsyncSession, entry_id: uuid.UUID) -> Entry:
    """Return an entry. Raises NotFound."""
    entry, _ = await get_entry_and_newer(session, entry_id)
    return entry


async def get_entry_and_newer(
    session: AsyncSession, entry_id: uuid.UUID
) -> tuple[Entry, uuid.UUID | None]:
    """Return an entry, to be read only, and the id of the one that replaced it, in one statement.

    Raises NotFound.
    """
    rows = await rows_of(session, _ENTRY_AND_NEWER, entry_id, begin=False)
    if not rows:
        raise NotFound(f"No entry has the id {entry_id}; search_history finds entries.")
    *values, newer = rows[0]
    return Entry(**dict(zip(_COLUMNS, values, strict=True))), newer


async def find_entry(
    session: AsyncSession, *, session_id: uuid.UUID, source_id: str
) -> Entry | None:
    """Return the newest version of a client's message in a session, or None."""
    return await session.scalar(
        select(Entry)
        .where(Entry.session_id == session_id, Entry.source_id == source_id)
        .order_by(Entry.version.desc())
        .limit(1)
    )


async def find_call(
    session: AsyncSession, *, session_id: uuid.UUID, call_id: str, near: datetime
) -> Entry | None:
    """Return the tool call with the client's own id, in a session or one that came of it.

    Only calls within a day of ``near`` are looked at.
    """
    tree = select(Session.id).where(Session.id == session_id).cte(recursive=True)
    tree = tree.union(select(Session.id).join(tree, Session.parent_id == tree.c.id))
    return await session.scalar(
        select(Entry)
        .where(
            Entry.session_id.in_(select(tree.c.id)),
            Entry.role.in_(("tool_call", MEMORY_CALL)),
            Entry.occurred_at.between(near - _NEAR, near + _NEAR),
            Entry.payload["call_id"].astext == call_id,
        )
        .order_by(Entry.version.desc())
        .limit(1)
    )


async def superseded_by(session: AsyncSession, entry_id: uuid.UUID) -> uuid.UUID | None:
    """Return the entry that replaced this one, or None."""
    return await session.scalar(select(Entry.id).where(Entry.supersedes == entry_id))


async def totals(session: AsyncSession) -> list[Total]:
    """Return what each client has in the ledger, by name."""
    counted = await session.execute(
        select(Session.source_client, func.count()).group_by(Session.source_client)
    )
    sessions = {client: count for client, count in counted}  # noqa: C416 - a row is no plain pair
    is_own = Entry.kind.in_(OWN_KINDS)
    is_said = and_(~is_own, said())
    rows = await session.execute(
        select(
            Entry.source_client,
            func.count().filter(is_said),
            func.count().filter(~is_own, ~said()),
            func.count().filter(Entry.kind == Kind.SESSION),
            func.min(Entry.occurred_at).filter(is_said),
            func.max(Entry.occurred_at).filter(is_said),
        ).group_by(Entry.source_client)
    )
    nothing: tuple[int, int, int, datetime | None, datetime | None] = (0, 0, 0, None, None)
    held = {
        client: (entries, harness, attributes, first, last)
        for client, entries, harness, attributes, first, last in rows
    }
    entries = {client for client, counts in held.items() if counts[0]}
    return [
        Total(
            source_client=client,
            sessions=sessions.get(client, 0),
            entries=counts[0],
            harness=counts[1],
            attributes=counts[2],
            first_at=counts[3],
            last_at=counts[4],
        )
        for client in sorted({*sessions, *entries})
        for counts in (held.get(client, nothing),)
    ]
