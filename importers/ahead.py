"""Rounds that are read in a thread while earlier ones are stored; not many wait at a time."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Self

from importers.base import BATCH_BYTES
from importers.ready import Read

__all__ = ["AHEAD_BYTES", "AHEAD_ROUNDS", "Ahead"]

AHEAD_BYTES: Final = 2 * BATCH_BYTES
"""While so much waits to be stored nothing more is read; a round is about BATCH_BYTES."""
AHEAD_ROUNDS: Final = 8
"""While so many rounds wait nothing more is read either: one of damaged lines counts for little."""


@dataclass(slots=True)
class Ahead:
    """Calls ``read_round`` in a thread of its own, again and again, until it returns nothing.

    Use it as an async context; when that ends, the thread ends after the round it is reading, and
    what waits is dropped. What ``read_round`` raises comes up there, or in `next`.
    """

    read_round: Callable[[], list[Read]]
    _rounds: asyncio.Queue[list[Read]] = field(default_factory=asyncio.Queue)
    _room: threading.Condition = field(default_factory=threading.Condition)
    _waiting: int = 0  # bytes
    _count: int = 0  # rounds
    _is_over: bool = False
    _reading: "asyncio.Future[None]" = field(init=False)

    async def __aenter__(self) -> Self:
        """Begin to read."""
        loop = asyncio.get_running_loop()
        self._reading = asyncio.ensure_future(asyncio.to_thread(self._read_on, loop))
        return self

    async def __aexit__(self, *_: object) -> None:
        """Let the thread end, and wait for that: it cannot be cut off."""
        with self._room:
            self._is_over = True
            self._room.notify()
        await self._reading

    async def next(self) -> list[Read]:
        """Return the next round, in the order in which they were read; nothing at the end."""
        found = await self._rounds.get()
        with self._room:
            self._waiting -= _size(found)
            self._count -= bool(found)
            self._room.notify()
        if not found:
            await self._reading
        return found

    def _read_on(self, loop: asyncio.AbstractEventLoop) -> None:
        found: list[Read] = []
        try:
            while self._may_read() and (found := self.read_round()):
                with self._room:
                    self._waiting += _size(found)
                    self._count += 1
                loop.call_soon_threadsafe(self._rounds.put_nowait, found)
        finally:
            loop.call_soon_threadsafe(self._rounds.put_nowait, [])

    def _may_read(self) -> bool:
        """Wait until there is room for another round; return whether one is still wanted."""
        with self._room:
            self._room.wait_for(self._is_room)
            return not self._is_over

    def _is_room(self) -> bool:
        is_little = self._waiting < AHEAD_BYTES and self._count < AHEAD_ROUNDS
        return self._is_over or is_little


def _size(found: list[Read]) -> int:
    return sum(read.size for read in found)
