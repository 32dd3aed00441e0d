"""Entries that a query names outright: by an id, or by a quoted phrase."""

import re
import unicodedata
import uuid
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import Final

from sqlalchemy import or_, select, text
from sqlalchemy.ext.asyncio import AsyncSession

from memory.models import Entry, Search, Session
from memory.search.labels import filters
from memory.search.request import Request
from memory.search.scope import named, times
from memory.search.source import COLUMNS, SIZE, Source, searchable, source_of, within
from memory.text import tokens, tsquery_word
from memory.text.lexemes import MAX_POSITION

__all__ = ["BY_SOURCE_ID", "MAX_VERIFIED", "OPENING", "by_id", "by_phrase", "holds"]

MAX_VERIFIED: Final = 200
"""Newest entries with a phrase's words in order whose text is read to verify the phrase."""
MAX_BYTES: Final = 4_000_000
"""Bytes of their content after which no further text is read."""
OPENING: Final = 3
"""First entries that stand for a session whose id was asked for."""

_MAX_WORDS: Final = 32  # of a phrase that are looked up; the text is compared whole
# PostgreSQL knows no order of the words behind its last position.
_MATCHES: Final = text(
    "(search.words @@ CAST(:in_order AS tsquery)"
    " OR (search.length > :last AND search.words @@ CAST(:all_words AS tsquery)))"
)
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


async def by_id(session: AsyncSession, ids: Sequence[str], request: Request) -> list[uuid.UUID]:
    """Return the entries with one of these ids, of our own or of a client's.

    The first eight or more digits of our own will do. A session's id gives its first entries.
    """
    if not ids:
        return []
    ranges = [_range(each) for each in ids if _BEGINNING.fullmatch(_digits(each))]
    found = list(await session.scalars(BY_SOURCE_ID, {"ids": list(ids), "most": MAX_VERIFIED}))
    of_sessions = [Session.source_session_id.in_(ids)]
    if ranges:
        of_entries = or_(*(Entry.id.between(low, high) for low, high in ranges))
        found += await session.scalars(select(Entry.id).where(of_entries).limit(MAX_VERIFIED))
        of_sessions += [Session.id.between(low, high) for low, high in ranges]
    for each in await session.scalars(select(Session.id).where(or_(*of_sessions)).limit(OPENING)):
        opening = select(Entry.id).where(Entry.session_id == each, *named(request))
        order = (Entry.position.asc().nulls_last(), Entry.occurred_at, Entry.seq)
        found += await session.scalars(opening.order_by(*order).limit(OPENING))
    allowed = select(Entry.id).where(Entry.id.in_(found), *named(request))
    kept = set(await session.scalars(allowed))
    return [each for each in dict.fromkeys(found) if each in kept]


async def by_phrase(
    session: AsyncSession, phrase: str, request: Request, *, now: datetime
) -> set[uuid.UUID]:
    """Return the newest indexed entries whose text holds the phrase as it was written.

    Letter case and white space do not count. The index finds the words in order, the text proves
    the phrase.
    """
    in_order, all_words = _queries(phrase)
    conditions = filters(request, now=now)
    arguments = {
        "in_order": "&".join([in_order, *conditions]),
        "all_words": "&".join([all_words, *conditions]),
        "last": MAX_POSITION,
    }
    newest = (
        select(Entry.id, SIZE.label("size"))
        .join(Search, Search.entry_id == Entry.id)
        .where(_MATCHES, *times(request))
        .order_by(Entry.id.desc())
        .limit(MAX_VERIFIED)
        .subquery()
    )
    chosen = within(newest, newest.c.id.desc(), most=MAX_BYTES)
    rows = await session.execute(select(*COLUMNS).join(chosen, chosen.c.id == Entry.id), arguments)
    return {row.id for row in rows if holds(source_of(row), phrase)}


def holds(source: Source, phrase: str) -> bool:
    """Tell whether an entry's text holds the phrase, whatever its letter case and white space."""
    return _plain(phrase) in _plain(searchable(source))


def _queries(phrase: str) -> tuple[str, str]:
    """Return the queries for the phrase's words at their distances, and for all of its words."""
    places: dict[int, str] = {}
    for lexeme, positions in tokens(phrase).positions.items():
        for at in positions:  # of a whole identifier and its first part, the part
            places[at] = min(places.get(at, lexeme), lexeme, key=len)
    ordered = sorted(places.items())[:_MAX_WORDS]
    quoted = [tsquery_word(lexeme) for _, lexeme in ordered]
    in_order = quoted[0]
    for ((before, _), (at, _)), word in zip(pairwise(ordered), quoted[1:], strict=True):
        in_order += f" <{at - before}> {word}"
    return f"({in_order})", "&".join(quoted)


def _plain(written: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", written).casefold().split())


def _digits(written: str) -> str:
    return written.replace("-", "").lower()


def _range(written: str) -> tuple[uuid.UUID, uuid.UUID]:
    digits = _digits(written)
    return uuid.UUID(digits.ljust(32, "0")), uuid.UUID(digits.ljust(32, "f"))
