"""Writing the index's segments: new ones, several joined into one, and none any more."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from memory.database.statements import copy_rows
from memory.search.segments import BLOCK, Growing

__all__ = ["FANOUT", "Piece", "add", "due", "join", "remove_one"]

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
# Ids of segments rise with the numbers of their entries, so their order is that of the entries.
_JOINED_POSTINGS: Final = text("""
    INSERT INTO search_postings (term, segment, places, counts)
    SELECT term, :joined, string_agg(places, '' ORDER BY segment),
        string_agg(counts, '' ORDER BY segment)
    FROM search_postings WHERE segment = ANY (CAST(:ids AS int[])) GROUP BY term
""")
_NO_POSTINGS: Final = text("DELETE FROM search_postings WHERE segment = ANY (CAST(:ids AS int[]))")
_NO_SEGMENTS: Final = text("DELETE FROM search_segments WHERE id = ANY (CAST(:ids AS int[]))")
_LAST: Final = text("""
    SELECT id, first, entries FROM search_segments WHERE generation = :generation
    ORDER BY first DESC LIMIT 1
""")
_NO_ENTRIES: Final = text("DELETE FROM search WHERE generation = :generation AND ordinal >= :first")
# Sorting in memory what a whole block holds is several times faster than on disk.
_ROOM: Final = text("SET LOCAL work_mem = '64MB'")


class Piece(NamedTuple):
    """A segment as far as joining needs to know it."""

    id: int
    first: int
    entries: int


async def add(session: AsyncSession, generation: int, made: Growing) -> None:
    """Write a segment."""
    described = {"generation": generation, "first": made.first, "entries": made.entries}
    segment = await session.scalar(_NEW, made.columns()._asdict() | described)
    rows = ((term, segment, places, counts) for term, places, counts in made.postings())
    await copy_rows(session, "search_postings", ("term", "segment", "places", "counts"), rows)


def due(pieces: Sequence[Piece], *, is_last: bool = True) -> Sequence[Piece]:
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
    pieces = [Piece(*row) for row in rows]
    chosen = due([each for each in pieces if each.first < block + BLOCK], is_last=is_last)
    if chosen:
        ids = [each.id for each in chosen]
        await session.execute(_ROOM)
        joined = await session.scalar(_JOINED, {"ids": ids})
        await session.execute(_JOINED_POSTINGS, {"ids": ids, "joined": joined})
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


async def _remove(session: AsyncSession, ids: Sequence[int]) -> None:
    await session.execute(_NO_POSTINGS, {"ids": ids})
    await session.execute(_NO_SEGMENTS, {"ids": ids})


def _size(piece: Piece) -> int:
    """Return the whole power of FANOUT that a segment's entries reach."""
    return (piece.entries.bit_length() - 1) // (FANOUT.bit_length() - 1)
