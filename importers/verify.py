"""Whether the client's record still is what was stored as an entry.

The record is looked for where it was: the hash of its bytes, which no redaction changes, proves it
the same. A record that is not there is looked for by its id in the whole store; then it is what
its client's importer makes of it that is compared.
"""

import asyncio
import hashlib
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable

from importers import tail
from importers.archive import Damaged, open_archive
from importers.base import Importer, Source, Store
from importers.echo import marked
from importers.lines import Plain, lines
from importers.registry import IMPORTERS
from memory import crud, text
from memory.crud.prefix import find_id
from memory.database import Database, Transaction
from memory.drafts import Draft, canonical_client
from memory.errors import InvalidInput

__all__ = ["Focused", "Verdict", "Verified", "Verifier"]


class Verdict(StrEnum):
    """What became of the record that an entry was taken from."""

    SAME = "same"
    MOVED = "moved"
    CHANGED = "changed"
    VANISHED = "vanished"
    ELSEWHERE = "elsewhere"
    FOREIGN = "foreign"

    @property
    def words(self) -> str:
        """What this means, in one sentence."""
        return _WORDS[self]


_WORDS: Final[Mapping[Verdict, str]] = {
    Verdict.SAME: "The client's record is where it was and says what was stored.",
    Verdict.MOVED: "The client's record lies elsewhere now and says what was stored.",
    Verdict.CHANGED: "The client's record says something else now; the entry keeps what it said.",
    Verdict.VANISHED: "The client has no such record any more; the entry keeps what it said.",
    Verdict.ELSEWHERE: "The record lies on another machine; ask there.",
    Verdict.FOREIGN: "This entry was not taken from a client's record: a tool or an importer made it.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """The verdict on one entry; ``stored`` and ``found`` are places of records.

    ``has_same_bytes`` is false when the record says the same in other bytes.
    """

    entry_id: uuid.UUID
    verdict: Verdict
    stored: Mapping[str, Any] | None = None
    found: Mapping[str, Any] | None = None

    @property
    def has_same_bytes(self) -> bool:
        """Whether the record that was found is, byte for byte, the one that was stored."""
        return bool(self.stored and self.found and self.stored["hash"] == self.found["hash"])

    def facts(self) -> dict[str, Any]:
        """Return it as JSON-safe values."""
        return {
            "entry_id": str(self.entry_id),
            "verdict": str(self.verdict),
            "detail": self.verdict.words,
            "stored": self.stored,
            "found": self.found,
            "has_same_bytes": self.has_same_bytes,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What is looked for: the entry's identity and hash, its place, its session, its machine."""

    entry_id: uuid.UUID
    provider: str
    machine: str
    source_id: str | None
    content_hash: bytes
    origin: Mapping[str, Any] | None
    session: str


@runtime_checkable
class Focused(Protocol):
    """An importer that can read one session of a source without reading the others."""

    def focus(self, source: Source, session: str) -> Mapping[str, Any] | None:
        """Return the checkpoint from which only this session is read, None for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verifier:
    """Verifies entries against the stores on this machine.

    ``root`` takes the place of the home, or of the folder of a client's store.
    """

    database: Database
    environment: Mapping[str, str]
    home: Path
    root: Path | None = None

    async def verify(self, ident: str) -> Verified:
        """Return the verdict on the entry whose id is, or begins with, this text.

        Raises NotFound, and InvalidInput for the id of a session or no id at all.
        """
        wanted = await self.database.transact(partial(_wanted, ident=ident))
        make = IMPORTERS.get(canonical_client(wanted.provider))
        if not wanted.origin or "path" not in wanted.origin or not wanted.source_id or not make:
            return Verified(entry_id=wanted.entry_id, verdict=Verdict.FOREIGN)
        verdict, found = await asyncio.to_thread(self._look, wanted, wanted.origin, make())
        if verdict is Verdict.VANISHED and wanted.machine != self.database.settings.machine:
            verdict = Verdict.ELSEWHERE
        return Verified(
            entry_id=wanted.entry_id, verdict=verdict, stored=wanted.origin, found=found
        )

    def _look(
        self, wanted: _Wanted, origin: Mapping[str, Any], importer: Importer
    ) -> tuple[Verdict, Mapping[str, Any] | None]:
        if _has_line(Path(origin["path"]), origin):
            return Verdict.SAME, origin
        stores = importer.stores(self.environment, self.home)
        if self.root:
            here = Store(provider=importer.provider, root=self.root)
            stores = importer.stores({}, self.root) or [here]
        sources = [source for store in stores for source in importer.sources(store)]
        sources.sort(key=partial(_distance, wanted=wanted, origin=origin))
        for source in sources:
            is_namesake = _plain(source.path) == _plain(Path(origin["path"]))
            if is_namesake and _has_line(source.path, origin):
                return Verdict.MOVED, {**origin, "path": str(source.path)}
        return _search(importer, sources, wanted, origin)


async def _wanted(session: Transaction, *, ident: str) -> _Wanted:
    named = await find_id(session, ident)
    if named.is_session:
        raise InvalidInput(f"{ident} is the id of a session; verify takes the id of an entry.")
    entry = await crud.get_entry(session, named.id)
    source = ""
    if entry.session_id is not None:
        source = (await crud.get_session(session, entry.session_id)).row.source_session_id
    return _Wanted(
        entry_id=entry.id,
        provider=entry.provider,
        machine=entry.machine,
        source_id=entry.source_id,
        content_hash=entry.content_hash,
        origin=entry.origin,
        session=source,
    )


def _search(
    importer: Importer, sources: Iterable[Source], wanted: _Wanted, origin: Mapping[str, Any]
) -> tuple[Verdict, Mapping[str, Any] | None]:
    """Look for the record by its id in every source, until one says what was stored."""
    changed: Mapping[str, Any] | None = None
    for source in sources:
        for draft in _drafts(importer, source, wanted):
            place = draft.origin or {}
            if draft.content_hash == wanted.content_hash:
                is_there = all(
                    place.get(name) == origin.get(name) for name in ("path", "offset", "row")
                )
                return (Verdict.SAME if is_there else Verdict.MOVED), place
            changed = place
    return (Verdict.CHANGED, changed) if changed is not None else (Verdict.VANISHED, None)


def _drafts(importer: Importer, source: Source, wanted: _Wanted) -> Iterable[Draft]:
    """Yield what a source holds under the entry's id; nothing of one that cannot be read."""
    state = importer.focus(source, wanted.session) if isinstance(importer, Focused) else None
    while True:
        try:
            batch = importer.read(source, state)
        except OSError:
            return  # `memory coverage` tells what cannot be read
        for draft in marked(batch.drafts):
            if draft.source_id and text.clean(draft.source_id)[0] == wanted.source_id:
                yield draft
        if batch.finished:
            return
        state = batch.state


def _distance(source: Source, *, wanted: _Wanted, origin: Mapping[str, Any]) -> int:
    """Return how unlikely a source is to hold the record; its own file is the likeliest."""
    here = Path(origin["path"])
    near: Sequence[bool] = (
        source.path == here,
        _plain(source.path) == _plain(here),
        wanted.session in source.path.name,
    )
    return next((rank for rank, is_near in enumerate(near) if is_near), len(near))


def _plain(path: Path) -> str:
    return path.name.removesuffix(tail.PACKED)


def _has_line(path: Path, origin: Mapping[str, Any]) -> bool:
    """Tell whether the line at the stored offset is, byte for byte, the one that was stored."""
    offset = origin.get("offset")
    if not isinstance(offset, int):
        return False
    try:
        place, status = tail.present(path)
        if place.name.endswith(tail.PACKED):
            packed = open_archive(str(place), status.st_ino, status.st_size, status.st_mtime_ns)
            packed.around(offset)
            line = next(lines(packed, offset=offset, size=None, final=True), None)
        else:
            with place.open("rb") as file:
                file.seek(offset)
                line = next(lines(Plain(file), offset=offset, size=None), None)
    except (Damaged, OSError):
        return False
    raw = line.raw if line else None
    return raw is not None and hashlib.sha256(raw).hexdigest() == origin.get("hash")
