"""Entries that are not indexed yet, searched as they stand, so that a writer finds its own write."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from sqlalchemy import Subquery, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from memory import text
from memory.models import Entry
from memory.search import place
from memory.search.candidates import Candidate
from memory.search.labels import speaker_of
from memory.search.place import Progress
from memory.search.request import Request
from memory.search.scope import scope
from memory.search.source import COLUMNS, SIZE, Source, searchable, source_of, within

__all__ = ["MAX_BYTES", "MAX_ENTRIES", "Tail", "matching", "read"]

MAX_ENTRIES: Final = 500
"""Newest entries that are looked at."""
MAX_BYTES: Final = 500_000
"""Bytes of content after which no older entry is looked at."""


@dataclass(frozen=True, slots=True)
class Tail:
    """The newest entries not indexed that answer a request, and how many were not looked at."""

    sources: list[Source]
    unindexed: int


async def read(session: AsyncSession, progress: Progress, request: Request) -> Tail:
    """Read the newest entries behind the index's place, within MAX_ENTRIES and MAX_BYTES."""
    waiting = await place.behind(session, place.after(progress))
    if not waiting:
        return Tail([], 0)
    newest = _newest(progress)
    seen = await session.scalar(select(func.count()).select_from(newest))
    found = select(*COLUMNS).join(newest, newest.c.id == Entry.id).where(*scope(request))
    rows = await session.execute(found)
    return Tail([source_of(row) for row in rows], max(0, waiting - int(seen or 0)))


def matching(
    sources: Collection[Source], lexemes: Collection[str], *, also: Collection[str] = ()
) -> list[Candidate]:
    """Return the entries that hold any of the lexemes, as the index would give them.

    The lexemes of ``also`` are read of these entries, and not looked for.
    """
    found: list[Candidate] = []
    for source in sources:
        words = _tokens(source.id, searchable(source))
        if any(lexeme in words.positions for lexeme in lexemes):
            places = {
                lexeme: ",".join(str(at + 1) for at in words.positions[lexeme])
                for lexeme in (*lexemes, *also)
                if lexeme in words.positions
            }
            candidate = Candidate(
                id=source.id,
                places=places,
                length=words.length,
                client=source.source_client,
                kind=source.kind,
                role=source.role or "",
                session=source.session_id.hex if source.session_id else "",
                speaker=speaker_of(source),
            )
            found.append(candidate)
    return found


def _newest(progress: Progress) -> Subquery:
    """Return the ids of the entries to look at."""
    newest = (
        select(Entry.id, Entry.epoch, Entry.xid, Entry.seq, SIZE.label("size"))
        .where(place.after(progress))
        .order_by(Entry.epoch.desc(), Entry.xid.desc(), Entry.seq.desc())
        .limit(MAX_ENTRIES)
        .subquery()
    )
    order = (newest.c.epoch.desc(), newest.c.xid.desc(), newest.c.seq.desc())
    return within(newest, *order, most=MAX_BYTES)


@lru_cache(maxsize=MAX_ENTRIES)
def _tokens(_entry_id: uuid.UUID, searched: str) -> text.Tokens:
    """Cut a text once for all searches until it is indexed."""
    return text.tokens(searched)
