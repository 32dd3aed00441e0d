"""What stands around an entry in its session."""

from typing import Any

from sqlalchemy import ColumnElement, select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from memory.crud.page import checked_limit
from memory.drafts import OWN_KINDS
from memory.models import Entry

__all__ = ["surroundings"]


async def surroundings(session: AsyncSession, entry: Entry, *, count: int) -> list[Entry]:
    """Return an entry amid at most ``count`` others on each side, in the session's order.

    An entry with a position stands among those that have one, any other among the rest; one of no
    session stands alone. Raises InvalidInput for a count as `read_session` does for a limit.
    """
    checked_limit(count)
    if entry.session_id is None:
        return [entry]
    columns: list[Any] = [Entry.occurred_at, Entry.seq]
    values: list[Any] = [entry.occurred_at, entry.seq]
    same: ColumnElement[bool] = Entry.position.is_(None)
    if entry.position is not None:
        columns, values = [Entry.position, *columns], [entry.position, *values]
        same = Entry.position.is_not(None)
    statement = (
        select(Entry)
        .where(Entry.session_id == entry.session_id, Entry.kind.not_in(OWN_KINDS), same)
        .limit(count)
    )
    place, own = tuple_(*columns), tuple_(*values)
    before = statement.where(place < own).order_by(*(each.desc() for each in columns))
    after = statement.where(place > own).order_by(*columns)
    return [
        *reversed(list(await session.scalars(before))),
        entry,
        *await session.scalars(after),
    ]
