"""What a pass did, in numbers that add up."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from importers.base import Batch, Unreadable
from memory.errors import LedgerError

__all__ = [
    "MAX_DETAILS",
    "MAX_RULES",
    "ClientReport",
    "Failed",
    "Happened",
    "Report",
    "Strange",
    "add_rules",
    "reason_of",
]

MAX_DETAILS: Final = 100
"""Unreadable records, events and failures that are told one by one; all are counted."""

MAX_RULES: Final = 200
"""Rules that are counted by name; a hostile file may have as many unknown types as records."""

_OTHERS: Final = "unknown: others"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A source that could not be read at all, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """What happened to a source itself since the last pass."""

    path: str
    event: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Strange:
    """A source that gave no entry, because its importer does not know its kinds of records."""

    path: str
    records: int
    unknown: int


@dataclass(slots=True, kw_only=True)
class ClientReport:
    """One client's part of a pass.

    ``records`` = ``imported`` + ``skipped`` + ``unreadable``; ``drafts`` = ``appended`` +
    ``known`` + ``refused``. Every entry that was appended is counted once. ``more_events``,
    ``more_failed`` and ``more_strange`` count those beyond the MAX_DETAILS that are told one by
    one. The kinds of records that no version of the client is known to write are in ``skipped``
    under their names.
    """

    provider: str
    stores: list[str] = field(default_factory=list)
    files: int = 0
    records: int = 0
    imported: int = 0
    drafts: int = 0
    appended: int = 0
    changed: int = 0  # of those appended: another content under an id that was known
    known: int = 0
    refused: int = 0
    sessions: int = 0
    unreadable: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    redacted: Counter[str] = field(default_factory=Counter)
    unreadable_records: list[Unreadable] = field(default_factory=list)
    refused_records: list[Unreadable] = field(default_factory=list)
    events: list[Happened] = field(default_factory=list)
    more_events: int = 0
    failed: list[Failed] = field(default_factory=list)
    more_failed: int = 0
    strange: list[Strange] = field(default_factory=list)
    more_strange: int = 0

    @property
    def adds_up(self) -> bool:
        """Whether every record and every draft is accounted for."""
        read = self.imported + self.skipped.total() + self.unreadable
        return self.records == read and self.drafts == self.appended + self.known + self.refused

    def count_read(self, batch: Batch) -> None:
        """Count what a batch read."""
        self.records += batch.records
        self.imported += batch.imported
        add_rules(self.skipped, batch.skipped)
        self.unreadable += len(batch.unreadable)
        room = MAX_DETAILS - len(self.unreadable_records)
        self.unreadable_records += batch.unreadable[:room]

    def fail(self, path: str, error: Exception) -> None:
        """Tell that a source could not be read or stored, because of an error (see `reason_of`)."""
        self.fail_because(path, reason_of(error))

    def fail_because(self, path: str, reason: str) -> None:
        """Tell that a source could not be read or stored."""
        if len(self.failed) < MAX_DETAILS:
            self.failed.append(Failed(path=path, reason=reason))
        else:
            self.more_failed += 1

    def warn(self, path: str, records: int, unknown: int) -> None:
        """Tell that a source gave no entry, and so many records that are of no known kind."""
        if len(self.strange) < MAX_DETAILS:
            self.strange.append(Strange(path=path, records=records, unknown=unknown))
        else:
            self.more_strange += 1

    def tell(self, path: str, *events: str) -> None:
        """Tell what happened to a source itself."""
        room = MAX_DETAILS - len(self.events)
        self.events += [Happened(path=path, event=event) for event in events[:room]]
        self.more_events += len(events[room:])

    def facts(self) -> dict[str, Any]:
        """Return the report as JSON-safe values."""
        return {
            "client": self.provider,
            "stores": self.stores,
            "files": self.files,
            "records": self.records,
            "imported": self.imported,
            "skipped": dict(sorted(self.skipped.items())),
            "unreadable": self.unreadable,
            "drafts": self.drafts,
            "appended": self.appended,
            "changed": self.changed,
            "known": self.known,
            "refused": self.refused,
            "sessions": self.sessions,
            "redacted": dict(sorted(self.redacted.items())),
            "unreadable_records": [_where(each) for each in self.unreadable_records],
            "refused_records": [_where(each) for each in self.refused_records],
            "events": [{"path": each.path, "event": each.event} for each in self.events],
            "more_events": self.more_events,
            "failed": [{"path": each.path, "reason": each.reason} for each in self.failed],
            "more_failed": self.more_failed,
            "strange": [
                {"path": each.path, "records": each.records, "unknown": each.unknown}
                for each in self.strange
            ],
            "more_strange": self.more_strange,
            "adds_up": self.adds_up,
        }


@dataclass(slots=True, kw_only=True)
class Report:
    """What one pass over all clients did.

    ``stopped`` when it was told to end early, ``interrupted`` when something was to be read first.
    """

    clients: list[ClientReport] = field(default_factory=list)
    indexed: int = 0
    stopped: bool = False
    interrupted: bool = False

    @property
    def has_failed(self) -> bool:
        """Whether a source could not be read or is strange, or a record could not be stored."""
        return any(each.failed or each.refused or each.strange for each in self.clients)

    @property
    def is_quiet(self) -> bool:
        """Whether there was nothing to tell."""
        return not any(client.records or client.events or client.failed for client in self.clients)

    def facts(self) -> dict[str, Any]:
        """Return the report as JSON-safe values."""
        return {
            "clients": [client.facts() for client in self.clients],
            "indexed": self.indexed,
            "stopped": self.stopped,
        }


def add_rules(counts: Counter[str], more: Counter[str]) -> None:
    """Add counts by rule; beyond MAX_RULES names, what is new is counted as others."""
    for rule, count in more.items():
        has_room = rule in counts or len(counts) < MAX_RULES
        counts[rule if has_room else _OTHERS] += count


def reason_of(error: Exception) -> str:
    """Return what is told of an error.

    Of one that is not known the text is not repeated: it may hold what the source holds.
    """
    known = isinstance(error, OSError | LedgerError)
    return f"{type(error).__name__}: {error}" if known else type(error).__name__


def _where(record: Unreadable) -> dict[str, Any]:
    return {"path": record.path, "offset": record.offset, "reason": record.reason}
