"""Names that one process at a time may hold."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

__all__ = ["try_lock"]


async def try_lock(session: AsyncSession, name: str) -> bool:
    """Hold a name until this transaction ends; return false when another transaction holds it."""
    statement = text("SELECT pg_try_advisory_xact_lock(hashtextextended(:name, 0))")
    return bool(await session.scalar(statement, {"name": name}))
