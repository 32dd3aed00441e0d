"""Heads: the projection of each key's newest entry, and building it anew."""

from sqlalchemy import delete, func, select, text
from sqlalchemy.dialects.postgresql import distinct_on, insert
from sqlalchemy.ext.asyncio import AsyncSession

from memory.models import Entry, Head

__all__ = ["rebuild_heads"]


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
