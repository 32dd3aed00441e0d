"""How far the index has come along the change feed."""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import (
    ColumnElement,
    func,
    select,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from memory.crud import horizon
from memory.models import Entry, SearchProgress

__all__ = ["COUNT_LIMIT", "Progress", "after", "behind", "below_horizon", "read", "write"]

COUNT_LIMIT: Final = 100_000
"""Entries behind a place are counted up to here; beyond, the number is a lower bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The last indexed place of the feed, and what the index holds up to there.

    ``total_length`` is in words. ``rules`` is the version of the rules that cut the words.
    """

    epoch: int = 0
    xid: int = 0
    seq: int = 0
    entries: int = 0
    total_length: int = 0
    rules: int

    @property
    def average_length(self) -> float:
        """Words of an average entry; 0 when none is indexed."""
        return self.total_length / self.entries if self.entries else 0.0


_READ: Final = select(*(getattr(SearchProgress, name) for name in Progress.__slots__))


async def read(session: AsyncSession) -> Progress | None:
    """Return the index's place, or None when nothing was ever indexed."""
    row = (await session.execute(_READ)).one_or_none()
    return Progress(**row._asdict()) if row is not None else None


async def write(session: AsyncSession, progress: Progress) -> None:
    """Remember the index's place."""
    values = {
        "epoch": progress.epoch,
        "xid": progress.xid,
        "seq": progress.seq,
        "entries": progress.entries,
        "total_length": progress.total_length,
        "rules": progress.rules,
    }
    statement = insert(SearchProgress).values(one=True, **values)
    await session.execute(
        statement.on_conflict_do_update(index_elements=[SearchProgress.one], set_=values)
    )


def after(progress: Progress) -> ColumnElement[bool]:
    """Return the condition that an entry lies behind the index's place."""
    return horizon.after((progress.epoch, progress.xid, progress.seq))


async def below_horizon(session: AsyncSession) -> ColumnElement[bool]:
    """Return the condition that no older entry can still appear before an entry."""
    return horizon.settled(await horizon.horizon(session))


async def behind(session: AsyncSession, *conditions: ColumnElement[bool]) -> int:
    """Count the entries of some conditions, at most COUNT_LIMIT."""
    some = select(Entry.seq).where(*conditions).limit(COUNT_LIMIT)
    return int(await session.scalar(select(func.count()).select_from(some.subquery())) or 0)
