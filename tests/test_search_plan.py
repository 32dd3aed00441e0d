"""Plan guards: the hot queries of search use their indexes."""

from functools import partial

import asyncpg
import pytest
from search_fixtures import NOON, append, index_all, message, start
from sqlalchemy import make_url, text
from sqlalchemy.ext.asyncio import AsyncSession

from memory import search
from memory.database import Database
from memory.search import candidates, context, exact, frequencies
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


async def plan_of(session: AsyncSession, statement: str, **values: object) -> str:
    rows = await session.scalars(text(f"EXPLAIN {statement}"), values)
    return "\n".join(rows)


async def test_the_hot_queries_use_their_indexes(database: Database) -> None:
    await filled(database)

    async def plans(session: AsyncSession) -> list[tuple[str, str]]:
        rare = {"query": "'rare17'|'word3'", "lexemes": ["rare17", "word3"], "limit": 5000}
        bounded = Request("rare17", since=NOON, until=NOON)
        times = {"since": NOON, "until": NOON}
        everything = candidates.statement(Request("rare17"))
        in_time = candidates.statement(bounded)
        ids = list(await session.scalars(text("SELECT id FROM entries LIMIT 50")))
        return [
            ("ix_search_words", await plan_of(session, everything, **rare)),
            ("ix_search_words", await plan_of(session, in_time, **rare, **times)),
            (
                "ix_entries_session_id_position_occurred_at_seq",
                await plan_of(session, context.NEIGHBOURS.text, ids=ids, look_ahead=16),
            ),
            (
                "ix_entries_provider_source_id",
                await plan_of(session, exact.BY_SOURCE_ID.text, ids=["17"], most=10),
            ),
        ]

    for index, plan in await database.transact(plans):
        assert index in plan, plan
        assert "Seq Scan on search" not in plan, plan


@pytest.mark.parametrize("project", [None, "none"])
async def test_a_common_word_does_not_read_the_whole_index(
    database: Database, project: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "BUDGET", 50)
    await filled(database)
    request = Request("common", source_client=project)
    known = await database.transact(
        partial(frequencies.document_frequencies, lexemes=["common", "rare3"], entries=ROWS)
    )
    assert known == {"common": ROWS, "rare3": 1}
    found = await database.transact(
        partial(candidates.find, request=request, frequencies={"common": ROWS}, now=NOON)
    )
    assert len(found.candidates) == (50 if project is None else 0)
    assert not found.is_complete or project is not None
    answer = await database.transact(partial(search.search, request=Request("common rare3")))
    assert answer.hits[0].entry.source_id == "3"
