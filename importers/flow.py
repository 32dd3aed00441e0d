"""Reading one client's sources and storing what they gave: both at once, in one order.

While a batch is being stored, the next one is read and its credentials are taken out; so the
database works while the importer does. A batch is stored after the one that was read before it, in
a transaction with its checkpoints, and none is once an earlier one of its source was not: so no
checkpoint ever runs ahead of its entries.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from importers import alarm, elsewhere
from importers.base import BATCH_BYTES, Batch, Importer, Source
from importers.keep import Kept, Ready, keep, prepare
from importers.report import MAX_DETAILS, ClientReport
from importers.turns import Turns
from memory import log
from memory.database import Database
from memory.errors import Conflict, Credential, InvalidInput, NotFound

__all__ = ["GONE", "Flow", "Progress", "without_gone"]

_log = log.get(__name__)

_BYTES_PER_ENTRY: Final = 4096  # of a transaction, beside its text: payload, keys, bookkeeping

GONE: Final = "gone"  # in the state of a source that was not there in the last pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far the pass has come with one client."""

    provider: str
    files_done: int
    files: int
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """A batch that was read, and what of it is to be stored."""

    source: Source
    batch: Batch
    ready: Ready


@dataclass(slots=True, kw_only=True)
class Flow:
    """One client's part of a pass.

    ``states`` are the checkpoints as they are stored; they are brought up to date. ``client`` is
    told what is done, and ``progress`` how far this has come. ``stop`` ends it between two batches;
    so does ``interrupt``, which is asked before each transaction, and ``is_interrupted`` says so.
    """

    database: Database
    importer: Importer
    sources: Sequence[Source]
    states: dict[str, Mapping[str, Any]]
    client: ClientReport
    stop: asyncio.Event
    is_elsewhere: bool = False
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
        read = await asyncio.to_thread(self._read_some)
        while read:
            following = asyncio.create_task(asyncio.to_thread(self._read_some))
            try:
                await self._keep_all([each for each in read if each.source.key not in self._failed])
            finally:
                read = await following  # a thread cannot be cut off
            self._tell()

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

    def _read_some(self) -> list[_Read]:
        """Read batches of different sources, as many as one transaction takes; none at the end.

        A source is read on from where it was read to, whether that is stored already or not.
        """
        machine = self.database.settings.machine
        reads: list[_Read] = []
        room = BATCH_BYTES
        if self.interrupt is not None and self.interrupt():
            self.is_interrupted = True
            return []
        while room > 0 and not self.stop.is_set() and (source := self._turns.next()):
            state = self._ahead.get(source.key) or self.states.get(source.key)
            is_lost = source.key in self._failed
            batch = None if is_lost else self._read(source, state)
            if batch is None:
                self._turns.done(source)
                continue
            self.client.count_read(batch)
            ready = prepare(source, batch, machine=machine, is_elsewhere=self.is_elsewhere)
            reads.append(_Read(source=source, batch=batch, ready=ready))
            self._ahead[source.key] = batch.state
            room -= sum(_BYTES_PER_ENTRY + len(draft.content) for draft in batch.drafts)
        for read in reads:
            if read.batch.finished:
                self._turns.done(read.source)
            else:
                self._turns.again(read.source)
        return reads

    async def _keep_all(self, reads: Sequence[_Read]) -> None:
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
            self._failed.add(reads[0].source.key)
            self.client.fail(str(reads[0].source.path), error)
            return
        for read, each in zip(reads, kept, strict=True):
            _count_kept(self.client, read.ready, each)
            self.states[read.source.key] = read.batch.state
            self.client.tell(str(read.source.path), *read.batch.events)

    def _read(self, source: Source, stored: Mapping[str, Any] | None) -> Batch | None:
        """Read a batch; None when it holds nothing that is to be stored, or cannot be read."""
        state = without_gone(stored) if stored else None
        try:
            if self.is_elsewhere:
                state = elsewhere.found_again(state, source)
            batch = self.importer.read(source, state)
        except FileNotFoundError:
            return None  # it went while this pass was under way; the next one says so
        except OSError as error:
            self.client.fail(str(source.path), error)
            return None
        except Exception as error:  # noqa: BLE001 - the edge of a source: a fault of one client's module must not stop the others
            log.unexpected(_log, f"reading {source.path}", error)
            self.client.fail(str(source.path), error)
            return None
        if self.is_elsewhere:
            batch = elsewhere.relative(batch, source.store)
        records, unknown = alarm.carry(batch, stored)
        if unknown:
            self.client.warn(str(source.path), records, unknown)
        if stored and GONE in stored:
            batch.events.insert(0, "returned")
        is_news = batch.records or batch.drafts or batch.events or batch.state != stored
        return batch if is_news else None


def without_gone(state: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a checkpoint as the importer left it."""
    if GONE not in state and alarm.STRANGE not in state:
        return state
    return {name: each for name, each in state.items() if name not in {GONE, alarm.STRANGE}}


def _count_kept(client: ClientReport, ready: Ready, kept: Kept) -> None:
    client.sessions += kept.sessions
    extra = kept.edges + kept.notes
    client.drafts += len(kept.answers) + extra
    client.appended += extra
    client.refused += len(kept.refused)
    room = MAX_DETAILS - len(client.refused_records)
    client.refused_records += kept.refused[:room]
    for draft, answer, kinds in zip(ready.drafts, kept.answers, ready.redacted, strict=True):
        if answer is None:
            continue
        if not answer.is_new:
            client.known += 1
            continue
        client.appended += 1
        client.redacted.update(kinds)
        client.changed += answer.supersedes is not None and draft.key is None
