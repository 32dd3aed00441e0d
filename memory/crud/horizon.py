"""The order of the feed, and how far it can be read without missing what commits late."""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnElement, and_, func, literal, or_, select, text, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from memory.models import Entry, Epoch, TransactionNumber

__all__ = ["START", "Horizon", "Place", "after", "horizon", "settled"]

Place = tuple[int, int, int]  # epoch, xid, seq
START: Final[Place] = (0, 0, 0)


@dataclass(frozen=True, slots=True)
class Horizon:
    """The current epoch, and the oldest transaction that may still commit."""

    epoch: int
    xid: int


async def horizon(session: AsyncSession) -> Horizon:
    """Return the horizon.

    It is a statement of its own on purpose: read inside the page's query, a distributed server
    would evaluate it elsewhere and rows would be missed (measured).
    """
    xid = await session.scalar(text("SELECT pg_snapshot_xmin(pg_current_snapshot())"))
    epoch = await session.scalar(select(func.max(Epoch.epoch)))
    return Horizon(epoch=int(epoch or 1), xid=int(xid or 0))


def settled(limit: Horizon) -> ColumnElement[bool]:
    """Return the condition that an entry lies below the horizon."""
    return or_(Entry.epoch < limit.epoch, and_(Entry.epoch == limit.epoch, Entry.xid < limit.xid))


def after(place: Place) -> ColumnElement[bool]:
    """Return the condition that an entry lies behind a place of the feed."""
    epoch, xid, seq = place
    return tuple_(Entry.epoch, Entry.xid, Entry.seq) > tuple_(
        epoch, literal(xid, TransactionNumber()), seq
    )
