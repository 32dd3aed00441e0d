"""Heads: the projection of each key's newest entry, and building it anew."""

import uuid
from collections.abc import Iterable

from sqlalchemy import ColumnElement, and_, delete, func, or_, select, text, tuple_
from sqlalchemy.dialects.postgresql import distinct_on, insert
from sqlalchemy.ext.asyncio import AsyncSession

from memory.models import Entry, Head

__all__ = ["HeadKey", "of_keys", "rebuild_heads"]

HeadKey = tuple[uuid.UUID | None, str, str]  # project, kind, key


def of_keys(keys: Iterable[HeadKey]) -> ColumnElement[bool]:
    """Return the condition that a head is one of these, in a form that its index answers.

    ``IS NOT DISTINCT FROM`` would say it in one go, but no index is used for that.
    """
    wanted = set(keys)
    bound = [key for key in wanted if key[0] is not None]
    free = [(kind, key) for project, kind, key in wanted if project is None]
    return or_(
        tuple_(Head.project_id, Head.kind, Head.key).in_(bound),
        and_(Head.project_id.is_(None), tuple_(Head.kind, Head.key).in_(free)),
    )


async def rebuild_heads(session: AsyncSession) -> int:
    """Build the heads anew from the entries and return how many there are.

    Readers see the old ones until it is done; writers of keyed entries wait for that long.
    """
    await session.execute(text("LOCK TABLE heads IN SHARE ROW EXCLUSIVE MODE"))
    await session.execute(delete(Head))
    newest = (
        select(Entry.id, Entry.project_id, Entry.kind, Entry.key, Entry.version)
        .where(Entry.key.is_not(None))
        .order_by(Entry.project_id, Entry.kind, Entry.key, Entry.version.desc())
        .ext(distinct_on(Entry.project_id, Entry.kind, Entry.key))
    )
    columns = ["entry_id", "project_id", "kind", "key", "version"]
    await session.execute(insert(Head).from_select(columns, newest))
    return int(await session.scalar(select(func.count()).select_from(Head)) or 0)
