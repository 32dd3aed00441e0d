"""Measure search: indexing speed, and how answers slow down as the ledger grows.

Run: python scripts/bench/search.py [--rows 10000 30000 100000]
It starts a throw-away server with the settings that are shipped, appends and indexes messages
(mean about 1 kB: words by Zipf's law, identifiers, paths) and asks queries of several kinds at each
size. Words are called rare, middling and common by their rank in the language.
"""

import argparse
import asyncio
import itertools
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial

import asyncpg
from sqlalchemy import make_url
from throwaway import machine, server

from memory import crud, search
from memory.database import Database
from memory.drafts import Draft, Kind, SessionDraft, project_id_of
from memory.search import Request
from memory.settings import Settings

VOCABULARY = 60_000
PROJECTS = 20
SESSION_LENGTH = 200
BATCH = 500
QUERIES = 20
ROLES = ("user", "assistant", "tool_call", "tool_result", "tool_result")


class Language:
    """Words by Zipf's law, the same each time."""

    def __init__(self) -> None:
        """Make the vocabulary; its order is that of the words' ranks."""
        self.chooser = random.Random(11)  # noqa: S311 - data for a benchmark
        syllables = [a + b for a in "bcdfghklmnprstvz" for b in "aeiou"]
        self.words = [a + b + c for a, b, c in itertools.product(syllables, repeat=3)]
        self.chooser.shuffle(self.words)
        self.words = self.words[:VOCABULARY]
        weights = [1 / (rank + 3) for rank in range(VOCABULARY)]
        self.cumulated = list(itertools.accumulate(weights))

    def draw(self, count: int) -> list[str]:
        """Return so many words of a text."""
        return self.chooser.choices(self.words, cum_weights=self.cumulated, k=count)

    def text(self) -> str:
        """Return a message: words, now and then an identifier or a path."""
        words = self.draw(max(5, int(self.chooser.lognormvariate(4.4, 1.2))))
        for place in range(0, len(words), 12):
            one, two = self.draw(2)
            words[place] = self.chooser.choice((f"{one}_{two}", f"src/{one}/{two}.py", f"--{one}"))
        return " ".join(words)

    def ranked(self, low: int, high: int) -> str:
        """Return a word whose rank lies in this range."""
        return self.words[self.chooser.randrange(low, high)]

    def queries(self) -> dict[str, list[Request]]:
        """Return the queries of each kind."""
        project = project_id_of("bench 7")

        def rare() -> str:
            return self.ranked(20_000, 50_000)

        def middling() -> str:
            return self.ranked(500, 3_000)

        def common() -> str:
            return self.ranked(0, 40)

        kinds = {
            "rare": lambda: Request(rare()),
            "middling": lambda: Request(middling()),
            "common": lambda: Request(common()),
            "2 common": lambda: Request(f"{common()} {common()}"),
            "6 middling": lambda: Request(" ".join(middling() for _ in range(6))),
            "question": lambda: Request(
                f"how did {common()} {middling()} and {middling()} {common()} with {rare()}?"
            ),
            "in a project": lambda: Request(
                f"{common()} {middling()} {middling()}", project_id=project
            ),
            "by client": lambda: Request(f"{common()} {middling()}", source_client="codex"),
            "since": lambda: Request(f"{common()} {middling()}", since=datetime.now(UTC)),
            "phrase": lambda: Request(f'"{middling()} {common()}"'),
            "identifier": lambda: Request(f"{common()}_{common()}"),
        }
        return {name: [make() for _ in range(QUERIES)] for name, make in kinds.items()}


def drafts(language: Language, first: int, count: int) -> Iterator[Draft]:
    """Yield messages of one project's sessions."""
    now = datetime.now(UTC)
    for number in range(first, first + count):
        yield Draft(
            kind=Kind.MESSAGE,
            content=language.text(),
            source_client=("claude", "codex", "opencode")[number % 3],
            provider="claude",
            machine="bench",
            session_id=_session(number).id,
            source_id=f"message-{number}",
            role=ROLES[number % len(ROLES)],
            position=number,
            occurred_at=now,
        )


def _session(number: int) -> SessionDraft:
    session = number // SESSION_LENGTH
    return SessionDraft(
        provider="claude",
        source_session_id=f"bench {session}",
        source_client="claude",
        project_id=project_id_of(f"bench {session % PROJECTS}"),
    )


async def append(database: Database, language: Language, first: int, count: int) -> None:
    """Append messages."""
    for start in range(first, first + count, BATCH):
        some = min(BATCH, first + count - start)
        sessions = {_session(start + number).id: _session(start + number) for number in range(some)}
        await database.transact(partial(crud.start_sessions, drafts=list(sessions.values())))
        batch = list(drafts(language, start, some))
        await database.transact(partial(crud.append, drafts=batch, imported=True))


async def index(database: Database) -> tuple[int, float]:
    """Index what is there and return how many entries, and the seconds."""
    began = time.perf_counter()
    count = 0
    while True:
        done = await database.transact(search.index)
        count += done.count
        if not done.remaining:
            return count, time.perf_counter() - began


async def analyse(settings: Settings) -> None:
    """Do what PostgreSQL's autovacuum does within a minute."""
    url = make_url(settings.owner_url).set(drivername="postgresql")
    connection = await asyncpg.connect(url.render_as_string(hide_password=False))
    await connection.execute("VACUUM ANALYZE search, entries")
    await connection.close()


async def ask(database: Database, requests: Sequence[Request]) -> list[float]:
    """Return the milliseconds of each query; each is asked once before."""
    taken: list[float] = []
    for request in requests:
        work = partial(search.search, request=request)
        await database.transact(work)
        began = time.perf_counter()
        await database.transact(work)
        taken.append((time.perf_counter() - began) * 1e3)
    return sorted(taken)


async def main(sizes: Sequence[int]) -> None:
    """Grow one ledger through the sizes."""
    print(machine())
    language = Language()
    queries = language.queries()
    table: dict[str, list[str]] = {name: [] for name in queries}
    with server() as settings:
        database = Database(settings)
        for number in range(PROJECTS):
            work = partial(crud.create_project, name=f"bench {number}", source_client="bench")
            await database.transact(work)
        there = 0
        for size in sizes:
            await append(database, language, there, size - there)
            count, seconds = await index(database)
            there = size
            print(f"{size:9,} entries: indexed {count / seconds:6.0f} rows/s")
            await analyse(settings)
            for name, requests in queries.items():
                taken = await ask(database, requests)
                p95 = taken[int(len(taken) * 0.95)]
                table[name].append(f"{statistics.median(taken):6.1f} /{p95:6.1f}")
        await database.close()
    print(f"{'ms, p50 / p95':14}" + "".join(f"{size:>17,}" for size in sizes))
    for name, columns in table.items():
        print(f"{name:14}" + "".join(f"{column:>17}" for column in columns))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 30_000, 100_000])
    asyncio.run(main(sorted(parser.parse_args().rows)))
