"""Filling the index: one bounded pass after another along the change feed.

The words are cut here and not in the append, which they would slow down twentyfold (measured);
what is not indexed yet is searched directly, see `memory.search.tail`.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import ColumnElement, Row, Select, select, text
from sqlalchemy.ext.asyncio import AsyncSession

from memory import log
from memory.database.statements import copy_rows
from memory.errors import InvalidInput
from memory.models import Entry
from memory.search import place, postings
from memory.search.document import RULES, Document, document
from memory.search.place import Progress, State
from memory.search.segments import Growing
from memory.search.source import COLUMNS, SIZE, Source, source_of, within

__all__ = ["MAX_BYTES", "MAX_ENTRIES", "Indexed", "index", "rebuild"]

MAX_ENTRIES: Final = 10_000
"""Entries that one pass may be asked for."""
MAX_BYTES: Final = 16_000_000
"""Bytes of content after which a pass takes no further entry, so that memory stays bounded."""

_CHUNK: Final = 250  # entries that are cut while as many are written
_LOCK: Final = "hashtextextended('search index of ' || current_schema(), 0)"

_COLUMNS: Final = (
    *("generation", "ordinal", "entry_id", "length"),
    *("labels", "lexemes", "ends", "positions"),
)

_log = log.get(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """What one pass did.

    ``count`` entries were indexed; ``remaining`` are still to do (counted up to `place.COUNT_LIMIT`). ``is_anew`` says that the
    index is being filled anew beside the one that answers; ``is_busy`` that another process is
    indexing, so that this one did nothing.
    """

    count: int
    remaining: int
    is_anew: bool = False
    is_busy: bool = False


async def index(session: AsyncSession, *, limit: int = 2000) -> Indexed:
    """Index the next entries of the feed, at most ``limit`` and about MAX_BYTES of content.

    Any number of processes may call it: one of them works, the others return at once. An index
    that older rules filled is filled anew beside the old one, which answers, and gets what is
    appended, until the new one has caught up. One that newer rules filled is left alone.
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
    return await _advance(session, live, building, settled=settled, limit=limit)


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


async def _advance(
    session: AsyncSession,
    live: Progress,
    building: Progress | None,
    *,
    settled: ColumnElement[bool],
    limit: int,
) -> Indexed:
    """Index the next entries in the live generation, or, when none are left, in the other.

    A pass with nothing else to do removes a piece of what was retired.
    """
    state, progress = State.LIVE, live
    rows = (await session.execute(_next(live, settled, limit))).all()
    if not rows and building is not None:
        state, progress = State.BUILDING, building
        rows = (await session.execute(_next(building, settled, limit))).all()
    if rows:
        progress = await _filled(session, progress, rows)
        await place.write(session, progress, state)
    elif building is None:
        await _clean(session)
    remaining = await place.behind(session, place.after(progress), settled)
    if state is State.LIVE and building is not None:
        remaining = max(1, await place.behind(session, place.after(building), settled))
    elif state is State.BUILDING and not remaining:
        await place.retire(session, live)
        await place.write(session, progress, State.LIVE)
    return Indexed(count=len(rows), remaining=remaining, is_anew=building is not None)


async def _clean(session: AsyncSession) -> None:
    """Remove a segment of a generation that was retired long enough ago."""
    generation = await place.retired(session)
    if generation is not None and not await postings.remove_one(session, generation):
        await place.forget(session, generation)


def _next(progress: Progress, settled: ColumnElement[bool], limit: int) -> Select[Any]:
    """Return the statement that reads the next entries, in feed order, within MAX_BYTES."""
    order = (Entry.epoch, Entry.xid, Entry.seq)
    batch = (
        select(Entry.id, *order, SIZE.label("size"))
        .where(place.after(progress), settled)
        .order_by(*order)
        .limit(limit)
        .subquery()
    )
    chosen = within(batch, batch.c.epoch, batch.c.xid, batch.c.seq, most=MAX_BYTES)
    return select(*COLUMNS, *order).join(chosen, chosen.c.id == Entry.id).order_by(*order)


async def _filled(session: AsyncSession, before: Progress, rows: Sequence[Row[Any]]) -> Progress:
    """Write the rows and segments of some entries; return how far that is.

    A thread cuts the next entries while the database writes the last ones: each takes about as
    long, and the event loop stays free for others.
    """
    total_length = before.total_length
    growing = Growing(before.entries)
    async with aclosing(_documents([source_of(row) for row in rows])) as chunks:
        async for chunk, documents in chunks:
            first = growing.first + growing.entries
            await _store(session, before.generation, first, chunk, documents)
            for source, each in zip(chunk, documents, strict=True):
                total_length += each.length
                growing.add(source, each.counts, length=each.length, weight=each.weight)
                if not growing.room:
                    growing = await _written(session, before.generation, growing)
    await _written(session, before.generation, growing)
    last = rows[-1]
    return replace(
        before,
        epoch=last.epoch,
        xid=last.xid,
        seq=last.seq,
        entries=before.entries + len(rows),
        total_length=total_length,
    )


async def _written(session: AsyncSession, generation: int, made: Growing) -> Growing:
    """Write a segment, join it with those before it where that is due, and return the next."""
    if made.entries:
        await postings.add(session, generation, made)
        while await postings.join(session, generation, ordinal=made.first):
            pass
    return Growing(made.first + made.entries)


async def _documents(
    sources: Sequence[Source],
) -> AsyncGenerator[tuple[Sequence[Source], Sequence[Document]], None]:
    """Yield the entries in chunks with their documents; meanwhile the next chunk is cut."""
    chunks = [sources[at : at + _CHUNK] for at in range(0, len(sources), _CHUNK)]
    if not chunks:
        return
    ahead = _start_cutting(chunks[0])
    try:
        for chunk, following in zip(chunks, [*chunks[1:], []], strict=True):
            documents = await ahead
            ahead = _start_cutting(following)
            yield chunk, documents
    finally:
        ahead.cancel()


def _start_cutting(sources: Sequence[Source]) -> asyncio.Task[list[Document]]:
    return asyncio.create_task(asyncio.to_thread(lambda: [document(each) for each in sources]))


async def _store(
    session: AsyncSession,
    generation: int,
    first: int,
    sources: Sequence[Source],
    documents: Sequence[Document],
) -> None:
    """Write where the words of some entries stand."""
    rows = (
        (generation, ordinal, source.id, each.length, each.carried, *each.places)
        for ordinal, (source, each) in enumerate(zip(sources, documents, strict=True), start=first)
    )
    await copy_rows(session, "search", _COLUMNS, rows)
