import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from sqlalchemy import select, text

from memory import crud, feed
from memory.crud import cursor as cursors
from memory.database import Database
from memory.database.schema import init_schema
from memory.drafts import Draft, Kind, SessionDraft
from memory.errors import InvalidInput
from memory.models import Entry
from memory.settings import Settings

pytestmark = pytest.mark.timeout(120)


def event(content: str, *, client: str = "claude") -> Draft:
    return Draft(kind=Kind.EVENT, content=content, source_client=client)


async def append(database: Database, *drafts: Draft) -> None:
    await database.transact(lambda s: crud.append(s, drafts))


async def test_a_reader_that_follows_the_feed_while_32_writers_write_misses_nothing(
    database: Database,
) -> None:
    writers, rounds = 32, 10
    done = asyncio.Event()
    seen: list[str] = []

    async def write(writer: int) -> None:
        own = Database(replace(database.settings, pool_size=1, max_overflow=0))
        for turn in range(rounds):

            async def slow(session: object, turn: int = turn) -> None:
                await crud.append(session, [event(f"{writer}-{turn}")])  # type: ignore[arg-type] # a session
                await session.execute(text("SELECT pg_sleep(random() * 0.02)"))  # type: ignore[attr-defined] # a session

            await own.transact(slow)
        await own.close()

    async def read() -> None:
        since: str | None = None
        while True:
            last_round = done.is_set()
            page = await database.transact(partial(feed.changes, since=since, limit=20))
            seen.extend(entry.content for entry in page.entries)
            since = page.next_cursor
            if last_round and not page.has_more:
                return

    reader = asyncio.create_task(read())
    await asyncio.gather(*(write(writer) for writer in range(writers)))
    done.set()
    await reader
    assert len(seen) == len(set(seen)) == writers * rounds


async def test_an_open_transaction_holds_back_what_committed_after_it_and_says_so(
    database: Database, settings: Settings
) -> None:
    other = Database(settings)
    entered, leave = asyncio.Event(), asyncio.Event()

    async def hold(session: object) -> None:
        await crud.append(session, [event("first")])  # type: ignore[arg-type] # a session
        entered.set()
        await leave.wait()

    holder = asyncio.create_task(other.transact(hold))
    await entered.wait()
    await append(database, event("second"))
    page = await database.transact(feed.changes)
    assert ([entry.content for entry in page.entries], page.waiting) == ([], 1)
    leave.set()
    await holder
    page = await database.transact(lambda s: feed.changes(s, since=page.next_cursor))
    assert [entry.content for entry in page.entries] == ["first", "second"]
    assert page.waiting == 0
    await other.close()


async def test_only_the_other_client_is_shown(database: Database) -> None:
    await append(database, event("a"), event("b", client="codex"), event("c", client="claude-code"))
    read = {
        client: await database.transact(lambda s, c=client: feed.changes(s, client=c))
        for client in ("claude", "claude-code", "codex", "opencode")
    }
    assert {client: [e.content for e in page.entries] for client, page in read.items()} == {
        "claude": ["a", "c"],
        "claude-code": ["a", "c"],
        "codex": ["b"],
        "opencode": [],
    }
    without = await database.transact(lambda s: feed.changes(s, without_client="claude"))
    assert [entry.content for entry in without.entries] == ["b"]


async def test_every_kind_is_in_the_feed_and_a_project_filters_it(database: Database) -> None:
    project, _ = await database.transact(
        lambda s: crud.create_project(s, "app", source_client="claude")
    )
    draft = SessionDraft(
        provider="codex", source_session_id="x", source_client="codex", project_id=project.id
    )
    await database.transact(lambda s: crud.start_session(s, draft))
    message = Draft(
        kind=Kind.MESSAGE, content="m", source_client="codex", session_id=draft.id, source_id="1"
    )
    keyed = [
        Draft(kind=kind, content=str(kind), key="k", source_client="codex", project_id=project.id)
        for kind in (Kind.FACT, Kind.DECISION, Kind.PREFERENCE, Kind.PROJECT_STATE)
    ]
    await append(database, message, *keyed, event("elsewhere"))
    page = await database.transact(lambda s: feed.changes(s, project_id=project.id))
    assert {entry.kind for entry in page.entries} == {
        "message",
        "fact",
        "decision",
        "preference",
        "project_state",
    }


async def test_pages_join_without_gap_or_repeat(database: Database) -> None:
    await append(database, *(event(str(n)) for n in range(7)))
    seen: list[str] = []
    since: str | None = None
    has_more = True
    while has_more:
        page = await database.transact(partial(feed.changes, since=since, limit=3))
        seen += [entry.content for entry in page.entries]
        since, has_more = page.next_cursor, page.has_more
    assert seen == [str(n) for n in range(7)]


async def test_since_takes_a_time(database: Database) -> None:
    await append(database, event("old"))
    middle = datetime.now(UTC)
    await append(database, event("new"))
    page = await database.transact(lambda s: feed.changes(s, since=middle))
    assert [entry.content for entry in page.entries] == ["new"]
    future = await database.transact(
        lambda s: feed.changes(s, since=datetime.now(UTC) + timedelta(hours=1))
    )
    assert future.entries == []


@pytest.mark.parametrize(
    "damaged", ["", "x", "🙂", "A" * 600, cursors.encode("history", 1, 2, 3), "AAAA-_"]
)
async def test_a_damaged_cursor_is_told(database: Database, damaged: str) -> None:
    with pytest.raises(InvalidInput) as error:
        await database.transact(lambda s: feed.changes(s, since=damaged))
    assert error.value.code == "bad_cursor"


async def test_after_a_restore_into_another_server_every_old_row_stays_in_the_feed(
    database: Database, settings: Settings
) -> None:
    await append(database, event("before"))
    before = await database.transact(feed.changes)
    await database.close()
    owner = Database(replace(settings, database_url=settings.owner_url))

    async def pretend_restored(session: object) -> None:
        execute = session.execute  # type: ignore[attr-defined] # a session
        await execute(text("ALTER TABLE epochs DISABLE TRIGGER append_only_rows"))
        await execute(text("ALTER TABLE entries DISABLE TRIGGER append_only_rows"))
        await execute(text("UPDATE epochs SET system_identifier = 1"))
        await execute(text("UPDATE entries SET xid = '9000000000'"))  # the old server was busier
        await execute(text("ALTER TABLE epochs ENABLE ALWAYS TRIGGER append_only_rows"))
        await execute(text("ALTER TABLE entries ENABLE ALWAYS TRIGGER append_only_rows"))

    await owner.transact(pretend_restored)
    await owner.close()
    reopened = Database(settings)
    await append(reopened, event("after"))
    everything = await reopened.transact(feed.changes)
    assert [(entry.content, entry.epoch) for entry in everything.entries] == [
        ("before", 1),
        ("after", 2),
    ]
    later = await reopened.transact(lambda s: feed.changes(s, since=before.next_cursor))
    assert [entry.content for entry in later.entries][-1] == "after"
    await init_schema(settings)
    epochs = await reopened.transact(lambda s: s.scalars(select(Entry.epoch)))
    assert set(epochs) == {1, 2}
    await reopened.close()
