"""One process's connections to the ledger."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import msgspec
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import (
    AsyncEngine,
    AsyncSession,
    async_sessionmaker,
    create_async_engine,
)

from memory.database.address import application_address, search_path
from memory.database.sqlstate import is_transient, sqlstate_of, translated
from memory.database.statements import to_json
from memory.errors import Unavailable
from memory.models import REVISION
from memory.settings import Settings

__all__ = ["Database", "Transaction"]

Transaction = AsyncSession
"""What `Database.transact` gives its work: an open transaction, for functions to pass on."""

T = TypeVar("T")

_TRIES: Final = 4
_CONNECT_SECONDS: Final = 10
_LOCK_SECONDS: Final = 20
_STATEMENT_SECONDS: Final = 120
"""A stopped writer, or a query too large, ends in an error and not in a caller that waits for ever."""

_NO_TABLE: Final = frozenset({"42P01", "3F000"})


class Database:
    """The ledger's database as one process sees it; connects at first use."""

    def __init__(self, settings: Settings, *, ensure_schema: bool = True) -> None:
        """Remember the settings; nothing is opened yet."""
        self.settings = settings
        self._ensure_schema = ensure_schema
        self._sessions: async_sessionmaker[AsyncSession] | None = None
        self._engine: AsyncEngine | None = None
        self._opening = asyncio.Lock()
        self._running = 0
        self._last_used = time.monotonic()

    async def transact(self, work: Callable[[AsyncSession], Awaitable[T]]) -> T:
        """Run work in one transaction and return its result; commits, or rolls back on an error.

        Work is run again when other writers were in the way, so it must have no other effect.
        Raises the errors of `memory.errors` alone.
        """
        try:
            return await self._transact(work)
        except Unavailable as error:
            if error.code != Unavailable.default_code:
                raise
            await self.close()  # the server may come back elsewhere, or have to be started
            if self.settings.database_url or not isinstance(error.__cause__, OSError):
                raise
        return await self._transact(work)  # nothing had begun: there was no connection

    async def _transact(self, work: Callable[[AsyncSession], Awaitable[T]]) -> T:
        with translated(self.settings):
            sessions = await self._open()
            self._running += 1
            try:
                return await _persistently(sessions, work)
            finally:
                self._running -= 1
                self._last_used = time.monotonic()

    async def close(self) -> None:
        """Close every connection; the next use opens new ones."""
        engine, self._engine, self._sessions = self._engine, None, None
        if engine is not None:
            await engine.dispose()

    async def close_idle(self, *, seconds: float) -> bool:
        """Close the connections when none was used for so long; return whether that was so."""
        idle = not self._running and time.monotonic() - self._last_used >= seconds
        if idle and self._engine is not None:
            await self._engine.dispose()
        return idle

    async def _open(self) -> async_sessionmaker[AsyncSession]:
        if self._sessions is not None:
            return self._sessions
        async with self._opening:
            if self._sessions is None:
                engine = await self._create_engine()
                try:
                    await self._prepare_schema(engine)
                except BaseException:
                    await engine.dispose()
                    raise
                self._engine = engine
                self._sessions = async_sessionmaker(self._engine, expire_on_commit=False)
        return self._sessions

    async def _prepare_schema(self, engine: AsyncEngine) -> None:
        if not self._ensure_schema or await _is_current(engine, self.settings.ledger):
            return
        # Alembic costs 0.4 s to import and is needed once in a ledger's life.
        from memory.database.schema import init_schema  # noqa: PLC0415

        await init_schema(self.settings)

    async def _create_engine(self) -> AsyncEngine:
        address = await asyncio.to_thread(application_address, self.settings)
        url, arguments = address.asyncpg
        return create_async_engine(
            url,
            pool_size=self.settings.pool_size,
            max_overflow=self.settings.max_overflow,
            json_serializer=to_json,
            json_deserializer=msgspec.json.decode,
            connect_args={
                **arguments,
                "timeout": _CONNECT_SECONDS,
                "server_settings": {
                    "search_path": search_path(self.settings),
                    "application_name": address.application_name,
                    "jit": "off",  # compiling costs more than our short queries take
                    "lock_timeout": f"{_LOCK_SECONDS}s",
                    "statement_timeout": f"{_STATEMENT_SECONDS}s",
                },
            },
        )

    async def ping(self) -> None:
        """Make one round trip. Raises Unavailable when the database does not answer."""
        await self.transact(lambda session: session.execute(text("SELECT 1")))


async def _persistently(
    sessions: async_sessionmaker[AsyncSession], work: Callable[[AsyncSession], Awaitable[T]]
) -> T:
    """Run work in a transaction, and again while others are in its way.

    A connection that died while it was idle shows at its first statement; asking each one before
    its use would cost every call a round trip. A commit that broke is not tried again: it may have
    happened.
    """
    for attempt in range(1, _TRIES + 1):
        is_done = False
        try:
            session = sessions()
            try:
                result = await work(session)
                is_done = True
                await session.commit()
            except BaseException:
                # To its end even when the caller is cancelled: it gives the connection back.
                await asyncio.shield(asyncio.create_task(session.close()))
                raise
            await session.close()
        except DBAPIError as error:
            died = error.connection_invalidated and not is_done
            if attempt == _TRIES or not (died or is_transient(error)):
                raise
            await asyncio.sleep(0.02 * attempt)
        else:
            return result
    raise AssertionError  # the loop returns or raises


async def _is_current(engine: AsyncEngine, ledger: str) -> bool:
    """Tell whether the schema is this program's and the ledger still lives on the same server."""
    newest = f'(SELECT system_identifier FROM "{ledger}".epochs ORDER BY epoch DESC LIMIT 1)'  # noqa: S608 - a checked schema name
    here = "(SELECT system_identifier FROM pg_control_system())"
    statement = text(
        f'SELECT version_num = :revision AND {newest} = {here} FROM "{ledger}".alembic_version'  # noqa: S608 - as above
    )
    try:
        async with engine.connect() as connection:
            return bool(await connection.scalar(statement, {"revision": REVISION}))
    except DBAPIError as error:
        if sqlstate_of(error) in _NO_TABLE:
            return False
        raise
