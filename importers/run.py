"""One pass: read what clients stored since the last one, and append it with its checkpoints."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from importers import elsewhere
from importers.base import Importer, Source, Store
from importers.flow import Flow, Progress
from importers.reader import Reader
from importers.ready import GONE, without_gone
from importers.report import ClientReport, Report
from memory import crud, log
from memory.crud.checkpoints import set_checkpoints
from memory.database import Database
from memory.errors import LedgerError

__all__ = ["GONE", "Choose", "Progress", "Runner", "without_gone"]

_log = log.get(__name__)

Choose = Callable[[str, Sequence[Source]], Sequence[Source]]
"""Gets a client's name and its sources, and returns those to be read, in their order."""


@dataclass(slots=True, kw_only=True)
class Runner:
    """Runs passes over clients' stores; knows their checkpoints between passes.

    ``root`` takes the place of the home, or of the folder of a client's store. ``elsewhere`` says
    that it is another machine's. ``label`` is what this machine is called unless somebody chose
    otherwise. ``choose`` says which sources are read, all when it is None. ``stop`` ends a pass
    between two batches, and so does ``interrupt``, which is asked now and then: something is to be
    read before the rest.
    """

    database: Database
    importers: Sequence[Importer]
    environment: Mapping[str, str]
    home: Path
    root: Path | None = None
    elsewhere: bool = False
    label: str = ""
    progress: Callable[[Progress], None] | None = None
    choose: Choose | None = None
    interrupt: Callable[[], bool] | None = None
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    _checkpoints: dict[str, dict[str, Mapping[str, Any]]] = field(default_factory=dict)
    _is_known: bool = False

    async def run(self) -> Report:
        """Read everything that is new, and say what was done.

        A source that cannot be read is reported and holds up no other. Raises LedgerError when
        the database is away or unfit; then nothing is lost, and the next pass goes on.
        """
        report = Report()
        reader = Reader(machine=self.database.settings.machine, is_elsewhere=self.elsewhere)
        try:
            await self._introduce()
            for importer in self.importers:
                client = ClientReport(provider=importer.provider)
                report.clients.append(client)
                report.interrupted = await self._run_client(importer, client, reader)
                if report.interrupted:
                    break
        except LedgerError:
            self._checkpoints.clear()  # what was committed last is not known here
            raise
        finally:
            await asyncio.to_thread(reader.close)
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

    async def _run_client(self, importer: Importer, client: ClientReport, reader: Reader) -> bool:
        """Read what is new of one client; return whether that was interrupted."""
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
            except Exception as error:  # noqa: BLE001 - the edge of a store, as of a source
                log.unexpected(_log, f"listing {store.root}", error)
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
        flow = Flow(
            database=self.database,
            importer=importer,
            sources=chosen,
            states=states,
            client=client,
            stop=self.stop,
            reader=reader,
            progress=self.progress,
            interrupt=self.interrupt,
        )
        await flow.run()
        return flow.is_interrupted

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


def _listed(importer: Importer, store: Store) -> list[Source]:
    return list(importer.sources(store))
