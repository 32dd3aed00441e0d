"""What the proof of coverage found, in numbers that add up."""

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from importers.alarm import is_strange, unknown_records
from importers.base import Batch, Unreadable
from importers.report import MAX_DETAILS, add_rules
from memory.drafts import Draft

__all__ = ["MAX_LACKING", "ClientProof", "FileProof", "Lacking", "Vanished"]

MAX_LACKING: Final = 1000
"""Entries that the ledger lacks and that are told one by one; all are counted."""

_PER_CENT: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Lacking:
    """Something that the store has and the ledger has not, or only with other content.

    ``offset`` is its byte offset, or the id of its row in a database.
    """

    path: str
    id: str
    offset: int | str | None
    is_changed: bool

    @classmethod
    def of(cls, draft: Draft, *, path: str, is_changed: bool) -> "Lacking":
        """Return what is told of a draft."""
        origin = draft.origin or {}
        place = origin.get("offset", origin.get("row"))
        return cls(path=path, id=str(draft.source_id), offset=place, is_changed=is_changed)

    def facts(self) -> dict[str, Any]:
        """Return it as JSON-safe values."""
        why = "changed" if self.is_changed else "missing"
        return {"path": self.path, "id": self.id, "offset": self.offset, "why": why}


@dataclass(frozen=True, slots=True, kw_only=True)
class Vanished:
    """Entries whose record is not in the store any more, by the file that they came from."""

    path: str
    entries: int
    reason: str

    def facts(self) -> dict[str, Any]:
        """Return it as JSON-safe values."""
        return {"path": self.path, "entries": self.entries, "reason": self.reason}


@dataclass(slots=True, kw_only=True)
class FileProof:
    """One file or database: ``records`` = ``imported`` + ``skipped`` + ``unreadable``.

    ``entries`` are what its records give, of which the ledger lacks those ``missing`` and those
    ``changed``. Of those ``older`` it has a newer version, from a later state of the record.
    In ``gaps`` places the client itself lost a text, so that nobody has it.
    """

    path: str
    records: int = 0
    imported: int = 0
    entries: int = 0
    missing: int = 0
    changed: int = 0
    older: int = 0
    unreadable: int = 0
    vanished: int = 0
    gaps: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    is_being_written: bool = False
    failed: str = ""

    @property
    def unknown(self) -> int:
        """Records that are of no known kind, or cannot be read."""
        return unknown_records(self.skipped, self.unreadable)

    @property
    def is_strange(self) -> bool:
        """Whether it gave no entry because its importer does not know its records."""
        return not self.entries and is_strange(records=self.records, unknown=self.unknown)

    @property
    def is_whole(self) -> bool:
        """Whether the ledger has all of it."""
        return not (self.missing or self.changed or self.is_strange or self.failed)

    def facts(self) -> dict[str, Any]:
        """Return it as JSON-safe values."""
        return {
            "path": self.path,
            "records": self.records,
            "imported": self.imported,
            "skipped": dict(sorted(self.skipped.items())),
            "unreadable": self.unreadable,
            "entries": self.entries,
            "missing": self.missing,
            "changed": self.changed,
            "older": self.older,
            "vanished": self.vanished,
            "gaps": self.gaps,
            "is_strange": self.is_strange,
            "is_being_written": self.is_being_written,
            "failed": self.failed or None,
        }


@dataclass(slots=True, kw_only=True)
class ClientProof:
    """One client's stores.

    ``distinct`` counts entries once, however many files hold them; ``mended`` were missing and are
    stored now.
    """

    provider: str
    stores: list[str] = field(default_factory=list)
    files: list[FileProof] = field(default_factory=list)
    distinct: int = 0
    mended: int = 0
    lacking: list[Lacking] = field(default_factory=list)
    unreadable_records: list[Unreadable] = field(default_factory=list)
    _gone: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def records(self) -> int:
        """Records of all files."""
        return sum(file.records for file in self.files)

    @property
    def is_whole(self) -> bool:
        """Whether the ledger has everything that the client's stores have."""
        return all(file.is_whole for file in self.files)

    @property
    def vanished(self) -> list[Vanished]:
        """What is stored and no longer on the disk, by file and reason; most first."""
        return [
            Vanished(path=path, entries=count, reason=reason)
            for (path, reason), count in self._gone.most_common()
        ]

    def total(self, name: str) -> int:
        """Return the sum of one of the files' numbers."""
        return sum(int(getattr(file, name)) for file in self.files)

    @property
    def per_cent(self) -> float:
        """How much of what the stores have the ledger has; rounded down, so 100 means all."""
        entries = self.total("entries")
        lacks = self.total("missing") + self.total("changed")
        if not entries:
            return 0.0 if lacks else float(_PER_CENT)
        return max(0, (entries - lacks) * _PER_CENT * 100 // entries) / 100

    def count_read(self, file: FileProof, batch: Batch) -> None:
        """Count what a batch read."""
        file.records += batch.records
        file.imported += batch.imported
        add_rules(file.skipped, batch.skipped)
        file.unreadable += len(batch.unreadable)
        room = MAX_DETAILS - len(self.unreadable_records)
        self.unreadable_records += batch.unreadable[:room]

    def lack(self, file: FileProof, lacking: Lacking) -> bool:
        """Count something that the ledger lacks; return whether it is told one by one."""
        file.changed += lacking.is_changed
        file.missing += not lacking.is_changed
        is_told = len(self.lacking) < MAX_LACKING
        if is_told:
            self.lacking.append(lacking)
        return is_told

    def unlack(self, file: FileProof, lacking: Lacking) -> None:
        """Take back what was counted: the ledger has it by now."""
        file.changed -= lacking.is_changed
        file.missing -= not lacking.is_changed
        self.lacking.remove(lacking)

    def miss(self, path: str | None, read: Mapping[str, FileProof]) -> None:
        """Count an entry that no store has any more; ``read`` are the files that were read."""
        name = path or "unknown"
        if name in read:
            read[name].vanished += 1
            reason = "no longer in the file"
        else:
            reason = "in another folder" if os.path.lexists(name) else "the file is gone"
        if (name, reason) not in self._gone and len(self._gone) >= MAX_DETAILS:
            name = "others"
        self._gone[name, reason] += 1

    def facts(self) -> dict[str, Any]:
        """Return it as JSON-safe values."""
        names = (
            "records",
            "imported",
            "unreadable",
            "entries",
            "missing",
            "changed",
            "older",
            "gaps",
        )
        lacks = self.total("missing") + self.total("changed")
        return {
            "client": self.provider,
            "stores": self.stores,
            "per_cent": self.per_cent,
            "is_whole": self.is_whole,
            "distinct": self.distinct,
            "mended": self.mended,
            **{name: self.total(name) for name in names},
            "skipped": dict(sorted(self._skipped().items())),
            "vanished": self._gone.total(),
            "files": [file.facts() for file in self.files],
            "lacking": [each.facts() for each in self.lacking],
            "more_lacking": max(0, lacks - len(self.lacking)),
            "gone": [each.facts() for each in self.vanished],
            "unreadable_records": [
                {"path": each.path, "offset": each.offset, "reason": each.reason}
                for each in self.unreadable_records
            ],
        }

    def _skipped(self) -> Counter[str]:
        total: Counter[str] = Counter()
        for file in self.files:
            add_rules(total, file.skipped)
        return total
