"""What today's rules about credentials would find in entries that are stored already.

It reports where and of which kind, never what; an entry is never changed.
"""

import asyncio
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from memory.crud.compare import Scanned, count_scanned, scan_page
from memory.crud_secret import RULES_VERSION, redact, redact_json
from memory.database import Database
from memory.drafts import Kind
from memory.errors import InvalidInput

__all__ = ["MAX_TOLD", "Held", "Rescan", "rescan"]

MAX_TOLD: Final = 1000
"""Entries with findings that are told one by one; all are counted."""

_PAGE: Final = 200  # an entry may have many MB
_PLACES: Final = ("entry", "session")
_UNSCANNED: Final = "not scanned"


@dataclass(frozen=True, slots=True)
class Held:
    """An entry, or a session's row, that holds credentials: how many of each kind."""

    place: str
    id: uuid.UUID
    kinds: dict[str, int]

    def facts(self) -> dict[str, Any]:
        """Return it as JSON-safe values."""
        return {"place": self.place, "id": str(self.id), "kinds": self.kinds}


@dataclass(slots=True, kw_only=True)
class Rescan:
    """What a scan found; ``cursor`` is where the next one goes on, None at the end.

    ``holding`` counts the entries and rows with findings, of which ``held`` has the first.
    """

    scanned: int = 0
    holding: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    held: list[Held] = field(default_factory=list)
    cursor: str | None = None

    def count(self, place: str, scanned: Sequence[tuple[uuid.UUID, Counter[str]]]) -> None:
        """Count what was found in each of these."""
        for ident, kinds in scanned:
            self.scanned += 1
            if not kinds:
                continue
            self.holding += 1
            self.kinds.update(kinds)
            if len(self.held) < MAX_TOLD:
                self.held.append(Held(place, ident, dict(sorted(kinds.items()))))

    def facts(self) -> dict[str, Any]:
        """Return it as JSON-safe values."""
        return {
            "rules": RULES_VERSION,
            "scanned": self.scanned,
            "holding": self.holding,
            "kinds": dict(sorted(self.kinds.items())),
            "held": [each.facts() for each in self.held],
            "more_held": self.holding - len(self.held),
            "cursor": self.cursor,
        }


async def rescan(
    database: Database,
    *,
    after: str | None = None,
    limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Rescan:
    """Scan entries, then the rows of sessions, from a cursor on, at most ``limit`` of them.

    ``progress`` is told how many were scanned and how many there are. Raises InvalidInput for what
    is no cursor.
    """
    place, last = _place(after)
    total = 0
    for each in _PLACES:
        count = partial(count_scanned, sessions=each == "session")
        total += await database.transact(count)
    found = Rescan()
    while limit is None or found.scanned < limit:
        size = _PAGE if limit is None else min(_PAGE, limit - found.scanned)
        look = partial(scan_page, sessions=place == "session", after=last, limit=size)
        page = await database.transact(look)
        found.count(place, await asyncio.to_thread(_scan, page))
        if progress is not None:
            progress(found.scanned, total)
        if page:
            last = page[-1].id
        if len(page) == size:
            continue
        if place == _PLACES[-1]:
            return found
        place, last = _PLACES[-1], None
    found.cursor = f"{place}/{last or ''}"
    return found


def _place(cursor: str | None) -> tuple[str, uuid.UUID | None]:
    if cursor is None:
        return _PLACES[0], None
    place, _, ident = cursor.partition("/")
    try:
        last = uuid.UUID(ident) if ident else None
    except ValueError:
        last = None
        place = ""
    if place not in _PLACES:
        raise InvalidInput(
            "This is no cursor of a rescan; leave it out to begin.", code="bad_cursor"
        )
    return place, last


def _scan(page: Sequence[Scanned]) -> list[tuple[uuid.UUID, Counter[str]]]:
    return [(each.id, _kinds(each)) for each in page]


def _kinds(each: Scanned) -> Counter[str]:
    kinds = redact(each.content)[1]
    if not kinds and each.key is not None and each.kind not in {Kind.SESSION, Kind.BINDING}:
        kinds = redact_json({each.key: each.content})[1]  # a name may make a secret of its value
    try:
        return kinds + redact_json(dict(each.payload or {}))[1]
    except InvalidInput:
        return kinds + Counter({_UNSCANNED: 1})
