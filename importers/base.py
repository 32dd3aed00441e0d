"""The contract between a client's module and the runner.

A client's module finds its stores, lists the sources in each, and reads one source from a
checkpoint on. It touches neither the database nor the clock, so its tests need no server.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Protocol

from memory.drafts import Draft, SessionDraft

__all__ = [
    "BATCH_BYTES",
    "BATCH_RECORDS",
    "UNKNOWN_SHAPE",
    "Batch",
    "Importer",
    "Source",
    "Store",
    "Unreadable",
    "moment",
    "moment_of",
]

BATCH_BYTES: Final = 4 * 1024 * 1024  # a batch ends after the record that reaches this
BATCH_RECORDS: Final = 1000

UNKNOWN_SHAPE: Final = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What reading a record of an unknown shape raises.

What a client writes is data: one record of another shape must not stop those around it.
"""

_FIRST_YEAR: Final = 1970
_LAST_YEAR: Final = 9000


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """One place where one client keeps its sessions."""

    provider: str
    root: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One file or database to be read.

    ``key`` names its checkpoint: the path under which the client first wrote it, so that a file
    that was compressed or archived keeps its checkpoint. It begins with the store's root.
    ``after`` are the keys of sources that must be read to their end first, because this one may
    hold copies of their records, and a record belongs to the session that had it first.
    """

    store: Store
    path: Path
    key: str
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A record that could not be read: where, and why."""

    path: str
    offset: int
    reason: str


@dataclass(slots=True, kw_only=True)
class Batch:
    """What one bounded read of a source gave.

    Every record is counted once: ``records`` = ``imported`` + all of ``skipped`` + ``unreadable``,
    where ``imported`` are the records that gave at least one draft or session. ``state`` is the
    JSON-safe checkpoint after the last record read. ``events`` say what happened to the source
    itself (truncated, replaced ...). ``finished`` is false when more can be read at once.
    ``edge`` is the attribute that a session gets when its leading records are another's. ``size``
    is about how many bytes of the store were read for it.
    """

    records: int = 0
    imported: int = 0
    sessions: list[SessionDraft] = field(default_factory=list)
    drafts: list[Draft] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    unreadable: list[Unreadable] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)
    finished: bool = True
    edge: str = "forked_from"
    size: int = 0


class Importer(Protocol):
    """One client; the whole of what a new client has to provide.

    It is pickled when another process reads ahead (`importers.reader`).
    """

    @property
    def provider(self) -> str:
        """The short name of the client, also the provider of its sessions."""

    def stores(self, environment: Mapping[str, str], home: Path) -> list[Store]:
        """Return the stores that exist: where the environment says, else the client's default."""

    def sources(self, store: Store) -> Iterable[Source]:
        """Return what there is to read, parents and originals before children and copies."""

    def read(self, source: Source, state: Mapping[str, Any] | None) -> Batch:
        """Read one batch after the checkpoint; from the beginning when there is none.

        Raises OSError when the source as a whole cannot be read.
        """


def moment(text: object) -> datetime | None:
    """Return the time that an ISO 8601 text says, in UTC, which it is in unless it says otherwise.

    None for what is no such text, and for a year that the ledger does not take.
    """
    if not isinstance(text, str):
        return None
    try:
        time = datetime.fromisoformat(text)
        time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (OverflowError, ValueError):
        return None
    return time if _FIRST_YEAR <= time.year <= _LAST_YEAR else None


def moment_of(milliseconds: object) -> datetime | None:
    """Return the time so many milliseconds after the beginning of 1970, in UTC.

    None for what is no number above zero, and for a year that the ledger does not take.
    """
    if not isinstance(milliseconds, int | float) or not milliseconds > 0:
        return None
    try:
        time = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OSError, OverflowError, ValueError):
        return None
    return time if time.year <= _LAST_YEAR else None
