"""Pages of a ranked list: where the next one begins.

A ranking is made anew for each page, and what was appended meanwhile has its place in it. So a
cursor remembers the last hit and its rank: the next page begins behind that hit wherever it stands
now, and at its rank should it be gone. A hit comes twice only if it has sunk below that one, and is
missed only if it has risen above it.
"""

import hashlib
import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from sqlalchemy.ext.asyncio import AsyncSession

from memory.crud import cursor as cursors
from memory.embeddings import Embedder
from memory.errors import InvalidInput
from memory.search import find
from memory.search.answer import Answer, Hit
from memory.search.request import MAX_LIMIT, Request, checked

__all__ = ["MAX_RANKED", "search"]

MAX_RANKED: Final = MAX_LIMIT
"""Hits of one query that pages show altogether; beyond, a narrower query finds more."""
_RISEN: Final = 10
"""Ranks that the last hit may have sunk by since the page before."""
_DIGITS: Final = 16  # of a hash that tells two queries apart


async def search(
    session: AsyncSession, request: Request, *, embedder: Embedder | None = None
) -> Answer:
    """Return the entries that answer a query best, a page at a time.

    See `memory.search.find.search` for what is found and what it raises. Raises InvalidInput
    (``bad_cursor``) as well, for a damaged cursor and for one of another query.
    """
    request = checked(request)
    kind = f"search {_digest(request)}"
    place = _place(kind, request.cursor) if request.cursor is not None else None
    rank = place[0] if place else 0
    most = rank + request.limit + 1 + (_RISEN if place else 0)
    answer = await find.search(
        session, replace(request, cursor=None, limit=min(most, MAX_RANKED)), embedder=embedder
    )
    start = _start(answer.hits, place) if place else 0
    hits = [
        replace(hit, cursor=cursors.encode(kind, number, str(hit.entry.id)))
        for number, hit in enumerate(answer.hits[start : start + request.limit], start=start + 1)
    ]
    has_more = len(answer.hits) > start + len(hits)
    return replace(answer, hits=hits, next_cursor=hits[-1].cursor if hits and has_more else None)


def _digest(request: Request) -> str:
    """Return what tells this query from others; "2h ago" is another time on the next page."""
    asked = replace(request, limit=1, cursor=None, since=None, until=None)
    return hashlib.sha256(repr(asked).encode("utf-8", "replace")).hexdigest()[:_DIGITS]


def _place(kind: str, cursor: str) -> tuple[int, uuid.UUID]:
    """Return the rank and the id of the hit that a cursor stands behind."""
    rank, last = cursors.decode(kind, cursor)
    try:
        return min(int(rank), MAX_RANKED), uuid.UUID(last)
    except (ValueError, AttributeError, TypeError):
        raise InvalidInput(
            "This is no cursor of a search; leave it out.", code="bad_cursor"
        ) from None


def _start(hits: Sequence[Hit], place: tuple[int, uuid.UUID]) -> int:
    rank, last = place
    return next((at for at, hit in enumerate(hits, start=1) if hit.entry.id == last), rank)
