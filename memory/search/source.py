"""What of an entry is searched."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol

from sqlalchemy import ColumnElement, Row, Subquery, func, select

from memory import text
from memory.drafts import Kind
from memory.models import Entry

__all__ = ["COLUMNS", "SIZE", "Said", "Source", "searchable", "source_of", "within"]

_MAX_CHARS: Final = text.MAX_CHARS + 1  # one more than is cut, so that the cutting shows
_NAMED: Final = frozenset({Kind.FACT, Kind.DECISION, Kind.PREFERENCE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Of an entry what the index keeps is made of; the content's beginning alone.

    ``said`` is a hash of the key and the whole content: entries that say the same have the same.
    """

    id: uuid.UUID
    kind: str
    role: str | None
    key: str | None
    source_client: str
    project_id: uuid.UUID | None
    session_id: uuid.UUID | None
    occurred_at: datetime
    content: str
    said: int


COLUMNS: Final[tuple[ColumnElement[Any], ...]] = (
    Entry.id.expression,
    Entry.kind.expression,
    Entry.role.expression,
    Entry.key.expression,
    Entry.source_client.expression,
    Entry.project_id.expression,
    Entry.session_id.expression,
    Entry.occurred_at.expression,
    func.left(Entry.content, _MAX_CHARS).label("content"),
    # 64 bits tell the few hundred entries of one answer apart.
    func.hashtextextended(func.concat(Entry.key, "\n", Entry.content), 0).label("said"),
)
"""The columns of a Source; for the hash a content is read whole."""

SIZE: Final[ColumnElement[int]] = func.least(func.octet_length(Entry.content), _MAX_CHARS)
"""About the bytes of a Source; known without reading the content."""


def within(chosen: Subquery, *order: ColumnElement[Any], most: int) -> Subquery:
    """Return the ids of rows (id, size ...) up to the one with which ``most`` bytes are reached."""
    before = func.sum(chosen.c.size).over(order_by=order) - chosen.c.size
    sized = select(chosen.c.id, before.label("before")).subquery()
    return select(sized.c.id).where(sized.c.before < most).subquery()


def source_of(row: Row[Any]) -> Source:
    """Return the source that COLUMNS were read for; further columns are left out."""
    return Source(**{name: getattr(row, name) for name in Source.__slots__})


class Said(Protocol):
    """What has a kind, a key and a content: an entry, or the part of one that was read."""

    @property
    def kind(self) -> str:
        """What it is, see `Kind`."""

    @property
    def key(self) -> str | None:
        """The name of a value that people chose; None for none."""

    @property
    def content(self) -> str:
        """What it says."""


def searchable(source: Said) -> str:
    """Return the text under which an entry is found; a value's key belongs to it."""
    if source.kind in _NAMED and source.key:
        return f"{source.key}\n{source.content}"
    return source.content
