"""Entries that are not indexed yet, searched as they stand, so that a writer finds its own write."""

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from sqlalchemy import Subquery, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from memory import text
from memory.database.statements import rows_of
from memory.models import Entry
from memory.search import place
from memory.search.candidates import Candidate
from memory.search.labels import Carried, carried, labels
from memory.search.packed import pack
from memory.search.pages import postings
from memory.search.place import Progress
from memory.search.request import Request
from memory.search.scope import scope
from memory.search.segments import Growing, Posting, Segment, posting_of, segment_of
from memory.search.source import COLUMNS, SIZE, Source, searchable, source_of, within
from memory.search.voices import weight_of

__all__ = [
    "MAX_BYTES",
    "MAX_ENTRIES",
    "WAITING",
    "Tail",
    "as_segment",
    "candidate_of",
    "places_of",
    "read",
    "words_of",
]

MAX_ENTRIES: Final = 500
"""Newest entries that are looked at."""
MAX_BYTES: Final = 500_000
"""Bytes of content after which no older entry is looked at."""
# Asked by every search; it counts what `place.behind` counts.
WAITING: Final = """
    SELECT count(*) FROM (
        SELECT FROM entries WHERE (epoch, xid, seq) > ($1::int, $2::text::xid8, $3::bigint) LIMIT $4
    ) AS waiting
"""


@dataclass(frozen=True, slots=True)
class Tail:
    """The newest entries not indexed that answer a request, and how many were not looked at."""

    sources: list[Source]
    unindexed: int


async def read(session: AsyncSession, progress: Progress, request: Request) -> Tail:
    """Read the newest entries behind the index's place, within MAX_ENTRIES and MAX_BYTES."""
    behind = (progress.epoch, str(progress.xid), progress.seq)
    ((waiting,),) = await rows_of(session, WAITING, *behind, place.COUNT_LIMIT)
    if not waiting:
        return Tail([], 0)
    newest = _newest(progress)
    seen = await session.scalar(select(func.count()).select_from(newest))
    found = select(*COLUMNS).join(newest, newest.c.id == Entry.id).where(*scope(request))
    rows = await session.execute(found.order_by(Entry.epoch, Entry.xid, Entry.seq))
    return Tail([source_of(row) for row in rows], max(0, waiting - int(seen or 0)))


def as_segment(
    sources: Sequence[Source], terms: Collection[str], *, first: int
) -> tuple[Segment, Mapping[str, Posting]]:
    """Return the entries as a segment, numbered from ``first`` on, and its postings."""
    growing = Growing(first)
    for source in sources:
        words = _tokens(source.id, searchable(source))
        held = {term: words.positions[term] for term in terms if term in words.positions}
        packed = pack(held, [label for label in labels(source) if label in terms])
        weight = weight_of(source.kind, source.role)
        growing.add(source, packed, length=words.length, weight=weight)
    piece = growing.piece()
    found = {
        term: posting_of(first, stored.places, stored.counts)
        for term, stored in postings(piece.run)
    }
    return segment_of(first, piece.columns), found


def words_of(sources: Sequence[Source]) -> set[str]:
    """Return all words of some entries."""
    return {
        lexeme for source in sources for lexeme in _tokens(source.id, searchable(source)).positions
    }


def places_of(source: Source, lexemes: Collection[str]) -> dict[str, list[int]]:
    """Return where the lexemes stand in an entry."""
    held = _tokens(source.id, searchable(source)).positions
    return {lexeme: held[lexeme] for lexeme in lexemes if lexeme in held}


def candidate_of(source: Source, *, ordinal: int) -> Candidate:
    """Return an entry as the index would give it."""
    return Candidate(
        id=source.id,
        counts={},
        length=_tokens(source.id, searchable(source)).length,
        carried=Carried(*carried(source).split("\n")),
        occurred_at=source.occurred_at,
        said=source.said,
        ordinal=ordinal,
    )


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


@lru_cache(maxsize=2 * MAX_ENTRIES)  # so that a new entry does not push out the next one
def _tokens(_entry_id: uuid.UUID, searched: str) -> text.Tokens:
    """Cut a text once for all searches until it is indexed."""
    return text.tokens(searched)
