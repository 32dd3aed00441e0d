"""How sessions begin: the name of those that have no title."""

import uuid
from collections.abc import Collection
from typing import Final

from sqlalchemy import Uuid, column, func, select, values
from sqlalchemy.ext.asyncio import AsyncSession

from memory.drafts import Kind
from memory.models import Entry

__all__ = ["opening_lines"]

_LONGEST: Final = 200
"""Characters of a line that stands for a title."""
_READ: Final = 4_000
"""Characters of the message that are looked at for a line that says something."""


async def opening_lines(
    session: AsyncSession, session_ids: Collection[uuid.UUID]
) -> dict[uuid.UUID, str]:
    """Return the first line that a user wrote in each session; none where no user wrote."""
    if not session_ids:
        return {}
    wanted = values(column("id", Uuid), name="wanted").data([(each,) for each in session_ids])
    first = (
        select(func.left(Entry.content, _READ))
        .where(Entry.session_id == wanted.c.id, Entry.kind == Kind.MESSAGE, Entry.role == "user")
        .order_by(Entry.position, Entry.occurred_at, Entry.seq)
        .limit(1)
        .scalar_subquery()
    )
    rows = await session.execute(select(wanted.c.id, first))
    lines = {each: _line(content or "") for each, content in rows}
    return {each: line for each, line in lines.items() if line}


def _line(content: str) -> str:
    found = next((line.strip() for line in content.splitlines() if line.strip()), "")
    return found if len(found) <= _LONGEST else found[: _LONGEST - 1] + "…"
