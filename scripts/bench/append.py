"""Measure appending: bulk against a bare COPY of the same rows, and 32 single-row writers.

Run: python scripts/bench/append.py [--rows 20000]
It starts a throw-away server with the settings that are shipped and prints ratios of one run.
"""

import argparse
import asyncio
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import asyncpg
from sqlalchemy import make_url
from throwaway import machine, server

from memory import crud
from memory.database import Database
from memory.drafts import Draft, Kind, SessionDraft, content_hash
from memory.settings import Settings

BATCH = 500
SESSION = SessionDraft(provider="claude", source_session_id="bench", source_client="claude")
COLUMNS = [
    "id",
    "kind",
    "project_id",
    "session_id",
    "source_client",
    "provider",
    "machine",
    "source_id",
    "version",
    "role",
    "position",
    "key",
    "content",
    "payload",
    "origin",
    "content_hash",
    "occurred_at",
    "supersedes",
    "seq",
]


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
    names = ", ".join(COLUMNS)
    rows = [tuple(row) for row in await connection.fetch(f"SELECT {names} FROM {source}")]  # noqa: S608 - our own names
    began = time.perf_counter()
    await connection.copy_records_to_table("bare", records=rows, columns=COLUMNS)
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
    for start in range(0, rows, BATCH):
        part = batch[start : start + BATCH]
        await database.transact(lambda s, p=part: crud.append(s, p, imported=True))
    ours = time.perf_counter() - began
    began = time.perf_counter()
    for start in range(0, rows, BATCH):
        part = batch[start : start + BATCH]
        await database.transact(lambda s, p=part: crud.append(s, p, imported=True))
    again = time.perf_counter() - began
    _, copied = await copy_rows(settings, "entries")
    print(f"bulk, {rows} rows, {size:.1f} MB of content, batches of {BATCH}")
    print(f"  bare COPY          {rows / copied:9.0f} rows/s {size / copied:7.1f} MB/s   1.00")
    print(
        f"  append             {rows / ours:9.0f} rows/s {size / ours:7.1f} MB/s   {copied / ours:.2f}"
    )
    print(
        f"  append again       {rows / again:9.0f} rows/s {size / again:7.1f} MB/s   {copied / again:.2f}"
    )
    await database.close()


async def writers(settings: Settings, count: int, each: int) -> None:
    """Print the latencies of concurrent single-row writers, one connection each."""
    taken: list[float] = []

    async def write(writer: int) -> None:
        own = Database(replace(settings, pool_size=1, max_overflow=0))
        await own.ping()
        for turn in range(each):
            draft = Draft(
                kind=Kind.MESSAGE,
                content=f"message {turn} of writer {writer}",
                source_client="claude",
                session_id=SESSION.id,
                source_id=f"w{writer}-{turn}",
            )
            began = time.perf_counter()
            await own.transact(lambda s, d=draft: crud.append(s, [d]))
            taken.append(time.perf_counter() - began)
        await own.close()

    began = time.perf_counter()
    await asyncio.gather(*(write(writer) for writer in range(count)))
    seconds = time.perf_counter() - began
    ordered = sorted(taken)
    print(f"{count} writers x {each} single rows: {len(taken) / seconds:.0f} rows/s")
    print(
        f"  p50 {statistics.median(ordered) * 1e3:.1f} ms   p99 {ordered[int(len(ordered) * 0.99)] * 1e3:.1f} ms"
    )


async def main() -> None:
    """Run both on one server."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    arguments = parser.parse_args()
    print(machine())
    with server() as settings:
        await bulk(settings, arguments.rows)
        await writers(settings, 32, 50)


if __name__ == "__main__":
    asyncio.run(main())
