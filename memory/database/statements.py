"""Statements run by the driver itself, for the few that are run most.

SQLAlchemy costs a single append several times what its statements take.
"""

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from typing import Any, Final

import msgspec
from asyncpg import InterfaceError, PostgresError
from sqlalchemy.dialects.postgresql.asyncpg import AsyncAdapt_asyncpg_dbapi
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

__all__ = ["copy_rows", "rows_of", "run_many", "to_json"]

_DRIVER: Final = "driver"
_ERRORS: Final = (PostgresError, InterfaceError, AsyncAdapt_asyncpg_dbapi.Error)


async def rows_of(
    session: AsyncSession, statement: str, *values: Any, begin: bool = True
) -> Sequence[Any]:
    """Run a statement with ``$1``, ``$2`` … in the session's transaction and return its rows.

    A row is a tuple that also has its columns by name, as ``row["id"]``. Values are what the
    driver takes: a JSON value is its text (see `to_json`). A statement of at most 15 kB stays
    prepared. Errors are those of SQLAlchemy.

    Without ``begin`` a reading statement begins no transaction, which saves two of three round
    trips where it is the only one; each statement sees what is committed when it starts, in a
    transaction or not.
    """
    driver = await _driver_of(session, begin=begin)
    rows: Sequence[Any] = await _guarded(session, driver, driver.fetch(statement, *values))
    return rows


async def run_many(session: AsyncSession, statement: str, many: Iterable[Sequence[Any]]) -> None:
    """Run a statement with each of the values in turn.

    None waits for the one before it: while the server works, the next are taken and sent.
    """
    driver = await _driver_of(session)
    await _guarded(session, driver, driver.executemany(statement, many))


async def copy_rows(
    session: AsyncSession, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Insert rows by COPY, in the session's transaction: many at little cost each."""
    driver = await _driver_of(session)
    copying = driver.copy_records_to_table(table, columns=columns, records=rows)
    await _guarded(session, driver, copying)


def to_json(value: Any) -> str:
    """Return a JSON value as the text that the database takes."""
    return msgspec.json.encode(value).decode()


async def _driver_of(session: AsyncSession, *, begin: bool = True) -> Any:
    """Return the driver's connection, with the session's transaction begun on it if need be."""
    if _DRIVER not in session.info:
        connection = await session.connection()
        session.info[_DRIVER] = connection.sync_connection and connection.sync_connection.connection
    pooled: Any = session.info[_DRIVER]
    driver = pooled.driver_connection
    if begin and not driver.is_in_transaction():
        # SQLAlchemy begins with its own first statement only, and ends what it began itself.
        begun = pooled.dbapi_connection._start_transaction()  # noqa: SLF001 - there is no public way; a test watches
        await _guarded(session, driver, begun)
    return driver


async def _guarded(session: AsyncSession, driver: Any, work: Awaitable[Any]) -> Any:
    """Wait for the driver, and treat an error and the connection after it as SQLAlchemy does."""
    try:
        return await work
    except _ERRORS as error:
        died = bool(driver.is_closed())
        if died:
            await (await session.connection()).invalidate(error)
        raise DBAPIError(None, None, error, connection_invalidated=died) from error
    except asyncio.CancelledError as error:
        # Half a conversation: nobody else may go on with it.
        await (await session.connection()).invalidate(error)
        raise
