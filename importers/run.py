"""One pass: read what clients stored since the last one, and append it with its checkpoints."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from importers import alarm, elsewhere
from importers.base import BATCH_BYTES, Batch, Importer, Source, Store
from importers.keep import Kept, Ready, keep, prepare
from importers.report import MAX_DETAILS, ClientReport, Report
from importers.turns import Turns
from memory import crud, log
from memory.crud.checkpoints import set_checkpoints
from memory.database import Database
from memory.errors import Conflict, Credential, InvalidInput, LedgerError, NotFound

__all__ = ["GONE", "Progress", "Runner", "without_gone"]

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
class Runner:
    """Runs passes over clients' stores; knows their checkpoints between passes.

    ``root`` takes the place of the home, or of the folder of a client's store. ``elsewhere`` says
    that it is another machine's. ``label`` is what this machine is called unless somebody chose
    otherwise. ``choose`` gets a client's name and its sources, and returns those to be read, in
    their order. ``stop`` ends a pass between two batches.
    """

    database: Database
    importers: Sequence[Importer]
    environment: Mapping[str, str]
    home: Path
    root: Path | None = None
    elsewhere: bool = False
    label: str = ""
    progress: Callable[[Progress], None] | None = None
    choose: Callable[[str, Sequence[Source]], Sequence[Source]] | None = None
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    _checkpoints: dict[str, dict[str, Mapping[str, Any]]] = field(default_factory=dict)
    _is_known: bool = False

    async def run(self) -> Report:
        """Read everything that is new, and say what was done.

        A source that cannot be read is reported and holds up no other. Raises LedgerError when
        the database is away or unfit; then nothing is lost, and the next pass goes on.
        """
        report = Report()
        try:
            await self._introduce()
            for importer in self.importers:
                client = ClientReport(provider=importer.provider)
                report.clients.append(client)
                await self._run_client(importer, client)
        except LedgerError:
            self._checkpoints.clear()  # what was committed last is not known here
            raise
        report.stopped = self.stop.is_set()
        return report

    def stores(self, importer: Importer) -> list[Store]:
        """Return a client's stores."""
        if self.root is None:
            return importer.stores(self.environment, self.home)
        return importer.stores({}, self.root) or [Store(provider=importer.provider, root=self.root)]

    async def _introduce(self) -> None:
        """Say once what this machine is called."""
        if self.label and not self._is_known:
            machine = self.database.settings.machine
            name = partial(crud.label_machine, machine=machine, label=self.label, is_usual=True)
            await self.database.transact(name)
            self._is_known = True

    async def _run_client(self, importer: Importer, client: ClientReport) -> None:
        states = await self._states(importer.provider)
        stores = self.stores(importer)
        client.stores = [str(store.root) for store in stores]
        sources: list[Source] = []
        for store in stores:
            try:
                found = await asyncio.to_thread(_listed, importer, store)
            except OSError as error:
                client.fail(str(store.root), error)
                continue
            if self.elsewhere:
                found = [elsewhere.named(source) for source in found]
            sources += found
            await self._miss(store, {source.key for source in found}, states, client)
        chosen: Sequence[Source] = sources
        if self.choose is not None:
            chosen = await asyncio.to_thread(self.choose, importer.provider, sources)
        client.files = len(chosen)
        await self._run_sources(importer, chosen, states, client)

    async def _run_sources(
        self,
        importer: Importer,
        sources: Sequence[Source],
        states: dict[str, Mapping[str, Any]],
        client: ClientReport,
    ) -> None:
        turns = Turns(sources)
        while reads := await asyncio.to_thread(self._read_some, importer, turns, states, client):
            kept = await self._keep_all(reads, states, client)
            for read in reads:
                if read.source.key in kept and not read.batch.finished:
                    turns.again(read.source)
                else:
                    turns.done(read.source)
            if self.progress is not None:
                self.progress(
                    Progress(
                        provider=importer.provider,
                        files_done=len(sources) - turns.left,
                        files=len(sources),
                        records=client.records,
                    )
                )

    def _read_some(
        self,
        importer: Importer,
        turns: Turns,
        states: Mapping[str, Mapping[str, Any]],
        client: ClientReport,
    ) -> list[_Read]:
        """Read batches of different sources, as many as one transaction takes; none at the end."""
        machine = self.database.settings.machine
        reads: list[_Read] = []
        room = BATCH_BYTES
        while room > 0 and not self.stop.is_set() and (source := turns.next()):
            stored = states.get(source.key)
            batch = _read(importer, source, stored, client, is_elsewhere=self.elsewhere)
            if batch is None:
                turns.done(source)
                continue
            client.count_read(batch)
            ready = prepare(source, batch, machine=machine)
            reads.append(_Read(source=source, batch=batch, ready=ready))
            room -= sum(_BYTES_PER_ENTRY + len(draft.content) for draft in batch.drafts)
        return reads

    async def _keep_all(
        self, reads: Sequence[_Read], states: dict[str, Mapping[str, Any]], client: ClientReport
    ) -> set[str]:
        """Store batches together, or one by one when that fails; return the keys of those stored."""
        try:
            kept = await keep(self.database, [read.ready for read in reads])
        except (Conflict, Credential, InvalidInput, NotFound) as error:
            if len(reads) > 1:
                stored = [await self._keep_all([read], states, client) for read in reads]
                return set().union(*stored)
            client.fail(str(reads[0].source.path), error)
            return set()
        for read, each in zip(reads, kept, strict=True):
            _count_kept(client, read.ready, each)
            states[read.source.key] = read.batch.state
            client.tell(str(read.source.path), *read.batch.events)
        return {read.source.key for read in reads}

    async def _states(self, provider: str) -> dict[str, Mapping[str, Any]]:
        if provider not in self._checkpoints:
            machine = self.database.settings.machine
            found = await self.database.transact(
                partial(crud.get_checkpoints, provider=provider, machine=machine)
            )
            self._checkpoints[provider] = dict(found)
        return self._checkpoints[provider]

    async def _miss(
        self,
        store: Store,
        present: set[str],
        states: dict[str, Mapping[str, Any]],
        client: ClientReport,
    ) -> None:
        """Note the sources of a store that are no longer there; what they held stays."""
        gone = {
            key: {**state, GONE: True}
            for key, state in states.items()
            if GONE not in state
            and key not in present
            and elsewhere.is_of(key, store, elsewhere=self.elsewhere)
        }
        if not gone:
            return
        machine = self.database.settings.machine
        await self.database.transact(
            partial(set_checkpoints, provider=store.provider, machine=machine, states=gone)
        )
        states.update(gone)
        for key in gone:
            client.tell(key, "vanished")


def without_gone(state: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a checkpoint as the importer left it."""
    if GONE not in state and alarm.STRANGE not in state:
        return state
    return {name: each for name, each in state.items() if name not in {GONE, alarm.STRANGE}}


def _read(
    importer: Importer,
    source: Source,
    stored: Mapping[str, Any] | None,
    client: ClientReport,
    *,
    is_elsewhere: bool,
) -> Batch | None:
    """Read a batch; None when it holds nothing that is to be stored, or cannot be read."""
    state = without_gone(stored) if stored else None
    try:
        if is_elsewhere:
            state = elsewhere.found_again(state, source)
        batch = importer.read(source, state)
    except FileNotFoundError:
        return None  # it went while this pass was under way; the next one says so
    except OSError as error:
        client.fail(str(source.path), error)
        return None
    except Exception as error:  # noqa: BLE001 - the edge of a source: a fault of one client's module must not stop the others
        log.unexpected(_log, f"reading {source.path}", error)
        client.fail(str(source.path), error)
        return None
    if is_elsewhere:
        batch = elsewhere.relative(batch, source.store)
    records, unknown = alarm.carry(batch, stored)
    if unknown:
        client.warn(str(source.path), records, unknown)
    if stored and GONE in stored:
        batch.events.insert(0, "returned")
    is_news = batch.records or batch.drafts or batch.events or batch.state != stored
    return batch if is_news else None


def _listed(importer: Importer, store: Store) -> list[Source]:
    return list(importer.sources(store))


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
