"""Reading a client's store with its importer alone, without a ledger."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from importers.base import Batch, Importer, Source, Store, Unreadable
from memory.drafts import Draft, Kind, SessionDraft, session_id_of

DATA = Path(__file__).parent / "data"


@dataclass(kw_only=True)
class Reading:
    """What a store gave, each entry once, as the ledger would keep it."""

    sessions: dict[str, SessionDraft] = field(default_factory=dict)
    entries: dict[str, Draft] = field(default_factory=dict)
    repeated: int = 0
    changed: list[Draft] = field(default_factory=list)
    records: int = 0
    imported: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    unreadable: list[Unreadable] = field(default_factory=list)
    states: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    drafts: list[Draft] = field(default_factory=list)

    def add(self, batch: Batch) -> None:
        """Take over a batch, and check that it keeps the contract."""
        counted = batch.imported + batch.skipped.total() + len(batch.unreadable)
        assert batch.records == counted
        self.records += batch.records
        self.imported += batch.imported
        self.skipped += batch.skipped
        self.unreadable += batch.unreadable
        for session in batch.sessions:
            self.sessions.setdefault(session.source_session_id, session)
        for draft in batch.drafts:
            self.add_draft(draft)

    def add_draft(self, draft: Draft) -> None:
        """Take over a draft as the ledger does: once by its source id."""
        assert draft.session_id in {each.id for each in self.sessions.values()}
        assert draft.source_id is not None
        assert draft.source_id.isascii()
        assert draft.occurred_at is None or draft.occurred_at.utcoffset() is not None
        self.drafts.append(draft)
        known = self.entries.setdefault(draft.source_id, draft)
        if known is draft:
            return
        self.repeated += known.content_hash == draft.content_hash
        if known.content_hash != draft.content_hash:
            self.changed.append(draft)

    def messages(self, *sessions: str, role: str | None = None) -> list[Draft]:
        """Return the messages of sessions, or all, in reading order."""
        provider = next(iter(self.sessions.values())).provider
        wanted = {session_id_of(provider, session) for session in sessions}
        found = [
            draft
            for draft in self.entries.values()
            if draft.kind is Kind.MESSAGE
            and (not wanted or draft.session_id in wanted)
            and role in {None, draft.role}
        ]
        return sorted(found, key=lambda draft: (str(draft.session_id), draft.position or 0))

    def texts(self, *sessions: str, role: str | None = None) -> list[str]:
        """Return the texts of messages in reading order."""
        return [draft.content for draft in self.messages(*sessions, role=role)]

    def attributes(self, session: str) -> dict[str, str]:
        """Return what became known of a session, newest value each."""
        own = self.sessions[session].id
        return {
            draft.key.partition("/")[2]: draft.content
            for draft in self.drafts
            if draft.kind is Kind.SESSION and draft.session_id == own and draft.key
        }

    def summary(self) -> dict[str, Any]:
        """Return what is expected of a store, as its expected.json has it."""
        return {
            "records": self.records,
            "imported": self.imported,
            "skipped": dict(sorted(self.skipped.items())),
            "unreadable": len(self.unreadable),
            "sessions": {name: self._session(name) for name in sorted(self.sessions)},
        }

    def _session(self, name: str) -> dict[str, Any]:
        session = self.sessions[name]
        parts = {
            "parent": session.parent,
            "directory": session.directory,
            "title": self.attributes(name).get("title"),
            "roles": dict(sorted(Counter(str(d.role) for d in self.messages(name)).items())),
            "prompts": self.texts(name, role="user"),
            "answers": self.texts(name, role="assistant"),
        }
        return {key: value for key, value in parts.items() if value}


def read(
    importer: Importer, root: Path, reading: Reading | None = None, *, most: int = 10_000
) -> Reading:
    """Read a store to its end, from the states of an earlier reading on if one is given."""
    reading = reading or Reading()
    for source in importer.sources(Store(provider=importer.provider, root=root)):
        for batch in batches(importer, source, reading, most=most):
            reading.add(batch)
    return reading


def batches(
    importer: Importer, source: Source, reading: Reading, *, most: int = 10_000
) -> Iterator[Batch]:
    """Read a source to its end; each checkpoint goes through JSON, as it does in the ledger."""
    for _ in range(most):
        batch = importer.read(source, reading.states.get(source.key))
        reading.states[source.key] = json.loads(json.dumps(batch.state))
        yield batch
        if batch.finished:
            return


def stores(client: str) -> list[Path]:
    """Return the folders with this client's test data."""
    return sorted(path.parent for path in (DATA / client).glob("*/store"))


def expected(folder: Path) -> dict[str, Any]:
    """Return what reading a folder's store gives."""
    found: dict[str, Any] = json.loads((folder / "expected.json").read_text("utf-8"))
    return found
