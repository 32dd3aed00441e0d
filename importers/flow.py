"""Reading one client's sources and storing what they gave: both at once, in one order.

While a batch is being stored, the next ones are read and their credentials are taken out; so the
database works while the importer does. A batch is stored after the one that was read before it, in
a transaction with its checkpoints, and none is once an earlier one of its source was not: so no
checkpoint ever runs ahead of its entries.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from importers.ahead import Ahead
from importers.base import BATCH_BYTES, Importer, Source
from importers.keep import Kept, keep
from importers.reader import Reader, ReaderDied
from importers.ready import Read, Ready, Unread
from importers.report import MAX_DETAILS, ClientReport
from importers.turns import Turns
from memory.database import Database
from memory.errors import Conflict, Credential, InvalidInput, NotFound

__all__ = ["Flow", "Progress"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far the pass has come with one client."""

    provider: str
    files_done: int
    files: int
    records: int


@dataclass(slots=True, kw_only=True)
class Flow:
    """One client's part of a pass.

    ``states`` are the checkpoints as they are stored; they are brought up to date. ``client`` is
    told what is done, and ``progress`` how far this has come. ``stop`` ends it between two transactions;
    so does ``interrupt``, which is asked after each one, and ``is_interrupted`` says so.
    """

    database: Database
    importer: Importer
    sources: Sequence[Source]
    states: dict[str, Mapping[str, Any]]
    client: ClientReport
    stop: asyncio.Event
    reader: Reader
    progress: Callable[[Progress], None] | None = None
    interrupt: Callable[[], bool] | None = None
    is_interrupted: bool = False
    _turns: Turns = field(init=False)
    _ahead: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    _failed: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Begin with all sources waiting."""
        self._turns = Turns(self.sources)

    async def run(self) -> None:
        """Read everything that is new, and store it. Raises LedgerError."""
        async with Ahead(self._read_some) as ahead:
            # What is in hand is stored first: a pass that is always interrupted comes forward too.
            while reads := await ahead.next():
                wanted = [each for each in reads if each.ready.source.key not in self._failed]
                for each in wanted:
                    self._count_read(each)
                await self._keep_all(wanted)
                self._tell()
                if self._is_to_end():
                    break

    def _count_read(self, read: Read) -> None:
        self.client.count_read(read.batch)
        if any(read.strange):
            self.client.warn(str(read.ready.source.path), *read.strange)

    def _is_to_end(self) -> bool:
        """Tell whether what was read ahead is to be left to the next pass."""
        if self.interrupt is not None and self.interrupt():
            self.is_interrupted = True
        return self.is_interrupted or self.stop.is_set()

    def _tell(self) -> None:
        if self.progress is None:
            return
        now = Progress(
            provider=self.importer.provider,
            files_done=len(self.sources) - self._turns.left,
            files=len(self.sources),
            records=self.client.records,
        )
        self.progress(now)

    def _read_some(self) -> list[Read]:
        """Read batches of different sources, as many as one transaction takes; none at the end.

        A source is read on from where it was read to, whether that is stored already or not.
        """
        reads: list[Read] = []
        room = BATCH_BYTES
        if self._is_to_end():
            return []
        while room > 0 and not self.stop.is_set() and (source := self._turns.next()):
            read = None if source.key in self._failed else self._read(source)
            if read is None:
                self._turns.done(source)
                continue
            reads.append(read)
            self._ahead[source.key] = read.batch.state
            room -= read.size
        for read in reads:
            if read.batch.finished:
                self._turns.done(read.ready.source)
            else:
                self._turns.again(read.ready.source)
        return reads

    async def _keep_all(self, reads: Sequence[Read]) -> None:
        """Store batches together, or one by one when that fails; remember whose failed."""
        if not reads:
            return
        try:
            kept = await keep(self.database, [read.ready for read in reads])
        except (Conflict, Credential, InvalidInput, NotFound) as error:
            if len(reads) > 1:
                for read in reads:
                    await self._keep_all([read])
                return
            self._failed.add(reads[0].ready.source.key)
            self.client.fail(str(reads[0].ready.source.path), error)
            return
        for read, each in zip(reads, kept, strict=True):
            _count_kept(self.client, read.ready, each)
            source = read.ready.source
            self.states[source.key] = read.batch.state
            self.client.tell(str(source.path), *read.batch.events)

    def _read(self, source: Source) -> Read | None:
        """Read a batch; None when it holds nothing that is to be stored, or cannot be read."""
        path = str(source.path)
        stored = self._ahead.get(source.key) or self.states.get(source.key)
        try:
            found = self.reader.read(self.importer, source, stored)
        except ReaderDied as error:
            self.client.fail(path, error)
            return None
        if isinstance(found, Unread):
            self.client.fail_because(path, found.reason)
            return None
        return found


def _count_kept(client: ClientReport, ready: Ready, kept: Kept) -> None:
    client.sessions += kept.sessions
    extra = kept.edges + kept.notes
    client.drafts += len(kept.answers) + extra
    client.appended += extra
    client.refused += len(kept.refused)
    room = MAX_DETAILS - len(client.refused_records)
    client.refused_records += kept.refused[:room]
    for number, (draft, answer) in enumerate(zip(ready.drafts, kept.answers, strict=True)):
        if answer is None:
            continue
        if not answer.is_new:
            client.known += 1
            continue
        client.appended += 1
        client.redacted.update(ready.redacted.get(number, ()))
        client.changed += answer.supersedes is not None and draft.key is None
