"""Cutting entries into words on every core, when there are many of them.

Cutting takes most of the time of indexing, and a thread would not help: it is Python's own work.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from memory.search.document import Document, document
from memory.search.source import Source
from memory.worker import Worker, answering, cores

__all__ = ["MANY", "Cutters", "answer"]

MANY: Final = 4_000
"""Entries for which it pays to start processes; each takes half a second of work."""
MOST: Final = 4
"""Processes at most: one writer cannot keep up with more."""


@dataclass(slots=True)
class Cutters:
    """Processes that cut entries into words, started when there is much to do. To be closed."""

    _workers: list[Worker] = field(default_factory=list)
    _asked: int = 0

    @property
    def count(self) -> int:
        """How many entries' chunks it pays to have under way; at least one."""
        return max(1, len(self._workers))

    def prepare(self, remaining: int) -> None:
        """Start the processes if so many entries are worth it and they are not there yet."""
        if remaining >= MANY and not self._workers and cores() > 1:
            self._workers = [Worker(answering(__name__)) for _ in range(min(MOST, cores()))]

    async def cut(self, sources: Sequence[Source]) -> list[Document]:
        """Cut some entries, in a thread while there is no process. Raises WorkerDied."""
        if not self._workers:
            return await asyncio.to_thread(answer, sources)
        worker = self._workers[self._asked % len(self._workers)]
        self._asked += 1
        documents: list[Document] = await asyncio.to_thread(worker.ask, sources)
        return documents

    def close(self) -> None:
        """End the processes."""
        for each in self._workers:
            each.close()
        self._workers = []


def answer(sources: Sequence[Source]) -> list[Document]:
    """Cut some entries into words."""
    return [document(each) for each in sources]
