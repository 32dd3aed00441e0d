import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from memory import crud
from memory.crud import projects
from memory.crud.checkpoints import set_checkpoints
from memory.database import Database
from memory.drafts import Draft, Kind, SessionDraft, project_id_of, session_id_of
from memory.errors import Credential, InvalidInput, NotFound
from memory.models import Entry
from memory.workplace import Workplace

SESSION = SessionDraft(provider="claude", source_session_id="s1", source_client="claude")
NOON = datetime(2026, 9, 27, 12, tzinfo=UTC)


def message(source_id: str, **changes: object) -> Draft:
    draft = Draft(
        kind=Kind.MESSAGE,
        content=f"text of {source_id}",
        source_client="claude",
        session_id=SESSION.id,
        source_id=source_id,
        occurred_at=NOON,
    )
    return replace(draft, **changes)  # type: ignore[arg-type] # names are the test's own


def value(kind: Kind, content: str, *, project: uuid.UUID | None, key: str = "k") -> Draft:
    return Draft(
        kind=kind,
        content=content,
        key=None if kind is Kind.EVENT else key,
        project_id=project,
        source_client="claude",
    )


async def append(database: Database, *drafts: Draft) -> None:
    await database.transact(partial(crud.append, drafts=drafts))


async def new_project(database: Database, name: str = "app") -> uuid.UUID:
    project, _ = await database.transact(
        lambda s: crud.create_project(s, name, source_client="claude")
    )
    return project.id


def contents(entries: Sequence[Entry]) -> list[str]:
    return [entry.content for entry in entries]


async def test_starting_a_session_again_gives_the_same_one(database: Database) -> None:
    first, is_new = await database.transact(lambda s: crud.start_session(s, SESSION))
    again, is_new_again = await database.transact(lambda s: crud.start_session(s, SESSION))
    assert (is_new, is_new_again) == (True, False)
    assert first.row.id == again.row.id == session_id_of("claude", "s1")


async def test_twenty_first_starts_at_once_give_one_session(database: Database) -> None:
    started = await asyncio.gather(
        *(database.transact(lambda s: crud.start_session(s, SESSION)) for _ in range(20))
    )
    assert sum(is_new for _, is_new in started) == 1


async def test_both_names_of_a_client_mean_one_session(database: Database) -> None:
    await database.transact(lambda s: crud.start_session(s, SESSION))
    _, is_new = await database.transact(
        lambda s: crud.start_session(s, replace(SESSION, provider="claude-code"))
    )
    assert not is_new


async def test_a_later_title_is_the_newest_and_a_later_project_changes_nothing(
    database: Database,
) -> None:
    app, other = await new_project(database), await new_project(database, "other")
    start = replace(SESSION, title="first", project_id=app)
    await database.transact(lambda s: crud.start_session(s, start))
    later = replace(SESSION, title="second", project_id=other)
    view, _ = await database.transact(lambda s: crud.start_session(s, later))
    assert (view.title, view.row.title, view.row.project_id) == ("second", "first", app)
    listed = await database.transact(crud.list_sessions)
    assert [summary.title for summary in listed] == ["second"]


async def test_a_session_in_a_directory_belongs_to_the_directory_s_project(
    database: Database,
) -> None:
    drafts = [
        replace(SESSION, source_session_id="a", directory="/home/dev/app"),
        replace(SESSION, source_session_id="b", directory="/home/dev/app/"),
        replace(SESSION, source_session_id="c", directory="/srv/app"),
    ]
    assert await database.transact(lambda s: crud.start_sessions(s, drafts)) == 3
    assert await database.transact(lambda s: crud.start_sessions(s, drafts)) == 0
    listed = await database.transact(crud.list_projects)
    assert [(each.project.name, each.directories, each.sessions) for each in listed] == [
        ("app", ["/home/dev/app"], 2),
        ("app (/srv/app)", ["/srv/app"], 1),
    ]
    for directory, project_id in (("/srv/app", listed[1].project.id), ("/srv", None)):
        place = Workplace(directory=directory)
        found = await database.transact(lambda s, where=place: crud.find_project_of(s, where))
        assert (found.project_id, found.fitting) == (project_id, ())


async def test_many_writers_bind_a_directory_once(database: Database) -> None:
    def start(number: int) -> SessionDraft:
        return replace(SESSION, source_session_id=str(number), directory="/home/dev/app")

    await asyncio.gather(
        *(
            database.transact(partial(crud.start_sessions, drafts=[start(number)]))
            for number in range(12)
        )
    )
    listed = await database.transact(crud.list_projects)
    assert [(each.project.name, each.sessions) for each in listed] == [("app", 12)]


async def test_a_project_is_made_once_whatever_its_letter_case(database: Database) -> None:
    create = partial(crud.create_project, source_client="claude")
    first, is_new = await database.transact(lambda s: create(s, " Shop ", description="ours"))
    again, is_new_again = await database.transact(lambda s: create(s, "shop", description="x"))
    assert (is_new, is_new_again, first.id, again.description) == (True, False, again.id, "ours")
    assert first.id == project_id_of("SHOP")


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("  ", InvalidInput),
        ("x" * (projects.MAX_NAME + 1), InvalidInput),
        ("ghp_" + "a1B2c3D4" * 5, Credential),
    ],
)
async def test_an_unusable_project_name_is_refused(
    database: Database, name: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        await database.transact(lambda s: crud.create_project(s, name, source_client="claude"))
    assert await database.transact(crud.list_projects) == []


async def test_every_field_of_a_message_comes_back(database: Database) -> None:
    await database.transact(lambda s: crud.start_session(s, SESSION))
    draft = message(
        "m1",
        role="assistant",
        position=7,
        payload={"a": [1, 2.5, None, {"b": "ü"}], "big": 10**29},
        origin={"path": "/x", "offset": 3, "hash": "00"},
        provider="claude",
        machine="laptop",
        occurred_at=NOON.astimezone(),
    )
    (result,) = await database.transact(lambda s: crud.append(s, [draft]))
    entry = await database.transact(lambda s: crud.get_entry(s, result.id))
    for name in ("content", "role", "position", "payload", "origin", "provider", "machine"):
        assert getattr(entry, name) == getattr(draft, name)
    assert (entry.source_id, entry.source_client, entry.session_id) == ("m1", "claude", SESSION.id)
    assert entry.occurred_at == NOON
    assert entry.recorded_at.tzinfo is not None


async def test_a_session_is_read_by_order_then_time_then_insertion(database: Database) -> None:
    await database.transact(lambda s: crud.start_session(s, SESSION))
    later = NOON + timedelta(seconds=1)
    await append(
        database,
        message("none-late", occurred_at=later),
        message("none-first"),
        message("none-second"),
        message("two", position=2),
        message("one-late", position=1, occurred_at=later),
        message("one", position=1),
    )
    page = await database.transact(lambda s: crud.read_session(s, SESSION.id))
    assert [entry.source_id for entry in page.entries] == [
        "one",
        "one-late",
        "two",
        "none-first",
        "none-second",
        "none-late",
    ]
    assert page.next_cursor is None


async def test_pages_join_while_another_client_appends(database: Database) -> None:
    await database.transact(lambda s: crud.start_session(s, SESSION))
    await append(database, *(message(f"m{n:03}", position=n) for n in range(0, 40, 2)))
    await append(database, *(message(f"tail{n}") for n in range(5)))
    seen: list[str | None] = []
    cursor: str | None = None
    turn = 0
    while True:
        page = await database.transact(
            partial(crud.read_session, session_id=SESSION.id, cursor=cursor, limit=4)
        )
        seen += [entry.source_id for entry in page.entries]
        cursor = page.next_cursor
        if cursor is None:
            break
        turn += 1
        if turn < 5:
            await append(database, message(f"new{turn}", position=100 + turn))
    assert len(seen) == len(set(seen)) == 20 + 5 + 4


async def test_the_context_of_a_project_spans_its_sessions_and_clients(
    database: Database,
) -> None:
    project = await new_project(database)
    await append(
        database,
        value(Kind.FACT, "old", project=project),
        replace(value(Kind.FACT, "new", project=project), source_client="codex"),
        value(Kind.DECISION, "decided", project=project),
        value(Kind.PREFERENCE, "tabs", project=project, key="indent"),
        value(Kind.PREFERENCE, "everywhere", project=None, key="language"),
        value(Kind.EVENT, "deployed", project=project),
        value(Kind.PROJECT_STATE, "{}", project=project, key="state"),
        value(Kind.FACT, "of no project", project=None),
    )
    context = await database.transact(lambda s: crud.project_context(s, project))
    assert contents(context.facts) == ["new"]
    assert contents(context.decisions) == ["decided"]
    assert contents(context.preferences) == ["everywhere", "tabs"]
    assert contents(context.events) == ["deployed"]
    assert context.state is not None
    assert context.more == []
    few = await database.transact(lambda s: crud.project_context(s, project, limit=1))
    assert (contents(few.preferences), few.more) == (["everywhere"], ["preference"])


async def test_the_context_as_of_a_time_is_what_the_ledger_held_then(database: Database) -> None:
    project = await new_project(database)
    before = datetime.now(UTC)
    await append(database, value(Kind.FACT, "one", project=project))
    between = datetime.now(UTC)
    await append(
        database,
        value(Kind.FACT, "two", project=project),
        value(Kind.EVENT, "later", project=project),
    )
    held = [
        await database.transact(partial(crud.project_context, project_id=project, as_of=at))
        for at in (before, between, datetime.now(UTC))
    ]
    assert [contents(context.facts) for context in held] == [[], ["one"], ["two"]]
    assert [contents(context.events) for context in held] == [[], [], ["later"]]


async def test_a_project_s_history_is_one_log_in_pages(database: Database) -> None:
    project = await new_project(database)
    kinds = (Kind.FACT, Kind.DECISION, Kind.EVENT, Kind.PREFERENCE, Kind.PROJECT_STATE, Kind.FACT)
    for number, kind in enumerate(kinds):
        await append(database, value(kind, str(number), project=project))
    seen: list[str] = []
    after: str | None = None
    while True:
        page = await database.transact(
            partial(crud.project_history, project_id=project, after=after, limit=4)
        )
        seen += contents(page.entries)
        after = page.next_cursor
        if after is None:
            break
    assert seen == ["0", "1", "2", "3", "4", "5"]
    last = await database.transact(lambda s: crud.project_history(s, project))
    since = await database.transact(
        lambda s: crud.project_history(s, project, after=last.entries[3].recorded_at)
    )
    assert contents(since.entries) == ["4", "5"]


async def test_unknown_ids_are_not_found(database: Database) -> None:
    nobody = uuid.uuid4()
    for call in (
        partial(crud.get_entry, entry_id=nobody),
        partial(crud.get_project, project_id=nobody),
        partial(crud.get_session, session_id=nobody),
        partial(crud.read_session, session_id=nobody),
        partial(crud.project_context, project_id=nobody),
        partial(crud.project_history, project_id=nobody),
        partial(crud.start_session, draft=replace(SESSION, project_id=nobody)),
    ):
        with pytest.raises(NotFound):
            await database.transact(call)


@pytest.mark.parametrize("limit", [0, -1, crud.MAX_PAGE + 1])
async def test_a_limit_out_of_range_is_told(database: Database, limit: int) -> None:
    project = await new_project(database)
    with pytest.raises(InvalidInput, match="from 1 to 1000"):
        await database.transact(lambda s: crud.project_history(s, project, limit=limit))


async def test_a_write_of_one_process_is_seen_by_the_next_query_of_another(
    database: Database,
) -> None:
    other = Database(database.settings)
    assert await other.transact(crud.list_projects) == []
    await new_project(database)
    assert len(await other.transact(crud.list_projects)) == 1
    await other.close()


async def test_the_pool_holds_no_more_connections_than_it_is_given(database: Database) -> None:
    small = Database(replace(database.settings, pool_size=1, max_overflow=0))

    async def backend(session: AsyncSession) -> int | None:
        return await session.scalar(text("SELECT pg_backend_pid() FROM pg_sleep(0.01)"))

    backends = await asyncio.gather(*(small.transact(backend) for _ in range(10)))
    assert len(set(backends)) == 1
    assert await small.close_idle(seconds=0)
    await small.ping()
    await small.close()


async def test_connections_that_the_server_ended_are_replaced_unseen(database: Database) -> None:
    await asyncio.gather(*(database.ping() for _ in range(4)))
    killer = Database(replace(database.settings, database_url=database.settings.owner_url))
    ended = await killer.transact(
        lambda s: s.scalar(
            text(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        )
    )
    assert ended
    await asyncio.gather(*(database.ping() for _ in range(8)))
    await killer.close()


async def test_totals_count_each_client(database: Database) -> None:
    await database.transact(lambda s: crud.start_session(s, SESSION))
    await append(database, message("m1"), message("m2"))
    found = await database.transact(crud.totals)
    assert [(each.source_client, each.sessions, each.entries) for each in found] == [
        ("claude", 1, 2)
    ]


async def test_a_checkpoint_takes_every_name_and_text_that_a_store_may_have(
    database: Database,
) -> None:
    odd = ["a\x00b", "\ud800", "caf\udce9.jsonl", "plain", "\U0001f512"]
    states = {f"/{name.replace(chr(0), '')}": {"path": name, name: [name, 1]} for name in odd}
    await database.transact(lambda s: set_checkpoints(s, "claude", "m", states))
    held = await database.transact(lambda s: crud.get_checkpoints(s, "claude", "m"))
    assert held == states
