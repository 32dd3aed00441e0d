"""Vectors of entries: made in the background, and asked for what lies near a question."""

import asyncio
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import Float, Row, Select, Text, bindparam, cast, select, text
from sqlalchemy.ext.asyncio import AsyncSession

from memory.crud import get_checkpoints, set_checkpoint
from memory.drafts import OWN_KINDS
from memory.embeddings import Embedder
from memory.errors import InvalidInput
from memory.models import Entry
from memory.projections import VECTOR_DIMENSIONS, Vector
from memory.search import place
from memory.search.place import Progress
from memory.search.request import Request
from memory.search.scope import scope
from memory.search.source import COLUMNS, Source, searchable, source_of

__all__ = [
    "DEPTH",
    "EF_SEARCH",
    "MAX_ENTRIES",
    "MAX_FEW",
    "MAX_SCANNED",
    "MIN_COSINE",
    "NEAREST_OF_FEW",
    "Asked",
    "Embedded",
    "Few",
    "embed",
    "nearest",
]

MAX_ENTRIES: Final = 1_000
"""Entries that one pass may be asked for; a hundred take about a second."""
DEPTH: Final = 100
"""Nearest entries that a question is answered from, beside those of its words and the newest."""
MIN_COSINE: Final = 0.25
"""Nearness below which an entry that shares no word with the question does not answer it."""

_PROVIDER: Final = "memory.embeddings"  # under which the place in the feed is remembered
_PREVIOUS_CHARS: Final = 600
_LOCK: Final = text(
    "SELECT pg_try_advisory_xact_lock(hashtextextended('vectors of ' || current_schema(), 0))"
)
_INSERT: Final = text("""
    INSERT INTO vectors (entry_id, model, embedding)
    SELECT id, :model, CAST(vector AS halfvec)
    FROM unnest(CAST(:ids AS uuid[]), CAST(:vectors AS text[])) AS made (id, vector)
    ON CONFLICT (entry_id, model) DO UPDATE SET embedding = excluded.embedding
""")
# A short answer means little without the turn before it; tools that lie between do not count.
_PREVIOUS: Final = text("""
    SELECT entry.id, before.content FROM entries AS entry CROSS JOIN LATERAL (
        SELECT near.content FROM (
            SELECT left(other.content, :chars) AS content, other.kind, other.role
            FROM entries AS other
            WHERE other.session_id = entry.session_id
                AND (other.position, other.occurred_at, other.seq)
                    < (entry.position, entry.occurred_at, entry.seq)
            ORDER BY other.position DESC, other.occurred_at DESC, other.seq DESC LIMIT 16
        ) AS near
        WHERE near.kind = 'message' AND near.role IN ('user', 'assistant', 'summary')
        LIMIT 1
    ) AS before
    WHERE entry.id = ANY (CAST(:ids AS uuid[]))
""")
EF_SEARCH: Final = 500
"""Candidates of the index of vectors; 100 find 85 of the 100 nearest of 100,000, 500 find 98."""
MAX_SCANNED: Final = 100_000
"""Vectors that a search filtered to more than MAX_FEW looks at, at most."""
MAX_FEW: Final = 8_000
"""Entries that a filter leaves of which every vector is compared; else the index finds the near."""

_SETTINGS: Final = (
    # Filters leave few of the nearest: go on until there are enough.
    text("SET LOCAL hnsw.iterative_scan = strict_order"),
    text(f"SET LOCAL hnsw.ef_search = {EF_SEARCH}"),
    text(f"SET LOCAL hnsw.max_scan_tuples = {MAX_SCANNED}"),
)
# Materialised, so that no index of vectors is used.
NEAREST_OF_FEW: Final = text(f"""
    WITH near AS MATERIALIZED (
        SELECT entry_id, embedding <=> (
            SELECT CAST(CAST(:vector AS text) AS halfvec({VECTOR_DIMENSIONS}))
        ) AS distance
        FROM search JOIN vectors USING (entry_id)
        WHERE generation = :generation AND ordinal = ANY (CAST(:ordinals AS int[]))
            AND model = :model
    )
    SELECT entry_id, distance FROM near ORDER BY distance LIMIT {DEPTH}
""")  # noqa: S608 - numbers of our own
# Selected, so that the question's vector is read from its letters once and not for each entry.
_ASKED: Final = select(
    cast(cast(bindparam("vector"), Text), HALFVEC(VECTOR_DIMENSIONS))
).scalar_subquery()
_DISTANCE: Final = Vector.embedding.op("<=>", return_type=Float())(_ASKED).label("distance")


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """What one pass did: entries embedded, and how many are still to do (see COUNT_LIMIT)."""

    count: int
    remaining: int
    is_busy: bool = False


async def embed(session: AsyncSession, embedder: Embedder, *, limit: int = 100) -> Embedded:
    """Make the vectors of the next entries of the feed.

    Any number of processes may call it: one works, the others return at once. Each model has its
    own place in the feed, so that a change of model embeds everything anew.
    """
    if not 1 <= limit <= MAX_ENTRIES:
        raise InvalidInput(f"limit takes a whole number from 1 to {MAX_ENTRIES}.")
    settled = await place.below_horizon(session)
    is_mine = await session.scalar(_LOCK)
    states = await get_checkpoints(session, _PROVIDER, "")
    progress = Progress(rules=0, **states.get(embedder.name, {}))
    if not is_mine:
        waiting = await place.behind(session, place.after(progress), settled)
        return Embedded(count=0, remaining=waiting, is_busy=True)
    order = (Entry.epoch, Entry.xid, Entry.seq)
    following = select(*COLUMNS, *order).where(place.after(progress), settled)
    statement: Select[Any] = following.order_by(*order).limit(limit)
    rows = (await session.execute(statement)).all()
    sources = [source_of(row) for row in rows]
    count = await _store(session, embedder, [each for each in sources if _has_meaning(each)])
    if rows:
        progress = _behind(progress, rows[-1])
        state = {"epoch": progress.epoch, "xid": progress.xid, "seq": progress.seq}
        await set_checkpoint(session, _PROVIDER, "", embedder.name, state)
    remaining = await place.behind(session, place.after(progress), settled)
    return Embedded(count=count, remaining=remaining)


class Few(NamedTuple):
    """All the indexed entries that a filter leaves: their numbers in a generation."""

    generation: int
    ordinals: Sequence[int]


class Asked(NamedTuple):
    """A question: its vector, by which model, and what filters it has."""

    model: str
    vector: Sequence[float]
    request: Request


async def nearest(
    session: AsyncSession, asked: Asked, *, also: Collection[uuid.UUID], few: Few | None = None
) -> dict[uuid.UUID, float]:
    """Return the cosines of the entries nearest a vector that may answer, and of those of ``also``.

    Where a filter leaves but ``few``, all of these are compared.
    """
    base = select(Vector.entry_id, _DISTANCE).where(Vector.model == asked.model)
    arguments = {"vector": _literal(asked.vector)}
    if few is not None:
        named = {"model": asked.model, **few._asdict(), **arguments}
        rows = await session.execute(NEAREST_OF_FEW, named)
    else:
        for setting in _SETTINGS:
            await session.execute(setting)
        answering = base.join(Entry, Entry.id == Vector.entry_id).where(*scope(asked.request))
        rows = await session.execute(answering.order_by(_DISTANCE).limit(DEPTH), arguments)
    found = {row.entry_id: 1 - row.distance for row in rows}
    missing = [each for each in also if each not in found]
    if missing:
        rows = await session.execute(base.where(Vector.entry_id.in_(missing)), arguments)
        found |= {row.entry_id: 1 - row.distance for row in rows}
    return found


async def _store(session: AsyncSession, embedder: Embedder, sources: Sequence[Source]) -> int:
    ids = [source.id for source in sources]
    rows = await session.execute(_PREVIOUS, {"ids": ids, "chars": _PREVIOUS_CHARS})
    before = {row.id: row.content for row in rows}
    texts = [f"{before.get(each.id, '')}\n{searchable(each)}".strip() for each in sources]
    vectors = await asyncio.to_thread(embedder.embed, texts)
    literals = [_literal(vector) for vector in vectors]
    await session.execute(_INSERT, {"ids": ids, "vectors": literals, "model": embedder.name})
    return len(ids)


def _has_meaning(source: Source) -> bool:
    """Tell whether an entry says something, rather than how a session or project is set up."""
    return source.kind not in OWN_KINDS and not source.content.isspace()


def _behind(progress: Progress, last: Row[Any]) -> Progress:
    return replace(progress, epoch=last.epoch, xid=last.xid, seq=last.seq)


def _literal(vector: Sequence[float]) -> str:
    return "[" + ",".join(f"{number:.6g}" for number in vector) + "]"
