"""One command's use of the ledger."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from memory import log
from memory.database import Database, Transaction
from memory.settings import Settings

__all__ = ["configured", "read"]

T = TypeVar("T")


def configured() -> Settings:
    """Return the environment's settings, with logs at the level they name."""
    settings = Settings.from_environment()
    log.configure(settings.log_level)
    return settings


def read(
    work: Callable[[Transaction], Awaitable[T]],
    *,
    settings: Settings | None = None,
    ensure_schema: bool = True,
) -> T:
    """Run work in one transaction, with a database session, and return its result."""
    opened = Database(settings or configured(), ensure_schema=ensure_schema)
    return asyncio.run(_read(opened, work))


async def _read(database: Database, work: Callable[[Transaction], Awaitable[T]]) -> T:
    try:
        return await database.transact(work)
    finally:
        await database.close()
