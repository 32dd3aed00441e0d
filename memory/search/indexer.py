"""Filling the index: one bounded pass after another along the change feed.

The words are cut here and not in the append, which they would slow down twentyfold (measured);
what is not indexed yet is searched directly, see `memory.search.tail`.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import ColumnElement, select, text
from sqlalchemy.ext.asyncio import AsyncSession

from memory import log
from memory.database.statements import copy_rows
from memory.errors import InvalidInput
from memory.models import Entry
from memory.search import place, postings
from memory.search.cutting import Cut, Cutters, Numbered
from memory.search.document import RULES
from memory.search.place import Progress, State
from memory.search.segments import BLOCK, Piece
from memory.search.source import COLUMNS, SIZE, Source, source_of, within

__all__ = ["MAX_BYTES", "MAX_ENTRIES", "Indexed", "index", "rebuild"]

MAX_ENTRIES: Final = 10_000
"""Entries that one pass may be asked for."""
MAX_BYTES: Final = 16_000_000
"""Bytes of content after which a pass takes no further entry, so that memory stays bounded."""

_CHUNK: Final = 250  # entries that are cut while as many are written
_MANY: Final = 1_000  # entries of a pass that may leave joining to later ones
_LOCK: Final = "hashtextextended('search index of ' || current_schema(), 0)"

_log = log.get(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """What one pass did.

    ``count`` entries were indexed; ``remaining`` are still to do (counted up to
    `place.COUNT_LIMIT`). ``is_anew`` says that the index is being filled anew beside the one that
    answers; ``is_busy`` that another process is indexing, so that this one did nothing.
    """

    count: int
    remaining: int
    is_anew: bool = False
    is_busy: bool = False


async def index(
    session: AsyncSession, *, limit: int = 2000, cutters: Cutters | None = None
) -> Indexed:
    """Index the next entries of the feed, at most ``limit`` and about MAX_BYTES of content.

    Any number of processes may call it: one of them works, the others return at once. An index
    that older rules filled is filled anew beside the old one, which answers, and gets what is
    appended, until the new one has caught up. One that newer rules filled is left alone. Raises
    WorkerDied when a process of ``cutters``, which use several cores, died.
    """
    if not 1 <= limit <= MAX_ENTRIES:
        raise InvalidInput(f"limit takes a whole number from 1 to {MAX_ENTRIES}.")
    settled = await place.below_horizon(session)
    is_mine = await session.scalar(text(f"SELECT pg_try_advisory_xact_lock({_LOCK})"))
    found = await place.generations(session)
    live = found.get(State.LIVE)
    if live is None:
        live = Progress(rules=RULES, generation=await place.following(session))
    building = found.get(State.BUILDING)
    if not is_mine:
        waiting = await place.behind(session, place.after(building or live), settled)
        return Indexed(count=0, remaining=waiting, is_busy=True)
    if live.rules > RULES:
        _log.warning("A newer version fills the search index; this one leaves it alone.")
        return Indexed(count=0, remaining=0)
    if building is not None and building.rules > RULES:
        building = None  # a newer version's: that one will finish it
    elif min(live.rules, building.rules if building else RULES) < RULES and (
        building is None or building.rules < RULES
    ):
        _log.warning("The rules of search have changed: its index is filled anew.")
        building = await _begun_anew(session, instead_of=building)
    work = _Pass(session, settled, limit, cutters or Cutters())
    return await _advance(work, live, building)


async def rebuild(session: AsyncSession) -> int:
    """Have the passes that follow index every entry anew, or go on with it.

    The old index answers until the new one has caught up. Returns the number of entries that a
    rebuild which was stopped has indexed already. Waits for a pass that runs.
    """
    await session.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
    found = await place.generations(session)
    building = found.get(State.BUILDING)
    if building is not None and building.rules == RULES:
        return building.entries
    if State.LIVE in found:
        await _begun_anew(session, instead_of=building)
    return 0


async def _begun_anew(session: AsyncSession, *, instead_of: Progress | None) -> Progress:
    """Begin another generation beside the live one."""
    if instead_of is not None:
        await place.retire(session, instead_of)
    begun = Progress(generation=await place.following(session), rules=RULES)
    await place.write(session, begun, State.BUILDING)
    return begun


@dataclass(frozen=True, slots=True)
class _Pass:
    """What one pass works with."""

    session: AsyncSession
    settled: ColumnElement[bool]
    limit: int
    cutters: Cutters

    async def rows(self, progress: Progress) -> Sequence[Any]:
        """Read the next entries of a generation, in feed order, within MAX_BYTES."""
        order = (Entry.epoch, Entry.xid, Entry.seq)
        batch = (
            select(Entry.id, *order, SIZE.label("size"))
            .where(place.after(progress), self.settled)
            .order_by(*order)
            .limit(self.limit)
            .subquery()
        )
        chosen = within(batch, batch.c.epoch, batch.c.xid, batch.c.seq, most=MAX_BYTES)
        rows = select(*COLUMNS, *order).join(chosen, chosen.c.id == Entry.id).order_by(*order)
        return (await self.session.execute(rows)).all()

    async def behind(self, progress: Progress) -> int:
        """Count what a generation still lacks."""
        return await place.behind(self.session, place.after(progress), self.settled)


async def _advance(work: _Pass, live: Progress, building: Progress | None) -> Indexed:
    """Index the next entries in the live generation, or, when none are left, in the other.

    A pass with nothing else to do removes a piece of what was retired.
    """
    session = work.session
    state, progress = State.LIVE, live
    rows = await work.rows(live)
    if not rows and building is not None:
        state, progress = State.BUILDING, building
        rows = await work.rows(building)
    if rows:
        progress = await _filled(work, progress, rows)
        await place.write(session, progress, state)
    elif building is None:
        await _clean(session)
    remaining = await work.behind(progress)
    if state is State.LIVE and building is not None:
        remaining = max(1, await work.behind(building))
    elif state is State.BUILDING and not remaining:
        await place.retire(session, live)
        await place.write(session, progress, State.LIVE)
    return Indexed(count=len(rows), remaining=remaining, is_anew=building is not None)


async def _clean(session: AsyncSession) -> None:
    """Remove a segment of a generation that was retired long enough ago."""
    generation = await place.retired(session)
    if generation is not None and not await postings.remove_one(session, generation):
        await place.forget(session, generation)


async def _filled(work: _Pass, before: Progress, rows: Sequence[Any]) -> Progress:
    """Write the numbers and segments of some entries; return how far that is.

    The next entries are cut while the database writes the last ones, and the event loop stays free
    for others.
    """
    session = work.session
    total_length, entries = before.total_length, before.entries
    pieces: list[Piece] = []
    async with aclosing(_cut([source_of(row) for row in rows], entries, work.cutters)) as chunks:
        async for cut in chunks:
            numbered = ((before.generation, *row) for row in cut.rows)
            await copy_rows(session, "search", ("generation", *Numbered._fields), numbered)
            total_length += sum(row.length for row in cut.rows)
            entries += len(cut.rows)
            pieces.append(cut.piece)
            if not entries % BLOCK:
                await _write(session, before.generation, pieces, is_last=False)
                pieces = []
    is_last = len(rows) < max(work.limit, _MANY)  # or as many are to be expected
    await _write(session, before.generation, pieces, is_last=is_last)
    last = rows[-1]
    return replace(
        before,
        epoch=last.epoch,
        xid=last.xid,
        seq=last.seq,
        entries=entries,
        total_length=total_length,
    )


async def _write(
    session: AsyncSession, generation: int, pieces: Sequence[Piece], *, is_last: bool
) -> None:
    """Write pieces as a segment, and join it with those before it where that is due."""
    if pieces:
        await postings.add(session, generation, pieces)
        ordinal = pieces[0].first
        while await postings.join(session, generation, ordinal=ordinal, is_last=is_last):
            pass


async def _cut(
    sources: Sequence[Source], first: int, cutters: Cutters
) -> AsyncGenerator[Cut, None]:
    """Yield the entries, numbered from ``first`` on, in chunks; meanwhile the next ones are cut."""
    chunks = list(_chunks(sources, first))
    under_way: deque[asyncio.Task[Cut]] = deque()
    try:
        for at in range(len(chunks)):
            for number, chunk in chunks[at + len(under_way) : at + cutters.count + 1]:
                under_way.append(asyncio.create_task(cutters.cut(number, chunk)))
            yield await under_way.popleft()
    finally:
        for each in under_way:
            each.cancel()


def _chunks(sources: Sequence[Source], first: int) -> Iterator[tuple[int, Sequence[Source]]]:
    """Give the entries in chunks, each in one block, with the number of its first."""
    begin = 0
    while begin < len(sources):
        number = first + begin
        end = min(begin + _CHUNK, begin + BLOCK - number % BLOCK)
        yield number, sources[begin:end]
        begin = end
