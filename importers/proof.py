"""The proof of coverage: every store read from its beginning and compared with the ledger.

No checkpoint is touched, and nothing is stored unless that is asked for. Batches are compared one
by one, and what was seen is kept on disk, so that memory stays bounded whatever the size of the
stores.
"""

import asyncio
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from importers.base import Batch, Importer, Source, Store
from importers.coverage import gaps_of, is_being_written
from importers.echo import marked
from importers.elsewhere import relative
from importers.findings import ClientProof, FileProof, Lacking
from importers.keep import keep
from importers.ready import prepare
from importers.run import Progress
from importers.seen import Seen
from memory import log, text
from memory.crud.compare import Standing, compare, imported_page, unknown_sessions
from memory.database import Database
from memory.drafts import Draft
from memory.errors import Conflict, Credential, InvalidInput, NotFound

__all__ = ["Prover"]

_log = log.get(__name__)

_AT_ONCE: Final = 1000  # drafts of one look-up
_LACKS: Final = frozenset({Standing.MISSING, Standing.CHANGED})
_PAGE: Final = 5000  # entries of one look into the ledger


@dataclass(slots=True, kw_only=True)
class Prover:
    """Compares clients' stores with the ledger.

    ``root`` takes the place of the home, or of the folder of a client's store; ``elsewhere`` says
    that it is another machine's, as for `importers.run.Runner`. With ``mend`` what is missing is stored: an import would not read again what lies before its checkpoint.
    """

    database: Database
    importers: Sequence[Importer]
    environment: Mapping[str, str]
    home: Path
    root: Path | None = None
    elsewhere: bool = False
    mend: bool = False
    progress: Callable[[Progress], None] | None = None
    _lacking: list[tuple[FileProof, Lacking, Draft]] = field(default_factory=list)
    _sessions: list[tuple[FileProof, Lacking, uuid.UUID]] = field(default_factory=list)

    async def run(self) -> list[ClientProof]:
        """Return what was found of each client. Raises LedgerError when the database is away."""
        return [await self._client(importer) for importer in self.importers]

    def stores(self, importer: Importer) -> list[Store]:
        """Return a client's stores."""
        if self.root is None:
            return importer.stores(self.environment, self.home)
        return importer.stores({}, self.root) or [Store(provider=importer.provider, root=self.root)]

    async def _client(self, importer: Importer) -> ClientProof:
        stores = self.stores(importer)
        client = ClientProof(provider=importer.provider, stores=[str(each.root) for each in stores])
        sources: list[Source] = []
        for store in stores:
            try:
                sources += await asyncio.to_thread(_listed, importer, store)
            except OSError as error:
                client.files.append(FileProof(path=str(store.root), failed=_said(error)))
            except Exception as error:  # noqa: BLE001 - the edge of a store, as in a pass
                log.unexpected(_log, f"listing {store.root}", error)
                client.files.append(FileProof(path=str(store.root), failed=type(error).__name__))
        self._lacking, self._sessions = [], []
        with Seen() as seen:
            for number, source in enumerate(sources, start=1):
                client.files.append(await self._file(importer, source, client, seen))
                self._step(client, number, len(sources))
            client.distinct = len(seen)
            await self._look_again(client)
            await self._look_for_vanished(client, seen)
        return client

    async def _file(
        self, importer: Importer, source: Source, client: ClientProof, seen: Seen
    ) -> FileProof:
        file = FileProof(path=str(source.path))
        state: Mapping[str, Any] | None = None
        while True:
            try:
                batch = await asyncio.to_thread(importer.read, source, state)
                state = batch.state
                file.is_being_written = await asyncio.to_thread(is_being_written, source)
            except FileNotFoundError:
                return file  # it went while it was read: what of it was not stored is gone
            except OSError as error:
                file.failed = _said(error)
                return file
            except Exception as error:  # noqa: BLE001 - the edge of a source, as in a pass
                log.unexpected(_log, f"reading {source.path}", error)
                file.failed = type(error).__name__
                return file
            if self.elsewhere:
                batch = relative(replace(batch, state=dict(batch.state)), source.store)
            client.count_read(file, batch)
            await self._compare(source, batch, file, client, seen)
            file.gaps = gaps_of(batch.state)
            if batch.finished:
                return file

    async def _compare(
        self, source: Source, batch: Batch, file: FileProof, client: ClientProof, seen: Seen
    ) -> None:
        drafts = marked(batch.drafts)
        names = [text.clean(each.source_id)[0] for each in drafts if each.source_id]
        await asyncio.to_thread(seen.add, names)
        found = await self._standings(drafts)
        sessions = {each.id: each for each in batch.sessions}
        look = partial(unknown_sessions, ids=list(sessions))
        unknown = await self.database.transact(look)
        if self.mend and (unknown or not _LACKS.isdisjoint(found)):
            lacked = sum(each in _LACKS for each in found)
            await self._store(source, batch, file)
            found = await self._standings(drafts)
            unknown = await self.database.transact(look)
            client.mended += lacked - sum(each in _LACKS for each in found)
        for draft, standing in zip(drafts, found, strict=True):
            self._count(draft, standing, file, client)
        for each in unknown:
            name = f"session {sessions[each].source_session_id}"
            lacking = Lacking(path=file.path, id=name, offset=None, is_changed=False)
            if client.lack(file, lacking):
                self._sessions.append((file, lacking, each))

    async def _standings(self, drafts: Sequence[Draft]) -> list[Standing]:
        found: list[Standing] = []
        for start in range(0, len(drafts), _AT_ONCE):
            some = drafts[start : start + _AT_ONCE]
            found += await self.database.transact(partial(compare, drafts=some))
        return found

    async def _store(self, source: Source, batch: Batch, file: FileProof) -> None:
        machine = self.database.settings.machine
        ready = await asyncio.to_thread(prepare, source, batch, machine=machine)
        try:
            await keep(self.database, [ready], with_checkpoints=False)
        except (Conflict, Credential, InvalidInput, NotFound) as error:
            file.failed = f"{error.code}: {error}"

    def _count(
        self, draft: Draft, standing: Standing, file: FileProof, client: ClientProof
    ) -> None:
        file.entries += 1
        if standing is Standing.OLDER:
            file.older += 1
        if standing not in _LACKS:
            return
        lacking = Lacking.of(draft, path=file.path, is_changed=standing is Standing.CHANGED)
        if client.lack(file, lacking):
            light = replace(draft, content="", payload=None, fingerprint=draft.content_hash)
            self._lacking.append((file, lacking, light))

    async def _look_again(self, client: ClientProof) -> None:
        """Look once more for what was not there: an importer may have been about to store it."""
        for start in range(0, len(self._lacking), _AT_ONCE):
            some = self._lacking[start : start + _AT_ONCE]
            drafts = [draft for _, _, draft in some]
            found = await self.database.transact(partial(compare, drafts=drafts))
            for (file, lacking, _), standing in zip(some, found, strict=True):
                if standing in {Standing.STORED, Standing.OLDER}:
                    client.unlack(file, lacking)
        ids = [ident for _, _, ident in self._sessions]
        unknown = await self.database.transact(partial(unknown_sessions, ids=ids))
        for file, lacking, ident in self._sessions:
            if ident not in unknown:
                client.unlack(file, lacking)

    async def _look_for_vanished(self, client: ClientProof, seen: Seen) -> None:
        """Count what the ledger has of this machine's store and the store has no more."""
        after = None
        last = ""
        read = {file.path: file for file in client.files}
        while True:
            page = await self.database.transact(
                partial(
                    imported_page,
                    provider=client.provider,
                    machine=self.database.settings.machine,
                    after=after,
                    limit=_PAGE,
                )
            )
            names = dict.fromkeys(each.source_id for each in page)
            gone = set(await asyncio.to_thread(seen.unknown, list(names)))
            for each in page:
                if each.source_id in gone and each.source_id != last:
                    client.miss(each.path, read)
                last = each.source_id
            if len(page) < _PAGE:
                return
            after = (page[-1].source_id, page[-1].entry_id)

    def _step(self, client: ClientProof, done: int, files: int) -> None:
        if self.progress is not None:
            step = Progress(
                provider=client.provider, files_done=done, files=files, records=client.records
            )
            self.progress(step)


def _listed(importer: Importer, store: Store) -> list[Source]:
    return list(importer.sources(store))


def _said(error: OSError) -> str:
    return f"{type(error).__name__}: {error}"
