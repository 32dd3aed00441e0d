"""Plan guards: the hot queries of search use their indexes."""

from functools import partial

import asyncpg
from search_fixtures import append, index_all, message, start
from sqlalchemy import make_url, text
from sqlalchemy.ext.asyncio import AsyncSession

from memory import search
from memory.database import Database
from memory.database.statements import rows_of
from memory.search import candidates, context, exact, lookup, positions, postings, tail, versions
from memory.search.request import Request

ROWS = 4_000
BATCH = 1_000


async def filled(database: Database) -> None:
    """Append and index a few thousand messages of several sessions, and gather statistics."""
    sessions = [await start(database, f"plan {number}") for number in range(10)]
    for first in range(0, ROWS, BATCH):
        await append(
            database,
            *(
                message(
                    f"common word{number % 50} rare{number} and more text of no matter " * 5,
                    session_id=sessions[number % 10],
                    source_id=str(number),
                    position=number,
                )
                for number in range(first, first + BATCH)
            ),
        )
    await index_all(database)
    url = make_url(database.settings.owner_url).set(drivername="postgresql")
    owner = await asyncpg.connect(url.render_as_string(hide_password=False))
    await owner.execute("ANALYZE")
    await owner.close()


async def plan_of(session: AsyncSession, statement: str, *values: object) -> str:
    rows = await rows_of(session, f"EXPLAIN {statement}", *values)
    return "\n".join(row[0] for row in rows)


async def test_the_hot_queries_use_their_indexes(database: Database) -> None:
    await filled(database)

    async def plans(session: AsyncSession) -> list[tuple[str, str]]:
        ids = list(await session.scalars(text("SELECT id FROM entries LIMIT 50")))
        neighbours = context.NEIGHBOURS.text
        for number, name in enumerate(("ids", "look_ahead", "kinds", "roles"), start=1):
            neighbours = neighbours.replace(f":{name}", f"${number}")
        named = exact.BY_SOURCE_ID.text.replace(":ids", "$1").replace(":most", "$2")
        numbers = list(range(200))
        return [
            (
                "pk_search_postings",
                await plan_of(session, lookup.LOOKUP, ["rare17", "word3"], [], [], [], 100, [], []),
            ),
            (
                "pk_search_postings",
                await plan_of(
                    session, lookup.LOOKUP, [], [], ["rare1"], ["rare1\U0010ffff"], 100, [], []
                ),
            ),
            ("pk_search", await plan_of(session, candidates.BY_ORDINAL, 1, numbers)),
            (
                "uq_search_generation_entry_id",
                await plan_of(session, candidates.BY_ENTRY, 1, ids),
            ),
            (
                "pk_search_postings",
                await plan_of(session, positions.POSITIONS, *zip(*[(1, "a", 1, 9)] * 99)),  # noqa: B905
            ),
            (
                "pk_search_postings",
                await plan_of(session, postings.PAGES, [1] * 500, ["a"] * 500),
            ),
            ("pk_entries", await plan_of(session, exact.WRITTEN, ids, 500_000, 4_000_000)),
            ("ix_entries_epoch_xid_seq", await plan_of(session, tail.WAITING, 1, "1", 1, 100)),
            ("uq_entries_supersedes", await plan_of(session, versions.NEWER, ids)),
            (
                "ix_entries_session_id_position_occurred_at_seq",
                await plan_of(session, neighbours, ids, 16, ["session"], ["system"]),
            ),
            ("ix_entries_provider_source_id", await plan_of(session, named, ["17"], 10)),
        ]

    for index, plan in await database.transact(plans):
        assert index in plan, plan
        assert "Seq Scan on search_postings" not in plan, plan
        assert "Seq Scan on search " not in plan, plan


async def test_a_common_word_is_counted_wholly_and_few_entries_are_read(
    database: Database,
) -> None:
    await filled(database)
    answer = await database.transact(partial(search.search, request=Request("common rare3")))
    assert answer.hits[0].entry.source_id == "3"
    assert (answer.total, answer.total_is_exact) == (ROWS, True)
