"""One watching importer per store, machine and ledger; a second one stands by."""

import asyncio
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from memory import log
from memory.crud.lock import try_lock
from memory.database import Database
from memory.errors import LedgerError
from memory.settings import Settings

__all__ = ["RETRY_SECONDS", "Standby", "lock_name", "wait"]

_log = log.get(__name__)

RETRY_SECONDS: Final = 5.0
"""How often a lock that another process holds is asked for; each time the connection is tried."""


def lock_name(settings: Settings, provider: str, *, root: Path | None = None) -> str:
    """Return the name that the importer of a client on this machine holds in the database.

    ``root`` is given for a store that is not where the client keeps its own.
    """
    name = f"importer\n{settings.ledger}\n{settings.machine}\n{provider}"
    return name if root is None else f"{name}\n{root.resolve()}"


@dataclass(slots=True, kw_only=True)
class Standby:
    """The locks of one process; they go with its connection, even when it is killed.

    ``root`` is the one store that is watched, None for those where the clients keep them.
    ``held`` are the providers that are read here, ``taken`` those that another process reads.
    ``news`` is set whenever one comes into ``held``.
    """

    settings: Settings
    providers: tuple[str, ...]
    stop: asyncio.Event
    news: asyncio.Event
    root: Path | None = None
    retry_seconds: float = RETRY_SECONDS
    held: set[str] = field(default_factory=set)
    taken: set[str] = field(default_factory=set)

    async def run(self) -> None:
        """Ask for the locks until told to stop, and hold those that were given.

        The locks live in one open transaction, which writes nothing and so holds up no feed. It
        has a connection pool of its own, since the pass may need every connection of the other.
        """
        alone = replace(self.settings, pool_size=1, max_overflow=0)
        database = Database(alone)
        try:
            while not self.stop.is_set():
                try:
                    await database.transact(self._hold)
                except LedgerError:
                    await self._pause()  # the pass meets the same error, and says so
                except Exception as error:  # noqa: BLE001 - without the locks nothing would be read ever after
                    log.unexpected(_log, "asking for the importers' locks", error)
                    await self._pause()
        finally:
            self.held.clear()
            await database.close()

    async def _pause(self) -> None:
        self.held.clear()
        await wait(self.stop, seconds=self.retry_seconds)

    async def _hold(self, session: Any) -> None:
        self.held.clear()
        while not self.stop.is_set():
            for provider in self.providers:
                # Asking again for what is held tells whether the connection is still there.
                name = lock_name(self.settings, provider, root=self.root)
                if not await try_lock(session, name):
                    self.taken.add(provider)
                elif provider not in self.held:
                    self.taken.discard(provider)
                    self.held.add(provider)
                    self.news.set()
            await wait(self.stop, seconds=self.retry_seconds)


async def wait(*events: asyncio.Event, seconds: float) -> None:
    """Wait until one of the events is set, at most so long."""
    waiting = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waiting:
            each.cancel()
