"""What the ledger has of a client's store: drafts looked up as an import would, and paged through."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import func, select, text, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from memory.crud.known import KnownEntries
from memory.crud.prepare import Prepared, prepare
from memory.drafts import Draft, Kind
from memory.errors import InvalidInput
from memory.models import Entry, Session

__all__ = [
    "Imported",
    "Scanned",
    "Standing",
    "compare",
    "count_scanned",
    "imported_page",
    "scan_page",
    "unknown_sessions",
]

_ROW: Final = "session row"
_VALUES: Final = text("""
    SELECT DISTINCT session_id, key, content_hash
    FROM unnest(CAST(:sessions AS uuid[]), CAST(:keys AS text[]), CAST(:hashes AS bytea[]))
        AS wanted (session_id, key, content_hash)
    JOIN entries USING (session_id, key, content_hash)
""")


class Standing(StrEnum):
    """How a draft compares with the ledger."""

    STORED = "stored"
    OLDER = "older"
    """Stored, and the ledger has a newer version under the same id."""
    CHANGED = "changed"
    """The id is known, and no version of it says this."""
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Imported:
    """A message that an importer took from a client's record: its identity and its file."""

    source_id: str
    path: str | None
    session_id: uuid.UUID | None
    entry_id: uuid.UUID


@dataclass(frozen=True, slots=True)
class Scanned:
    """The texts of an entry, or of a session's row, for a scan."""

    id: uuid.UUID
    kind: str
    key: str | None
    content: str
    payload: Mapping[str, Any] | None


async def compare(session: AsyncSession, drafts: Sequence[Draft]) -> list[Standing]:
    """Say how each imported draft stands, in their order; nothing is stored.

    A draft that `append` would refuse is missing. The same look-up decides that decides what an
    import appends, so that what is missing here is what it would add.
    """
    batch = [_prepared(draft) for draft in drafts]
    known = await KnownEntries.read(session, [each for each in batch if each], imported=True)
    found = [_standing(each, known) if each else Standing.MISSING for each in batch]
    await _look_for_values(session, batch, found)
    return found


async def unknown_sessions(session: AsyncSession, ids: Sequence[uuid.UUID]) -> set[uuid.UUID]:
    """Return those of the ids that no session has."""
    if not ids:
        return set()
    rows = await session.scalars(select(Session.id).where(Session.id.in_(set(ids))))
    return set(ids) - set(rows)


async def imported_page(
    session: AsyncSession,
    *,
    provider: str,
    machine: str,
    after: tuple[str, uuid.UUID] | None,
    limit: int,
) -> list[Imported]:
    """Return messages that a machine's importer took from a client's records, by source id.

    Every version is one; ``after`` is the place of the last one that was returned.
    """
    statement = (
        select(Entry.source_id, Entry.origin["path"].astext, Entry.session_id, Entry.id)
        .where(
            Entry.provider == provider,
            Entry.machine == machine,
            Entry.kind == Kind.MESSAGE,
            Entry.source_id.is_not(None),
            Entry.origin.is_not(None),
        )
        .order_by(Entry.source_id, Entry.id)
        .limit(limit)
    )
    if after is not None:
        statement = statement.where(tuple_(Entry.source_id, Entry.id) > tuple_(*after))
    return [Imported(*row) for row in await session.execute(statement)]


async def scan_page(
    session: AsyncSession, *, sessions: bool, after: uuid.UUID | None, limit: int
) -> list[Scanned]:
    """Return entries, or the rows of sessions, in order of their ids, behind the last one."""
    table: Any = Session if sessions else Entry
    statement = select(table).order_by(table.id).limit(limit)
    if after is not None:
        statement = statement.where(table.id > after)
    rows = (await session.scalars(statement)).all()
    if sessions:
        return [
            Scanned(each.id, _ROW, None, each.title or "", {**each.payload, "cwd": each.directory})
            for each in rows
        ]
    return [Scanned(each.id, each.kind, each.key, each.content, each.payload) for each in rows]


async def count_scanned(session: AsyncSession, *, sessions: bool) -> int:
    """Return how many rows `scan_page` goes through in all."""
    table: Any = Session if sessions else Entry
    return await session.scalar(select(func.count()).select_from(table)) or 0


def _prepared(draft: Draft) -> Prepared | None:
    try:
        return prepare([draft], imported=True)[0]
    except InvalidInput:
        return None


def _standing(each: Prepared, known: KnownEntries) -> Standing:
    found = known.find(each)
    newest = known.newest(each)
    if found is not None:
        is_newest = each.draft.key is not None or newest is None or newest.id == found.id
        return Standing.STORED if is_newest else Standing.OLDER
    return Standing.MISSING if newest is None or each.draft.key else Standing.CHANGED


async def _look_for_values(
    session: AsyncSession, batch: Sequence[Prepared | None], found: list[Standing]
) -> None:
    """Find values that stood once under their key, though under another source id.

    An import does not append a value that stands already, wherever it came from.
    """
    places = [
        (place, each)
        for place, each in enumerate(batch)
        if each and each.draft.key is not None and found[place] is Standing.MISSING
    ]
    if not places:
        return
    rows = await session.execute(
        _VALUES,
        {
            "sessions": [each.draft.session_id for _, each in places],
            "keys": [each.draft.key for _, each in places],
            "hashes": [each.content_hash for _, each in places],
        },
    )
    stand = {(row.session_id, row.key, bytes(row.content_hash)) for row in rows}
    for place, each in places:
        if (each.draft.session_id, each.draft.key, each.content_hash) in stand:
            found[place] = Standing.STORED
