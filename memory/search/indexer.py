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
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from memory import log
from memory.database.sqlstate import sqlstate_of
from memory.errors import InvalidInput
from memory.models import Entry
from memory.search import place
from memory.search.document import RULES, Document, document, wordless
from memory.search.place import Progress
from memory.search.source import COLUMNS, SIZE, Source, source_of, within

__all__ = ["MAX_BYTES", "MAX_ENTRIES", "Indexed", "index", "rebuild"]

MAX_ENTRIES: Final = 10_000
"""Entries that one pass may be asked for."""
MAX_BYTES: Final = 16_000_000
"""Bytes of content after which a pass takes no further entry, so that memory stays bounded."""

_CHUNK: Final = 250  # entries that are cut while as many are written
# SQLSTATE: a bad value, a limit exceeded, and a vector that cannot be read.
_REFUSED: Final = ("22", "54", "42601")
_LOCK: Final = "hashtextextended('search index of ' || current_schema(), 0)"

_INSERT: Final = text("""
    INSERT INTO search (entry_id, words, length)
    SELECT * FROM unnest(
        CAST(:ids AS uuid[]), CAST(CAST(:words AS text[]) AS tsvector[]), CAST(:lengths AS int[])
    )
    ON CONFLICT (entry_id) DO UPDATE SET words = excluded.words, length = excluded.length
""")

_log = log.get(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """What one pass did.

    ``count`` entries were indexed, ``failed`` of them without their words, which the log names;
    ``remaining`` are still to do (counted up to `place.COUNT_LIMIT`). ``is_anew`` says that the
    pass began the index anew because it was filled by older rules; ``is_busy`` that another
    process is indexing, so that this one did nothing.
    """

    count: int
    remaining: int
    failed: int = 0
    is_anew: bool = False
    is_busy: bool = False


async def index(session: AsyncSession, *, limit: int = 2000) -> Indexed:
    """Index the next entries of the feed, at most ``limit`` and about MAX_BYTES of content.

    Any number of processes may call it: one of them works, the others return at once. An index
    that older rules filled is filled anew from the first entry on, its rows answering until they
    are replaced; one that newer rules filled is left alone.
    """
    if not 1 <= limit <= MAX_ENTRIES:
        raise InvalidInput(f"limit takes a whole number from 1 to {MAX_ENTRIES}.")
    settled = await place.below_horizon(session)
    if not await session.scalar(text(f"SELECT pg_try_advisory_xact_lock({_LOCK})")):
        progress = await place.read(session) or Progress(rules=RULES)
        waiting = await place.behind(session, place.after(progress), settled)
        return Indexed(count=0, remaining=waiting, is_busy=True)
    before = await place.read(session) or Progress(rules=RULES)
    if before.rules > RULES:
        _log.warning("A newer version fills the search index; this one leaves it alone.")
        return Indexed(count=0, remaining=0)
    if is_anew := before.rules < RULES:
        _log.warning("The rules of search have changed: its index is filled anew.")
        before = Progress(rules=RULES)
    rows = (await session.execute(_next(before, settled, limit))).all()
    length, failed = await _fill(session, [source_of(row) for row in rows])
    progress = _advanced(before, rows, length)
    if rows or is_anew:
        await place.write(session, progress)
    remaining = await place.behind(session, place.after(progress), settled)
    return Indexed(count=len(rows), remaining=remaining, failed=failed, is_anew=is_anew)


async def rebuild(session: AsyncSession) -> None:
    """Have the passes that follow index every entry anew; waits for a pass that runs.

    The old rows answer until they are replaced, and each answer says how far that has come.
    """
    await session.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
    await place.write(session, Progress(rules=RULES))


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


def _advanced(before: Progress, rows: Sequence[Row[Any]], length: int) -> Progress:
    if not rows:
        return before
    last = rows[-1]
    return replace(
        before,
        epoch=last.epoch,
        xid=last.xid,
        seq=last.seq,
        entries=before.entries + len(rows),
        total_length=before.total_length + length,
    )


async def _fill(session: AsyncSession, sources: Sequence[Source]) -> tuple[int, int]:
    """Write the rows of some entries; return their length in words, and how many have none.

    A thread cuts the next entries while the database writes the last ones: each takes about as
    long, and the event loop stays free for others.
    """
    length = failed = 0
    async with aclosing(_documents(sources)) as chunks:
        async for chunk, documents in chunks:
            failed += await _store(session, chunk, documents)
            length += sum(each.length for each in documents)
    return length, failed


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
    session: AsyncSession, sources: Sequence[Source], documents: Sequence[Document]
) -> int:
    """Write the rows and return how many had to go without their words.

    When the database refuses a batch, its halves are tried, so that one entry stops no other.
    """
    if not sources:
        return 0
    try:
        async with session.begin_nested():
            await _insert(session, sources, documents)
    except DBAPIError as error:
        if not sqlstate_of(error).startswith(_REFUSED):
            raise
        if len(sources) == 1:
            _log.warning(
                "entry %s is indexed without its words: the database refused them with %s",
                sources[0].id,
                sqlstate_of(error),
            )
            await _insert(session, sources, [wordless(sources[0])])
            return 1
        half = len(sources) // 2
        first = await _store(session, sources[:half], documents[:half])
        return first + await _store(session, sources[half:], documents[half:])
    return 0


async def _insert(
    session: AsyncSession, sources: Sequence[Source], documents: Sequence[Document]
) -> None:
    await session.execute(
        _INSERT,
        {
            "ids": [source.id for source in sources],
            "words": [each.words for each in documents],
            "lengths": [each.length for each in documents],
        },
    )
