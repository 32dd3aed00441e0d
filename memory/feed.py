"""The change feed: what was appended since a reader last looked, without gaps.

A transaction that took its number early may commit late, so paging by a serial number or by time
loses rows (measured: about 30 % under 12 writers). The feed's order is (epoch, xid, seq), and a
reader sees only transactions older than every one that still runs: the horizon.
"""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Select, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from memory.crud import cursor as cursors
from memory.crud.horizon import START, Horizon, Place, after, horizon, settled
from memory.crud.page import checked_limit
from memory.drafts import HARNESS_ROLES, OWN_KINDS, client_names
from memory.models import Entry

__all__ = ["FeedPage", "changes"]

_CURSOR: Final = "feed"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedPage:
    """Entries in feed order, the cursor to go on from, and how many entries wait.

    ``next_cursor`` is always there: passing it later gives what came after. ``has_more`` says
    whether another page can be read at once. ``waiting`` counts committed entries that an older,
    still running transaction holds back; they come later, none is lost.
    """

    entries: list[Entry]
    next_cursor: str
    has_more: bool
    waiting: int


async def changes(
    session: AsyncSession,
    *,
    client: str | None = None,
    without_client: str | None = None,
    since: str | datetime | None = None,
    project_id: uuid.UUID | None = None,
    include_system: bool = True,
    limit: int = 50,
) -> FeedPage:
    """Return entries of every kind that were appended after a cursor or a time of the ledger.

    ``client`` keeps that client's entries alone, ``without_client`` leaves that client's out.
    ``include_system=False`` leaves out what neither a person nor a model said: harness text,
    attributes of sessions, bindings of directories.
    Raises InvalidInput for a bad cursor.
    """
    checked_limit(limit)
    edge = await horizon(session)
    wanted = _wanted(client, without_client, project_id, include_system=include_system)
    place = START
    if isinstance(since, datetime):
        wanted = wanted.where(Entry.recorded_at > since)
    elif since is not None:
        place = _place(since)
        wanted = wanted.where(after(place))
    page = wanted.where(settled(edge)).order_by(Entry.epoch, Entry.xid, Entry.seq).limit(limit + 1)
    entries = list(await session.scalars(page))
    has_more = len(entries) > limit
    entries = entries[:limit]
    if has_more:
        last = entries[-1]
        place = (last.epoch, last.xid, last.seq)
    else:  # everything below the horizon was seen, so the next look can begin there
        place = max(place, (edge.epoch, edge.xid, -1))
    return FeedPage(
        entries=entries,
        next_cursor=cursors.encode(_CURSOR, *place),
        has_more=has_more,
        waiting=await _waiting(session, wanted, edge),
    )


def _wanted(
    client: str | None,
    without_client: str | None,
    project_id: uuid.UUID | None,
    *,
    include_system: bool,
) -> Select[Entry]:
    """Return the entries that a reader asks about, whatever their place in the feed."""
    wanted = select(Entry)
    if client is not None:
        wanted = wanted.where(Entry.source_client.in_(client_names(client)))
    if without_client is not None:
        wanted = wanted.where(Entry.source_client.not_in(client_names(without_client)))
    if project_id is not None:
        wanted = wanted.where(Entry.project_id == project_id)
    if not include_system:
        wanted = wanted.where(
            Entry.kind.not_in(OWN_KINDS),
            or_(Entry.role.is_(None), Entry.role.not_in(HARNESS_ROLES)),
        )
    return wanted


def _place(cursor: str) -> Place:
    epoch, xid, seq = cursors.decode(_CURSOR, cursor)
    return int(epoch), int(xid), int(seq)


async def _waiting(session: AsyncSession, wanted: Select[Entry], edge: Horizon) -> int:
    """Count the committed entries at or above the horizon."""
    above = wanted.where(Entry.epoch == edge.epoch, Entry.xid >= edge.xid)
    return int(await session.scalar(select(func.count()).select_from(above.subquery())) or 0)
