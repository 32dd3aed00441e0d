"""Cutting entries into words on every core, when there are many of them.

Cutting takes most of the time of indexing, and a thread would not help: it is Python's own work.
"""

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

from memory.search.document import document
from memory.search.segments import Growing, Piece
from memory.search.source import Source
from memory.worker import Worker, answering, cores

__all__ = ["MANY", "MOST", "Cut", "Cutters", "Numbered", "answer"]

MANY: Final = 4_000
"""Entries for which it pays to start processes; each takes half a second of work."""
MOST: Final = 4
"""Processes at most: one writer cannot keep up with more."""


class Numbered(NamedTuple):
    """An entry's number in the index, and what a search reads of it first."""

    ordinal: int
    entry_id: uuid.UUID
    occurred_at: datetime
    said: int
    length: int
    labels: str


class Cut(NamedTuple):
    """Some entries as they are to be stored."""

    rows: Sequence[Numbered]
    piece: Piece


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

    async def cut(self, first: int, sources: Sequence[Source]) -> Cut:
        """Cut some entries, numbered from ``first`` on, in a thread while there is no process.

        They lie in one block. Raises WorkerDied.
        """
        if not self._workers:
            return await asyncio.to_thread(answer, (first, sources))
        worker = self._workers[self._asked % len(self._workers)]
        self._asked += 1
        cut: Cut = await asyncio.to_thread(worker.ask, (first, sources))
        return cut

    def close(self) -> None:
        """End the processes."""
        for each in self._workers:
            each.close()
        self._workers = []


def answer(question: tuple[int, Sequence[Source]]) -> Cut:
    """Cut some entries, given the number of the first."""
    first, sources = question
    growing = Growing(first)
    rows: list[Numbered] = []
    for ordinal, source in enumerate(sources, start=first):
        made = document(source)
        growing.add(source, made.packed, length=made.length, weight=made.weight)
        known = (source.id, source.occurred_at, source.said)
        rows.append(Numbered(ordinal, *known, made.length, made.carried))
    return Cut(rows, growing.piece())
