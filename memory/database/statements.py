"""Statements run by the driver itself, for the few that are run most.

SQLAlchemy costs a single append several times what its statements take.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from asyncpg import InterfaceError, PostgresError
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

__all__ = ["rows_of", "to_json"]

_DRIVER: Final = "driver"


async def rows_of(session: AsyncSession, statement: str, *values: Any) -> Sequence[Any]:
    """Run a statement with ``$1``, ``$2`` … in the session's transaction and return its rows.

    A row is a tuple that also has its columns by name, as ``row["id"]``. Values are what the
    driver takes: a JSON value is its text (see `to_json`). A statement of at most 15 kB stays
    prepared. Errors are those of SQLAlchemy.
    """
    driver = session.info.get(_DRIVER) or await _driver_of(session)
    try:
        rows: Sequence[Any] = await driver.fetch(statement, *values)
    except (PostgresError, InterfaceError) as error:
        raise await _wrapped(session, driver, error) from error
    return rows


def to_json(value: Any) -> str:
    """Return a JSON value as the text that the database takes."""
    return msgspec.json.encode(value).decode()


async def _driver_of(session: AsyncSession) -> Any:
    """Return the driver's connection, with the session's transaction begun on it."""
    pooled = await (await session.connection()).get_raw_connection()
    driver: Any = pooled.driver_connection
    adapter: Any = pooled.dbapi_connection
    if not driver.is_in_transaction():
        # SQLAlchemy begins with its own first statement only, and ends what it began itself.
        try:
            await adapter._start_transaction()  # noqa: SLF001 - there is no public way; a test watches
        except adapter.dbapi.Error as error:
            raise await _wrapped(session, driver, error) from error
    session.info[_DRIVER] = driver
    return driver


async def _wrapped(session: AsyncSession, driver: Any, error: Exception) -> DBAPIError:
    """Return an error as SQLAlchemy would raise it, and give up a connection that died."""
    died = bool(driver.is_closed())
    if died:
        await (await session.connection()).invalidate(error)
    return DBAPIError(None, None, error, connection_invalidated=died)
