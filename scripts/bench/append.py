"""Measure appending: bulk against a bare COPY of the same rows, and many single-row writers.

Run: python scripts/bench/append.py [--rows 20000] [--writers 32] [--each 100] [--processes 2]
    [--rate 5]
It starts a throw-away server with the settings that are shipped and prints ratios of one run.

Bulk: batches as large as the importers', one transaction each, one after another, on one
connection; COPY fills an equal table (without its foreign keys) in one transaction.

Writers: each is a task with a connection and a session of its own, as a client's window has, and
appends one message in a transaction of its own, again and again. They share the processes evenly,
because a process runs Python on one core. Closed loop: a writer starts its next append when the
last one is committed, so that together they take all the machine has, and the latency is that of a
full queue. Steady: each writer starts RATE appends a second, evenly spread; the latency counts from
the time at which an append was due. Five appends of each writer come before and are not counted:
they open its connection and prepare its statements.
"""

import argparse
import asyncio
import gc
import multiprocessing
import random
import statistics
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from multiprocessing.synchronize import Barrier
from typing import Any

import asyncpg
from sqlalchemy import make_url
from throwaway import machine, server

from importers.base import BATCH_RECORDS
from memory import crud
from memory.crud.insertion import COLUMNS
from memory.database import Database
from memory.drafts import Draft, Kind, SessionDraft, content_hash
from memory.settings import Settings

WARM_UP = 5  # appends of each writer that are not counted
SESSION = SessionDraft(provider="claude", source_session_id="bench", source_client="claude")


def texts(rows: int) -> list[str]:
    """Return texts shaped like messages: mean about 1.9 KB, a long tail."""
    chooser = random.Random(7)  # noqa: S311 - data for a benchmark, the same each time
    words = [f"{chooser.choice('abcdefgh')}{n:x}" for n in range(20_000)]
    return [
        " ".join(chooser.choices(words, k=max(5, int(chooser.lognormvariate(4.6, 1.3)))))
        for _ in range(rows)
    ]


def drafts(contents: Sequence[str]) -> list[Draft]:
    """Return one imported message a text."""
    now = datetime.now(UTC)
    return [
        Draft(
            kind=Kind.MESSAGE,
            content=content,
            source_client="claude",
            provider="claude",
            machine="bench",
            session_id=SESSION.id,
            source_id=f"message-{number}",
            role="user",
            position=number,
            payload={"model": "m", "n": number},
            origin={"path": "/store/a.jsonl", "offset": number, "hash": "0" * 64},
            occurred_at=now,
            fingerprint=content_hash("user", content),
        )
        for number, content in enumerate(contents)
    ]


async def copy_rows(settings: Settings, source: str) -> tuple[int, float]:
    """COPY the appended rows into an equal table and return how many, and the seconds."""
    url = make_url(settings.owner_url).set(drivername="postgresql")
    connection = await asyncpg.connect(url.render_as_string(hide_password=False))
    await connection.execute("CREATE TABLE bare (LIKE entries INCLUDING ALL)")
    names = ", ".join((*COLUMNS, "seq"))
    rows = [tuple(row) for row in await connection.fetch(f"SELECT {names} FROM {source}")]  # noqa: S608 - our own names
    began = time.perf_counter()
    await connection.copy_records_to_table("bare", records=rows, columns=(*COLUMNS, "seq"))
    seconds = time.perf_counter() - began
    await connection.execute("DROP TABLE bare")
    await connection.close()
    return len(rows), seconds


async def bulk(settings: Settings, rows: int) -> None:
    """Print bulk append against COPY."""
    database = Database(settings)
    await database.transact(lambda s: crud.start_session(s, SESSION))
    batch = drafts(texts(rows))
    size = sum(len(each.content) for each in batch) / 1e6
    began = time.perf_counter()
    for start in range(0, rows, BATCH_RECORDS):
        part = batch[start : start + BATCH_RECORDS]
        await database.transact(lambda s, p=part: crud.append(s, p, imported=True))
    ours = time.perf_counter() - began
    began = time.perf_counter()
    for start in range(0, rows, BATCH_RECORDS):
        part = batch[start : start + BATCH_RECORDS]
        await database.transact(lambda s, p=part: crud.append(s, p, imported=True))
    again = time.perf_counter() - began
    _, copied = await copy_rows(settings, "entries")
    print(f"bulk, {rows} rows, {size:.1f} MB of content, batches of {BATCH_RECORDS}")
    print(f"  bare COPY          {rows / copied:9.0f} rows/s {size / copied:7.1f} MB/s   1.00")
    print(
        f"  append             {rows / ours:9.0f} rows/s {size / ours:7.1f} MB/s   {copied / ours:.2f}"
    )
    print(
        f"  append again       {rows / again:9.0f} rows/s {size / again:7.1f} MB/s   {copied / again:.2f}"
    )
    await database.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """Writers at work: ``rate`` is what each starts a second, 0 for closed loop."""

    settings: Settings
    writers: int
    each: int
    processes: int
    rate: float = 0.0


async def write(crowd: Crowd, writer: int, go: asyncio.Barrier) -> list[float]:
    """Append single rows as one writer and return the seconds that each took.

    With a rate an append is due at its time, whether or not the one before has ended; without, it
    follows the one before.
    """
    own = Database(replace(crowd.settings, pool_size=1, max_overflow=0))
    window = replace(SESSION, source_session_id=uuid.uuid4().hex)
    await own.transact(lambda s: crud.start_session(s, window))

    async def one(number: int) -> None:
        draft = Draft(
            kind=Kind.MESSAGE,
            content=f"message {number} of writer {writer}",
            source_client="claude",
            session_id=window.id,
            source_id=f"{number}",
        )
        await own.transact(lambda s: crud.append(s, [draft]))

    for number in range(WARM_UP):
        await one(-1 - number)
    await go.wait()  # until all of this process are warm
    await go.wait()  # until those of all processes are
    taken = []
    pause = 1 / crowd.rate if crowd.rate else 0.0
    due = time.perf_counter() + random.random() * pause  # noqa: S311 - spreads the load
    for number in range(crowd.each):
        due = due if crowd.rate else time.perf_counter()
        await asyncio.sleep(due - time.perf_counter())
        await one(number)
        taken.append(time.perf_counter() - due)
        due += pause
    await own.close()
    return taken


async def write_together(
    crowd: Crowd, writers: Sequence[int], start: Barrier
) -> tuple[list[float], float]:
    """Run some writers in this process; return what each append took, and the seconds in all."""
    go = asyncio.Barrier(len(writers) + 1)
    tasks = [asyncio.create_task(write(crowd, writer, go)) for writer in writers]
    await go.wait()
    await asyncio.to_thread(start.wait)
    began = time.perf_counter()
    await go.wait()
    taken = await asyncio.gather(*tasks)
    return [seconds for one in taken for seconds in one], time.perf_counter() - began


def one_process(crowd: Crowd, writers: Sequence[int], start: Barrier, answers: Any) -> None:
    """Run some writers; the body of a process."""
    gc.freeze()  # as the MCP server does, which is the single-row writer that there is
    answers.put(asyncio.run(write_together(crowd, writers, start)))


def concurrent(crowd: Crowd) -> None:
    """Print the throughput and the latencies of concurrent single-row writers."""
    fresh = multiprocessing.get_context("spawn")
    start, answers = fresh.Barrier(crowd.processes), fresh.Queue()
    shares = [range(n, crowd.writers, crowd.processes) for n in range(crowd.processes)]
    children = [
        fresh.Process(target=one_process, args=(crowd, share, start, answers)) for share in shares
    ]
    for child in children:
        child.start()
    parts = [answers.get() for _ in children]
    for child in children:
        child.join()
    taken = sorted(seconds for part, _ in parts for seconds in part)
    seconds = max(each for _, each in parts)
    how = f"each {crowd.rate:g} a second" if crowd.rate else "closed loop"
    print(
        f"  {how:20} {len(taken) / seconds:6.0f} rows/s   p50 {statistics.median(taken) * 1e3:6.1f}"
        f"   p99 {taken[int(len(taken) * 0.99)] * 1e3:6.1f}   max {taken[-1] * 1e3:6.1f} ms"
    )


def main() -> None:
    """Run all on one server."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--writers", type=int, default=32)
    parser.add_argument("--each", type=int, default=100)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rate", type=float, default=5.0)
    options = parser.parse_args()
    print(machine())
    with server() as settings:
        asyncio.run(bulk(settings, options.rows))
        print(f"{options.writers} writers in {options.processes} processes, single rows")
        crowd = Crowd(
            settings=settings,
            writers=options.writers,
            each=options.each,
            processes=options.processes,
        )
        concurrent(crowd)
        concurrent(replace(crowd, rate=options.rate))
    print(machine())


if __name__ == "__main__":
    main()
