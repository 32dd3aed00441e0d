"""Plan guard: reading the feed from a time on reads what came since, and not the whole ledger."""

from datetime import datetime
from functools import partial
from typing import Any

import asyncpg
from search_fixtures import append, message
from sqlalchemy import event, make_url, text

from memory import feed
from memory.database import Database, Transaction

OLDER = 4_000
BATCH = 1_000
NEWER = 5


async def test_changes_since_a_time_are_read_by_the_index_on_recorded_at(
    database: Database,
) -> None:
    for first in range(0, OLDER, BATCH):
        await append(database, *(message(f"older {n}") for n in range(first, first + BATCH)))
    since = await database.transact(lambda s: s.scalar(text("SELECT clock_timestamp()")))
    assert isinstance(since, datetime)
    await append(database, *(message(f"newer {number}") for number in range(NEWER)))
    url = make_url(database.settings.owner_url).set(drivername="postgresql")
    owner = await asyncpg.connect(url.render_as_string(hide_password=False))
    await owner.execute("ANALYZE")
    await owner.close()
    asked: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, values: Any, *_: Any) -> None:
        if "recorded_at >" in statement:
            asked.append((statement, values))

    assert database._engine is not None
    event.listen(database._engine.sync_engine, "before_cursor_execute", note)
    page = await database.transact(partial(feed.changes, since=since))
    event.remove(database._engine.sync_engine, "before_cursor_execute", note)
    assert [each.content for each in page.entries] == [f"newer {n}" for n in range(NEWER)]

    async def plans(session: Transaction) -> list[str]:
        connection = await session.connection()
        found = []
        for statement, values in asked:
            rows = await connection.exec_driver_sql(f"EXPLAIN {statement}", values)
            found.append("\n".join(row[0] for row in rows))
        return found

    page_plan, *_ = await database.transact(plans)
    assert "Index Scan using ix_entries_recorded_at on entries" in page_plan, page_plan
