"""Ids as people type them: by their first digits."""

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Uuid, column, select, values
from sqlalchemy.ext.asyncio import AsyncSession

from memory.errors import InvalidInput, NotFound
from memory.models import Entry, Session

__all__ = ["MIN_DIGITS", "Found", "find_id", "short_ids"]

MIN_DIGITS: Final = 8
"""Digits that the beginning of an id needs at least."""

_DIGITS: Final = 32
_SHOWN: Final = 12  # the millisecond in which a version-7 id was made: fewer name many entries
_EXAMPLES: Final = 3


@dataclass(frozen=True, slots=True)
class Found:
    """What an id names: an entry or a session."""

    id: uuid.UUID
    is_session: bool


async def find_id(session: AsyncSession, text: str) -> Found:
    """Return the one entry or session whose id is, or begins with, this text.

    Raises InvalidInput for a text that is no beginning of an id or begins several (code
    ``ambiguous``), NotFound when nothing has such an id.
    """
    digits = text.strip().replace("-", "").lower()
    if not re.fullmatch(f"[0-9a-f]{{{MIN_DIGITS},{_DIGITS}}}", digits):
        raise InvalidInput(
            f"An id has {_DIGITS} hexadecimal digits, of which the first {MIN_DIGITS} or more will do."
        )
    low, high = uuid.UUID(digits.ljust(_DIGITS, "0")), uuid.UUID(digits.ljust(_DIGITS, "f"))
    found = [
        Found(each, is_session=table is Session)
        for table in (Session, Entry)
        for each in await session.scalars(
            select(table.id).where(table.id.between(low, high)).order_by(table.id).limit(_EXAMPLES)
        )
    ]
    if not found:
        raise NotFound(f"No entry and no session has an id that begins with {text.strip()}.")
    if len(found) > 1:
        some = ", ".join(str(each.id) for each in found[:_EXAMPLES])
        raise InvalidInput(f"Several ids begin like that, such as {some}.", code="ambiguous")
    return found[0]


async def short_ids(session: AsyncSession, ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, str]:
    """Return the shortest beginning of each entry's id that names it alone."""
    if not ids:
        return {}
    wanted = values(column("id", Uuid), name="wanted").data([(each,) for each in ids])
    before = (
        select(Entry.id)
        .where(Entry.id < wanted.c.id)
        .order_by(Entry.id.desc())
        .limit(1)
        .scalar_subquery()
    )
    behind = (
        select(Entry.id).where(Entry.id > wanted.c.id).order_by(Entry.id).limit(1).scalar_subquery()
    )
    rows = await session.execute(select(wanted.c.id, before, behind))
    return {each: _beginning(each, neighbours) for each, *neighbours in rows}


def _beginning(entry_id: uuid.UUID, neighbours: Sequence[uuid.UUID | None]) -> str:
    """Return as many digits as tell this id from its neighbours, with its hyphens."""
    needed = _SHOWN
    for other in neighbours:
        if other is not None:
            same = _DIGITS - len(f"{entry_id.int ^ other.int:x}")
            needed = max(needed, same + 1)
    text = str(entry_id)
    return text[: [i for i, c in enumerate(text) if c != "-"][needed - 1] + 1]
