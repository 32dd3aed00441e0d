"""Writing the index's segments: new ones, several joined into one, and none any more."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from memory.database.statements import copy_rows, rows_of
from memory.search import pages
from memory.search.pages import Merging, Page, Run, merged
from memory.search.segments import BLOCK, Columns, Piece

__all__ = ["FANOUT", "PAGES", "Known", "add", "due", "join", "remove_one"]

FANOUT: Final = 8
"""Segments of like size that are joined into one."""

_NEW: Final = text("""
    INSERT INTO search_segments
        (generation, first, entries, lengths, weights, times, sessions, spoken)
    VALUES (:generation, :first, :entries, :lengths, :weights, :times, :sessions, :spoken)
    RETURNING id
""")
_PIECES: Final = text("""
    SELECT id, first, entries FROM search_segments
    WHERE generation = :generation AND first >= :block ORDER BY first
""")
_JOINED: Final = text("""
    INSERT INTO search_segments
        (generation, first, entries, lengths, weights, times, sessions, spoken)
    SELECT generation, min(first), sum(entries), string_agg(lengths, '' ORDER BY first),
        string_agg(weights, '' ORDER BY first), string_agg(times, '' ORDER BY first),
        string_agg(sessions, '' ORDER BY first), string_agg(spoken, '' ORDER BY first)
    FROM search_segments WHERE id = ANY (CAST(:ids AS int[])) GROUP BY generation RETURNING id
""")
_KEYS: Final = """
    SELECT segment, first, octet_length(counts) + octet_length(positions) AS size
    FROM search_postings WHERE segment = ANY ($1::int[]) ORDER BY first, segment
"""
PAGES: Final = """
    SELECT page.* FROM unnest($1::int[], $2::text[]) AS asked (segment, first)
    CROSS JOIN LATERAL (
        SELECT segment, first, terms, sizes, places, counts, positions FROM search_postings
        WHERE segment = asked.segment AND first = asked.first OFFSET 0
    ) AS page
"""
_NO_POSTINGS: Final = text("DELETE FROM search_postings WHERE segment = ANY (CAST(:ids AS int[]))")
_NO_SEGMENTS: Final = text("DELETE FROM search_segments WHERE id = ANY (CAST(:ids AS int[]))")
_LAST: Final = text("""
    SELECT id, first, entries FROM search_segments WHERE generation = :generation
    ORDER BY first DESC LIMIT 1
""")
_NO_ENTRIES: Final = text("DELETE FROM search WHERE generation = :generation AND ordinal >= :first")
_ROOM: Final = (
    3_000_000  # bytes of counts and positions that are read at once, and the page that passes it
)


class Known(NamedTuple):
    """A segment as far as joining needs to know it."""

    id: int
    first: int
    entries: int


async def add(session: AsyncSession, generation: int, pieces: Sequence[Piece]) -> None:
    """Write pieces that follow one another in a block as one segment."""
    columns = [b"".join(each) for each in zip(*(each.columns for each in pieces), strict=True)]
    described = {
        "generation": generation,
        "first": pieces[0].first,
        "entries": sum(each.entries for each in pieces),
    }
    segment = await session.scalar(_NEW, Columns(*columns)._asdict() | described)
    await _write(session, segment, await asyncio.to_thread(_paged, [each.run for each in pieces]))


def due(pieces: Sequence[Known], *, is_last: bool = True) -> Sequence[Known]:
    """Return which segments of one block, in order, are to be joined now; none for none.

    A full block becomes one segment. Else the last ones are joined when there are FANOUT of one
    size, by powers of FANOUT, and none larger behind them: so each entry is written anew a few times
    at most, and a block has a few dozen segments at most. While more is to come at once, unless it
    ``is_last``, joining waits for the block: an entry of many is written anew once.
    """
    if len(pieces) > 1 and sum(each.entries for each in pieces) == BLOCK:
        return pieces
    if not pieces or not is_last:
        return ()
    sizes = [_size(each) for each in pieces]
    for size in range(sizes[-1], max(sizes) + 1):
        first = next((at for at in range(len(sizes), 0, -1) if sizes[at - 1] > size), 0)
        like = len(sizes) - first if size == sizes[-1] else sizes[first:].count(size)
        if like >= FANOUT:
            return pieces[first:]
    return ()


async def join(session: AsyncSession, generation: int, *, ordinal: int, is_last: bool) -> int:
    """Join what is `due` in the block of an entry, and return how many segments were joined."""
    block = ordinal - ordinal % BLOCK
    rows = await session.execute(_PIECES, {"generation": generation, "block": block})
    pieces = [Known(*row) for row in rows]
    chosen = due([each for each in pieces if each.first < block + BLOCK], is_last=is_last)
    if chosen:
        ids = [each.id for each in chosen]
        joined = await session.scalar(_JOINED, {"ids": ids})
        async for some in _merged(session, ids):
            await _write(session, joined, some)
        await _remove(session, ids)
    return len(chosen)


async def remove_one(session: AsyncSession, generation: int) -> bool:
    """Remove the last segment of a generation with its entries; tell whether there was one."""
    row = (await session.execute(_LAST, {"generation": generation})).one_or_none()
    if row is None:
        return False
    await _remove(session, [row.id])
    await session.execute(_NO_ENTRIES, {"generation": generation, "first": row.first})
    return True


async def _write(session: AsyncSession, segment: int, some: Iterable[Page]) -> None:
    rows = ((segment, *page) for page in some)
    await copy_rows(session, "search_postings", pages.COLUMNS, rows)


async def _merged(session: AsyncSession, ids: Sequence[int]) -> AsyncIterator[Sequence[Page]]:
    """Give the pages of several segments made one, in order.

    It goes along the segments' pages, so that a block of any size takes little memory: once those
    that begin before a term are read, no posting of an earlier term is to come.
    """
    keys = await rows_of(session, _KEYS, list(ids))
    merging = Merging()
    begin = 0
    while begin < len(keys):
        end = _end(keys, begin)
        named, firsts, _ = zip(*keys[begin:end], strict=True)
        rows = await rows_of(session, PAGES, named, firsts)
        below = keys[end]["first"] if end < len(keys) else None
        yield await asyncio.to_thread(_paged_below, merging, rows, below)
        begin = end


def _end(keys: Sequence[Any], begin: int) -> int:
    """Return where the pages end that are read at once, given their sizes."""
    size = 0
    for at in range(begin, len(keys)):
        size += keys[at]["size"]
        if size >= _ROOM:
            return at + 1
    return len(keys)


def _paged(some: Sequence[Run]) -> list[Page]:
    return list(pages.pages(merged(list(enumerate(some)))))


def _paged_below(merging: Merging, rows: Sequence[Any], below: str | None) -> list[Page]:
    """Take rows of pages, and return the pages of the terms below another."""
    for segment, *page in rows:
        merging.add(segment, pages.run_of(Page(*page)))  # whose numbers rise with their entries'
    return list(pages.pages(merging.take(below=below)))


async def _remove(session: AsyncSession, ids: Sequence[int]) -> None:
    await session.execute(_NO_POSTINGS, {"ids": ids})
    await session.execute(_NO_SEGMENTS, {"ids": ids})


def _size(piece: Known) -> int:
    """Return the whole power of FANOUT that a segment's entries reach."""
    return (piece.entries.bit_length() - 1) // (FANOUT.bit_length() - 1)
