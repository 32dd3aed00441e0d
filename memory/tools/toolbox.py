"""The tools at work: a call comes in as JSON, an answer goes out as text, nothing is raised."""

import asyncio
import difflib
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar

from memory import log, search
from memory.database import Database
from memory.embeddings import load
from memory.errors import InvalidInput, LedgerError, Unavailable
from memory.settings import Settings
from memory.tools.answers import encode, failure, success
from memory.tools.arguments import parse
from memory.tools.caller import Caller
from memory.tools.indexing import INDEX_BACKLOG
from memory.tools.registry import TOOLS
from memory.tools.tool import Answer, Call, Tool

__all__ = ["Toolbox"]

POOL_SIZE: Final = 1  # thirty windows have to stay well under what a server allows
IDLE_SECONDS: Final = 60.0  # after which no connection is kept
HOUSE_SECONDS: Final = 10.0  # between two looks at that
CALL_SECONDS: Final = 60.0  # for a call's work in the database; a window must not hang for ever
INDEX_BATCH: Final = 100  # cutting words holds up the calls meanwhile
INDEX_DELAY_SECONDS: Final = 0.5  # so that a burst of writes is indexed at once

T = TypeVar("T")

_log = log.get(__name__)
_BY_NAME: Final = {tool.name: tool for tool in TOOLS}


class Toolbox:
    """The tools of one process, and its connection to the ledger.

    Built with an error in place of settings, every call answers with that error.
    """

    def __init__(self, settings: Settings | LedgerError) -> None:
        """Open nothing; the first call connects."""
        self._broken = settings if isinstance(settings, LedgerError) else None
        self._settings = settings if isinstance(settings, Settings) else None
        if self._settings is not None and self._settings.pool_is_default:
            self._settings = replace(self._settings, pool_size=POOL_SIZE, max_overflow=0)
        self._database = Database(self._settings) if self._settings else None
        # Calls wait here and not in the pool, which gives up after a while. Writes go one after
        # another, so that what a client sent first is recorded first.
        self._slots = asyncio.Semaphore(_connections(self._settings))
        self._writing = asyncio.Lock()
        self._written = asyncio.Event()
        self._given_up: set[asyncio.Task[Any]] = set()

    async def call(self, name: str, arguments: object, caller: Caller) -> str:
        """Carry out one call and return its answer as compact JSON text."""
        try:
            answer = await self._answer(name, arguments, caller)
        except LedgerError as error:
            answer = failure(error)
        except Exception as error:  # noqa: BLE001 - the edge: logged, answered, and on it goes
            log.unexpected(_log, name if name in _BY_NAME else "a tool", error)
            answer = failure(LedgerError())
        return encode(answer)

    async def _answer(self, name: str, arguments: object, caller: Caller) -> Answer:
        tool = _find(name)
        parsed = parse(tool.name, tool.parameters, arguments)
        try:
            if self._settings is None or self._database is None:
                raise self._broken or LedgerError()
            call = Call(arguments=parsed, caller=caller, settings=self._settings, tool=tool.name)
            if tool.writes:
                async with self._writing:
                    answer = await self._run(tool, call)
                self._written.set()
            else:
                answer = await self._run(tool, call)
        except LedgerError as error:
            if tool.without_database is None:
                raise
            answer = tool.without_database(caller, error)
        return success(answer, parsed.notes)

    async def _run(self, tool: Tool, call: Call) -> Answer:
        async with self._slots:
            return await self._bounded(
                lambda database: database.transact(lambda session: tool.run(session, call)),
                writes=tool.writes,
            )

    async def _bounded(
        self, work: Callable[[Database], Coroutine[Any, Any, T]], *, writes: bool = False
    ) -> T:
        """Work with the database for at most CALL_SECONDS.

        Work that is given up is cancelled and left behind, because a rollback on a connection
        that answers no more may take for ever too; what follows gets connections of its own.
        Raises Unavailable (``too_slow``).
        """
        if self._database is None:
            raise self._broken or LedgerError()
        database = self._database
        task = asyncio.create_task(work(database))
        try:
            done, _ = await asyncio.wait({task}, timeout=CALL_SECONDS)
        finally:  # the client may have cancelled the call
            if not task.done():
                task.cancel()
                self._leave(task)
        if done:
            return task.result()
        if self._database is database:
            self._database = Database(database.settings)
            self._leave(asyncio.create_task(database.close()))
        raise Unavailable(_too_slow(writes=writes), code="too_slow")

    def _leave(self, task: asyncio.Task[Any]) -> None:
        """Let a task end by itself, whatever comes of it."""
        self._given_up.add(task)
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._given_up.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _log.info("work that was given up ended with %s", type(task.exception()).__name__)

    async def keep_house(self) -> None:
        """Index what was written and close idle connections, until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._index_writes())
            group.create_task(self._close_idle())

    async def close(self) -> None:
        """Close every connection."""
        if self._database is not None:
            await self._database.close()

    async def _index_writes(self) -> None:
        """Index after writes; a search finds what is not indexed yet as well."""
        while self._database is not None:
            await self._written.wait()
            await asyncio.sleep(INDEX_DELAY_SECONDS)
            self._written.clear()
            if await self._round("indexing", self._index):
                self._written.set()

    async def _index(self) -> bool:
        """Index one small batch; return whether to go on, after a pause.

        More than INDEX_BACKLOG is left to the importers: `status` says so.
        """
        batch = partial(search.index, limit=INDEX_BATCH)
        async with self._slots:
            indexed = await self._bounded(lambda database: database.transact(batch))
        if self._settings is not None and self._settings.use_embeddings:
            await self._embed(self._settings)
        return bool(indexed.count and 0 < indexed.remaining <= INDEX_BACKLOG)

    async def _embed(self, settings: Settings) -> None:
        """Make the vectors of one small batch."""
        embedder = await asyncio.to_thread(load, settings)
        if embedder is not None:
            batch = partial(search.embed, embedder=embedder)
            async with self._slots:
                await self._bounded(lambda database: database.transact(batch))

    async def _close_idle(self) -> None:
        while self._database is not None:
            await asyncio.sleep(HOUSE_SECONDS)
            await self._round("closing idle connections", self._close_when_idle)

    async def _close_when_idle(self) -> bool:
        return await self._bounded(lambda database: database.close_idle(seconds=IDLE_SECONDS))

    async def _round(self, what: str, work: Callable[[], Awaitable[bool]]) -> bool:
        """Do one round of the background's work; an error ends the round and nothing else."""
        try:
            return await work()
        except LedgerError as error:
            _log.warning("%s failed: %s", what, error)
        except Exception as error:  # noqa: BLE001 - the edge of a round
            log.unexpected(_log, what, error)
        return False


def _too_slow(*, writes: bool) -> str:
    said = f"The database did not answer within {CALL_SECONDS:g} seconds, so the call was given up."
    if writes:
        return f"{said} Look whether it was recorded before you call again."
    return f"{said} Try again, or narrow the call; `memory doctor` says more."


def _find(name: str) -> Tool:
    if name in _BY_NAME:
        return _BY_NAME[name]
    near = difflib.get_close_matches(name, _BY_NAME, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise InvalidInput(
        f"There is no such tool.{hint} There are: {', '.join(_BY_NAME)}.", code="unknown_tool"
    )


def _connections(settings: Settings | None) -> int:
    return settings.pool_size + settings.max_overflow if settings else 1
