"""Measure search beside SQLite's FTS5, over the same messages and the same queries, as both grow.

Run: python scripts/bench/million.py [--rows 10000 100000 1000000] [--keep DIR] [--reindex]
It starts a server with the settings that are shipped, appends messages by the ledger's own bulk
append and indexes them by its own passes; SQLite gets the same texts in an index of its own. Each
query is asked once of each engine untimed and once timed, and which engine comes first alternates.
Ours is `memory.search.search` with ten hits: entries, snippets, neighbours and counts are part of
it; SQLite's is the ids of its ten best. With --keep the data stay in DIR and a later run goes on
from there; --reindex fills our index anew before it is asked.
"""

import argparse
import asyncio
import contextlib
import gc
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from fts5 import Fts5
from million_texts import BATCH, PROJECTS, Language, Query
from own_ledger import Ledger, filter_value, request_of, row_of
from throwaway import machine, server

from memory import crud, search


@dataclass(slots=True)
class Timings:
    """Milliseconds and matches of one kind of query."""

    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    hits: list[int] = field(default_factory=list)
    ours_total: list[int] = field(default_factory=list)
    theirs_total: list[int] = field(default_factory=list)
    missing: int = 0

    def line(self, name: str) -> str:
        """Return a line of the table."""
        ours, theirs = sorted(self.ours), sorted(self.theirs)
        return (
            f"{name:13}{statistics.median(ours):9.1f}{_p95(ours):9.1f}"
            f"{statistics.median(theirs):10.1f}{_p95(theirs):9.1f}"
            f"{statistics.median(ours) / statistics.median(theirs):9.2f}"
            f"{_p95(ours) / _p95(theirs):9.2f}"
            f"{statistics.median(self.ours_total):11,.0f}{statistics.median(self.theirs_total):11,.0f}"
            f"{self.missing:8}"
        )


HEAD = (
    f"{'ms':13}{'ours p50':>9}{'p95':>9}{'FTS5 p50':>10}{'p95':>9}{'ratio':>9}{'p95':>9}"
    f"{'matches':>11}{'FTS5':>11}{'short':>8}"
)
"""``short``: queries whose answer holds fewer hits than there are matches, of ten."""


def _p95(ordered: Sequence[float]) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]


async def compare(
    ledger: Ledger, rival: Fts5, queries: dict[str, list[Query]], rows: int
) -> dict[str, Timings]:
    """Ask both engines every query."""
    found: dict[str, Timings] = {}
    for name, asked in queries.items():
        timings = found[name] = Timings()
        for turn, query in enumerate(asked):
            value = filter_value(query, rows)
            work = partial(search.search, request=request_of(query, rows))
            total = rival.count(query, value)

            async def ours(work: Any = work, timings: Timings = timings) -> int:
                answer = await ledger.database.transact(work)
                began = time.perf_counter()
                answer = await ledger.database.transact(work)
                timings.ours.append((time.perf_counter() - began) * 1e3)
                timings.ours_total.append(answer.total)
                return len(answer.hits)

            def theirs(query: Query = query, value: object = value, t: Timings = timings) -> None:
                rival.find(query, value)
                began = time.perf_counter()
                rival.find(query, value)
                t.theirs.append((time.perf_counter() - began) * 1e3)

            if turn % 2:
                theirs()
                hits = await ours()
            else:
                hits = await ours()
                theirs()
            timings.hits.append(hits)
            timings.theirs_total.append(total)
            timings.missing += hits < min(10, total)
    return found


async def grow(ledger: Ledger, rival: Fts5, language: Language, size: int) -> None:
    """Append what is missing up to a size, to both."""
    for number in range(PROJECTS):
        work = partial(crud.create_project, name=f"bench {number}", source_client="claude")
        await ledger.database.transact(work)
    there, beside = await ledger.rows(), rival.rows()
    appended = inserted = 0.0
    for first in range(min(there, beside) // BATCH * BATCH, size, BATCH):
        texts = language.texts(first // BATCH)
        rows = [row_of(number) for number in range(first, first + BATCH)]
        began = time.perf_counter()
        if first >= there:
            await ledger.append(rows, texts)
        between = time.perf_counter()
        if first >= beside:
            rival.add(rows, texts)
        appended += between - began
        inserted += time.perf_counter() - between
    began = time.perf_counter()
    rival.optimise()
    merged = time.perf_counter() - began
    if there < size:
        print(f"  appended {(size - there) / appended:,.0f} rows/s")
    if beside < size:
        speed = (size - beside) / (inserted + merged)
        print(f"  FTS5 indexed {speed:,.0f} rows/s, of which merging took {merged:.0f} s")


async def report(ledger: Ledger, rival: Fts5, queries: dict[str, list[Query]], rows: int) -> None:
    """Print sizes and times."""
    await ledger.ask("VACUUM ANALYZE")  # what autovacuum does within a minute
    sizes, texts = await ledger.sizes()
    each = ", ".join(f"{name} {size / 2**20:,.0f}" for name, size in sizes.items())
    print(
        f"  text {texts / 2**20:,.0f} MiB, {texts / rows:,.0f} bytes a message\n"
        f"  our index {sum(sizes.values()) / texts:.2f} bytes a byte of text (MiB: {each})\n"
        f"  FTS5 {rival.size() / texts:.2f} bytes a byte of text"
    )
    print(HEAD)
    for name, timings in (await compare(ledger, rival, queries, rows)).items():
        print(timings.line(name), flush=True)


@contextlib.contextmanager
def folder(keep: Path | None) -> Iterator[Path]:
    """Give the folder for SQLite's file."""
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep
    else:
        with tempfile.TemporaryDirectory(prefix="shared-memory-fts5-") as made:
            yield Path(made)


async def main(sizes: Sequence[int], *, keep: Path | None, reindex: bool, count: int) -> None:
    """Grow both through the sizes."""
    print(machine())
    gc.freeze()  # as the MCP server does
    language = Language()
    queries = language.queries(count)
    with server(keep) as settings, folder(keep) as base:
        ledger = Ledger(replace(settings, pool_size=2))
        rival = Fts5(base / "fts5.sqlite")
        if reindex:
            await ledger.database.transact(search.rebuild)
        for size in sizes:
            print(f"{size:,} messages", flush=True)
            await grow(ledger, rival, language, size)
            indexed, seconds = await ledger.index()
            if indexed:
                print(f"  indexed {indexed / seconds:,.0f} rows/s", flush=True)
            rows = await ledger.rows()
            if rows != size:
                print(f"  (there are {rows:,} already)")
            await report(ledger, rival, queries, rows)
        rival.close()
        await ledger.database.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--keep", type=Path, help="a folder in which the data stay")
    parser.add_argument("--reindex", action="store_true", help="fill our index anew first")
    parser.add_argument("--queries", type=int, default=20, help="queries of each kind")
    given = parser.parse_args()
    if any(size % BATCH for size in given.rows):
        parser.error(f"--rows takes multiples of {BATCH:,}")
    asyncio.run(
        main(sorted(given.rows), keep=given.keep, reindex=given.reindex, count=given.queries)
    )
