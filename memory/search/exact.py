"""Entries that a query names outright: by an id, or by a quoted phrase."""

import asyncio
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from sqlalchemy import or_, select, text
from sqlalchemy.ext.asyncio import AsyncSession

from memory.database.statements import rows_of
from memory.models import Entry, Session
from memory.search import candidates
from memory.search.packed import stand_in_order
from memory.search.phrases import in_order
from memory.search.positions import Moved
from memory.search.reach import Reach, first_recent
from memory.search.request import Request
from memory.search.scope import named
from memory.search.source import Said, Source, searchable
from memory.search.tail import places_of
from memory.text import MAX_CHARS, displayable, normalised, tokens

__all__ = [
    "BY_SOURCE_ID",
    "MAX_BYTES",
    "MAX_NAMED",
    "MAX_VERIFIED",
    "OPENING",
    "WRITTEN",
    "Quoted",
    "by_id",
    "by_phrase",
    "holds",
    "recent_with",
    "words_of",
]

MAX_VERIFIED: Final = 100
"""Entries with a phrase's words in order whose text is read to verify the phrase."""
MAX_NAMED: Final = 200
"""Entries that the ids of a query name, of each kind of id."""
MAX_BYTES: Final = 4_000_000
"""Bytes of their content after which no further text is read."""
OPENING: Final = 3
"""First entries that stand for a session whose id was asked for."""

_MAX_WORDS: Final = 32  # of a phrase that are looked up; the text is compared whole
_BEGINNING: Final = re.compile(r"[0-9a-f]{8,32}")

# Skips from provider to provider, since the index on source ids begins with them.
BY_SOURCE_ID: Final = text("""
    WITH RECURSIVE providers AS (
        (SELECT provider FROM entries ORDER BY provider LIMIT 1)
        UNION ALL
        SELECT (SELECT entries.provider FROM entries WHERE entries.provider > providers.provider
            ORDER BY entries.provider LIMIT 1)
        FROM providers WHERE providers.provider IS NOT NULL
    )
    SELECT entries.id FROM providers
    JOIN entries ON entries.provider = providers.provider
        AND entries.source_id = ANY (CAST(:ids AS text[]))
    LIMIT :most
""")


# What of each is indexed; of the likeliest first, so many bytes and the entry that passes them.
WRITTEN: Final = """
    SELECT id, kind, key, CASE WHEN size < $2 THEN content ELSE left(content, $2) END AS content
    FROM (
        SELECT sized.*, sum(size) OVER (ORDER BY number) - size AS before FROM (
            SELECT entries.id, kind, key, content, least(octet_length(content), $2) AS size, number
            FROM unnest($1::uuid[]) WITH ORDINALITY AS asked (id, number)
            JOIN entries ON entries.id = asked.id
        ) AS sized
    ) AS chosen
    WHERE before < $3
"""


class _Written(NamedTuple):
    """The part of an entry that tells what it says."""

    id: uuid.UUID
    kind: str
    key: str | None
    content: str


@dataclass(frozen=True, slots=True)
class Quoted:
    """The entries that hold a phrase, and whether there was no further one to look at."""

    entries: set[uuid.UUID]
    is_complete: bool


async def by_id(session: AsyncSession, ids: Sequence[str], request: Request) -> list[uuid.UUID]:
    """Return the entries with one of these ids, of our own or of a client's.

    The first eight or more digits of our own will do. A session's id gives its first entries.
    """
    if not ids:
        return []
    ranges = [_range(each) for each in ids if _BEGINNING.fullmatch(_digits(each))]
    found = list(await session.scalars(BY_SOURCE_ID, {"ids": list(ids), "most": MAX_NAMED}))
    of_sessions = [Session.source_session_id.in_(ids)]
    if ranges:
        of_entries = or_(*(Entry.id.between(low, high) for low, high in ranges))
        found += await session.scalars(select(Entry.id).where(of_entries).limit(MAX_NAMED))
        of_sessions += [Session.id.between(low, high) for low, high in ranges]
    for each in await session.scalars(select(Session.id).where(or_(*of_sessions)).limit(OPENING)):
        opening = select(Entry.id).where(Entry.session_id == each, *named(request))
        order = (Entry.position.asc().nulls_last(), Entry.occurred_at, Entry.seq)
        found += await session.scalars(opening.order_by(*order).limit(OPENING))
    allowed = select(Entry.id).where(Entry.id.in_(found), *named(request))
    kept = set(await session.scalars(allowed))
    return [each for each in dict.fromkeys(found) if each in kept]


def words_of(phrase: str) -> list[str]:
    """Return the lexemes by which the index finds a phrase, in order, some maybe twice."""
    return [lexeme for _, lexeme in _placed(phrase)]


async def by_phrase(session: AsyncSession, phrase: str, reach: Reach) -> Quoted:
    """Return the indexed entries whose text holds the phrase as it was written.

    Letter case and white space do not count. The index finds the words and their order, the text
    proves the phrase: that of the MAX_VERIFIED likeliest, within MAX_BYTES. Raises Moved.
    """
    below, generation = first_recent(reach.progress), reach.progress.generation
    bounds = {"below": below, "most": MAX_VERIFIED}
    likely = await in_order(session, reach.matches, _placed(phrase), **bounds)
    if not likely.ordinals:
        return Quoted(set(), likely.is_all)
    read = await candidates.read(session, generation, likely.ordinals)
    ids = {each.ordinal: each.id for each in read}
    if len(ids) < len(likely.ordinals):
        raise Moved
    likeliest = [ids[each] for each in likely.ordinals]
    rows = await rows_of(session, WRITTEN, likeliest, MAX_CHARS, MAX_BYTES)
    written = [_Written(*row) for row in rows]
    found = await asyncio.to_thread(lambda: {each.id for each in written if holds(each, phrase)})
    return Quoted(found, is_complete=likely.is_all and len(rows) == len(likeliest))


def recent_with(phrase: str, sources: Sequence[Source]) -> set[uuid.UUID]:
    """Return those of some entries, which are not indexed yet, that hold the phrase."""
    words = _placed(phrase)
    lexemes = {lexeme for _, lexeme in words}
    return {
        each.id
        for each in sources
        if stand_in_order(places_of(each, lexemes), words) and holds(each, phrase)
    }


def holds(source: Said, phrase: str) -> bool:
    """Tell whether an entry's text holds the phrase, whatever its letter case and white space."""
    wanted, said = " ".join(_plain(phrase).split()), _plain(searchable(source))
    return wanted in said or wanted in " ".join(said.split())


def _placed(phrase: str) -> list[tuple[int, str]]:
    """Return the phrase's words with their positions, at most _MAX_WORDS."""
    places: dict[int, str] = {}
    for lexeme, positions in tokens(phrase).positions.items():
        for at in positions:  # of a whole identifier and its first part, the part
            places[at] = min(places.get(at, lexeme), lexeme, key=len)
    return sorted(places.items())[:_MAX_WORDS]


def _plain(written: str) -> str:
    return normalised(displayable(written)).casefold()


def _digits(written: str) -> str:
    return written.replace("-", "").lower()


def _range(written: str) -> tuple[uuid.UUID, uuid.UUID]:
    digits = _digits(written)
    return uuid.UUID(digits.ljust(32, "0")), uuid.UUID(digits.ljust(32, "f"))
