"""The invariants of the ledger, one test each, under the name that the design gives them."""

import asyncio
import json
import subprocess
import sys
import uuid
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import asyncpg
import pytest
from sqlalchemy import Select, func, make_url, select, text
from sqlalchemy.dialects.postgresql import dialect
from sqlalchemy.ext.asyncio import AsyncSession

from memory import crud, search
from memory.crud.append import Appended
from memory.crud.heads import of_keys
from memory.crud.known import LOOKUPS
from memory.database import Database
from memory.drafts import Draft, Kind, SessionDraft
from memory.errors import AppendOnly, Conflict, Credential, InvalidInput, NotFound
from memory.models import Entry, Head
from memory.settings import Settings

SESSION = SessionDraft(provider="claude", source_session_id="s1", source_client="claude")
TABLES = ("entries", "projects", "sessions", "epochs")


def message(content: str = "hello", *, source_id: str | None = "m1", **changes: object) -> Draft:
    draft = Draft(
        kind=Kind.MESSAGE,
        content=content,
        source_client="claude",
        provider="claude",
        session_id=SESSION.id,
        source_id=source_id,
        role="user",
    )
    return replace(draft, **changes)  # type: ignore[arg-type] # names are the test's own


def fact(value: str, *, key: str = "database", **changes: object) -> Draft:
    draft = Draft(kind=Kind.FACT, content=value, key=key, source_client="claude")
    return replace(draft, **changes)  # type: ignore[arg-type] # names are the test's own


async def append(database: Database, *drafts: Draft, imported: bool = False) -> list[Appended]:
    return await database.transact(lambda s: crud.append(s, drafts, imported=imported))


async def count(database: Database) -> int:
    return await database.transact(
        lambda s: s.scalar(select(func.count()).select_from(Entry))  # type: ignore[arg-type,return-value] # a count is never None
    )


@pytest.fixture
async def ledger(database: Database) -> Database:
    await database.transact(lambda s: crud.start_session(s, SESSION))
    return database


async def run_as_owner(settings: Settings, statement: str) -> None:
    url = make_url(settings.owner_url).set(drivername="postgresql")
    connection = await asyncpg.connect(url.render_as_string(hide_password=False))
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    "statement",
    ["UPDATE {} SET recorded_at = now()", "DELETE FROM {}", "TRUNCATE {} CASCADE"],
)
async def test_an_entry_is_never_changed_or_removed(
    ledger: Database, settings: Settings, table: str, statement: str
) -> None:
    await append(ledger, message())
    await ledger.transact(lambda s: crud.create_project(s, "app", source_client="claude"))
    with pytest.raises(asyncpg.PostgresError) as owner:
        await run_as_owner(settings, statement.format(table))
    assert owner.value.sqlstate == "23001"
    with pytest.raises(asyncpg.PostgresError) as replica:
        await run_as_owner(
            settings, "SET session_replication_role = replica; " + statement.format(table)
        )
    assert replica.value.sqlstate == "23001"
    assert await count(ledger) == 1


@pytest.mark.parametrize("table", TABLES)
async def test_the_application_role_has_no_right_to_change_and_owns_nothing(
    ledger: Database, table: str
) -> None:
    for statement in (f"UPDATE {table} SET recorded_at = now()", f"DELETE FROM {table}"):
        with pytest.raises(Exception, match="lacks the right"):
            await ledger.transact(lambda s, sql=statement: s.execute(text(sql)))
    owned = await ledger.transact(
        lambda s: s.scalar(
            text("SELECT count(*) FROM pg_class WHERE relowner = current_user::regrole")
        )
    )
    assert owned == 0


async def test_a_refused_change_is_a_typed_error(settings: Settings) -> None:
    owner = Database(replace(settings, database_url=settings.owner_url))
    await owner.transact(lambda s: crud.start_session(s, SESSION))
    with pytest.raises(AppendOnly) as refused:
        await owner.transact(lambda s: s.execute(text("DELETE FROM sessions")))
    assert refused.value.code == "append_only"
    await owner.close()


async def test_appending_the_same_thing_twice_records_it_once(ledger: Database) -> None:
    first = await append(ledger, message())
    again = await append(ledger, message())
    assert (first[0].is_new, again[0].is_new) == (True, False)
    assert again[0].id == first[0].id
    assert await count(ledger) == 1


async def test_a_batch_that_holds_the_same_thing_twice_records_it_once(ledger: Database) -> None:
    results = await append(ledger, message(), message(), imported=True)
    assert [each.is_new for each in results] == [True, False]
    assert results[0].id == results[1].id


async def test_other_content_under_a_source_id_is_a_conflict_from_a_tool(ledger: Database) -> None:
    first = await append(ledger, message("one"))
    with pytest.raises(Conflict) as conflict:
        await append(ledger, message("two"))
    assert conflict.value.details == {"existing_id": str(first[0].id)}
    stored = await ledger.transact(lambda s: crud.get_entry(s, first[0].id))
    assert stored.content == "one"
    assert await count(ledger) == 1


async def test_other_content_under_a_source_id_is_the_next_version_from_an_importer(
    ledger: Database,
) -> None:
    first = await append(ledger, message("one"), imported=True)
    second = await append(ledger, message("two"), imported=True)
    third = await append(ledger, message("one"), imported=True)
    assert (second[0].version, second[0].supersedes) == (2, first[0].id)
    assert not third[0].is_new, "what was once stored is known, whichever version it was"
    newest = await ledger.transact(
        lambda s: crud.find_entry(s, session_id=SESSION.id, source_id="m1")
    )
    assert newest is not None
    assert newest.content == "two"


async def test_a_copy_of_a_message_in_another_session_is_the_same_entry(ledger: Database) -> None:
    fork = replace(SESSION, source_session_id="s2")
    await ledger.transact(lambda s: crud.start_session(s, fork))
    original = await append(ledger, message(), imported=True)
    copy = await append(ledger, message(session_id=fork.id), imported=True)
    assert (copy[0].is_new, copy[0].session_id) == (False, SESSION.id)
    assert copy[0].id == original[0].id


async def test_equal_source_ids_of_two_sessions_do_not_collide(ledger: Database) -> None:
    other = replace(SESSION, source_session_id="s2", source_client="codex")
    await ledger.transact(lambda s: crud.start_session(s, other))
    await append(ledger, message("one"))
    second = await append(ledger, message("two", session_id=other.id))
    assert second[0].is_new


async def test_a_value_is_superseded_per_project_kind_and_key(ledger: Database) -> None:
    project, _ = await ledger.transact(
        lambda s: crud.create_project(s, "app", source_client="claude")
    )
    first = await append(ledger, fact("mysql", project_id=project.id))
    second = await append(ledger, fact("postgres", project_id=project.id))
    elsewhere = await append(ledger, fact("sqlite"), fact("x", key="queue"))
    decision = await append(ledger, fact("y", kind=Kind.DECISION, project_id=project.id))
    assert second[0].supersedes == first[0].id
    assert [each.supersedes for each in (*elsewhere, *decision)] == [None, None, None]
    context = await ledger.transact(lambda s: crud.project_context(s, project.id))
    assert [entry.content for entry in context.facts] == ["postgres"]
    history = await ledger.transact(lambda s: crud.project_history(s, project.id))
    assert [entry.content for entry in history.entries] == ["mysql", "postgres", "y"]


async def test_the_same_value_of_the_same_client_is_known_and_of_another_is_said_again(
    ledger: Database,
) -> None:
    first = await append(ledger, fact("postgres"))
    again = await append(ledger, fact("postgres"))
    other = await append(ledger, fact("postgres", source_client="codex"))
    assert not again[0].is_new
    assert (other[0].is_new, other[0].supersedes) == (True, first[0].id)


async def test_a_writer_that_saw_another_head_gets_a_conflict(ledger: Database) -> None:
    first = await ledger.transact(lambda s: crud.record(s, fact("one")))
    second = await ledger.transact(lambda s: crud.record(s, fact("two"), expected_id=first.id))
    with pytest.raises(Conflict) as conflict:
        await ledger.transact(lambda s: crud.record(s, fact("three"), expected_id=first.id))
    head = conflict.value.details["head"]
    assert isinstance(head, Entry)
    assert (head.id, head.content) == (second.id, "two")
    with pytest.raises(Conflict):
        await ledger.transact(lambda s: crud.record(s, fact("x", key="new"), expected_id=first.id))


async def test_two_writers_never_both_become_the_head_and_neither_is_lost(
    ledger: Database,
) -> None:
    writers, rounds = 32, 5

    async def write(writer: int) -> None:
        own = Database(replace(ledger.settings, pool_size=1, max_overflow=0))
        for turn in range(rounds):
            await append(own, fact(f"{writer}-{turn}"), fact(f"{turn}", key=f"own-{writer}"))
        await own.close()

    await asyncio.gather(*(write(writer) for writer in range(writers)))
    rows = await ledger.transact(
        lambda s: s.execute(
            select(Entry.id, Entry.version, Entry.supersedes)
            .where(Entry.key == "database")
            .order_by(Entry.version)
        )
    )
    chain = rows.all()
    assert [row.version for row in chain] == list(range(1, writers * rounds + 1))
    assert [row.supersedes for row in chain] == [None, *(row.id for row in chain[:-1])]
    heads = await ledger.transact(
        lambda s: s.scalars(select(Head.entry_id).where(Head.key == "database"))
    )
    assert heads.all() == [chain[-1].id]


async def test_two_writers_of_one_message_record_it_once(ledger: Database) -> None:
    results = await asyncio.gather(*(append(ledger, message()) for _ in range(20)))
    assert sum(each[0].is_new for each in results) == 1
    assert len({each[0].id for each in results}) == 1


async def test_overlapping_batches_of_many_writers_never_deadlock(ledger: Database) -> None:
    drafts = [message(f"text {n}", source_id=f"m{n}") for n in range(40)]

    async def write(shift: int) -> int:
        turned = drafts[shift:] + drafts[:shift]
        return sum(each.is_new for each in await append(ledger, *turned))

    assert sum(await asyncio.gather(*(write(shift) for shift in range(16)))) == len(drafts)
    assert await count(ledger) == len(drafts)


async def test_a_checkpoint_never_runs_ahead_of_its_entries(ledger: Database) -> None:
    async def work(session: object, *, fail: bool) -> None:
        await crud.append(session, [message()], imported=True)  # type: ignore[arg-type] # a session
        await crud.set_checkpoint(session, "claude", "here", "/a", {"offset": 7})  # type: ignore[arg-type] # a session
        if fail:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await ledger.transact(lambda s: work(s, fail=True))
    read = lambda s: crud.get_checkpoints(s, "claude", "here")  # noqa: E731 - said twice below
    assert (await ledger.transact(read), await count(ledger)) == ({}, 0)
    await ledger.transact(lambda s: work(s, fail=False))
    assert (await ledger.transact(read), await count(ledger)) == ({"/a": {"offset": 7}}, 1)


async def test_nul_and_lone_surrogates_are_replaced_visibly_and_counted(ledger: Database) -> None:
    broken = message("a\x00b\ud800c", payload={"raw\x00": ["\udfff"], "same": 1})
    stored = (
        await ledger.transact(lambda s: crud.get_entry(s, _only(first).id))
        if (first := await append(ledger, broken))
        else None
    )
    assert stored is not None
    assert stored.content == "a␀b\ufffdc"
    assert stored.payload is not None
    assert stored.payload["replaced_characters"] == 4
    assert not (await append(ledger, broken))[0].is_new


def _only(results: list[Appended]) -> Appended:
    (result,) = results
    return result


async def test_indexing_never_fails_an_append(ledger: Database) -> None:
    distinct = " ".join(f"word{n}" for n in range(200_000))
    result = _only(await append(ledger, message(distinct)))
    stored = await ledger.transact(lambda s: crud.get_entry(s, result.id))
    assert stored.content == distinct


async def test_a_credential_from_a_tool_is_refused_and_nothing_is_stored(ledger: Database) -> None:
    secret = "ghp_" + "a1B2c3D4" * 5
    for draft in (
        message(f"my token is {secret}"),
        message(payload={"nested": [{"deep": secret}]}),
        fact(secret),
    ):
        with pytest.raises(Credential) as refused:
            await append(ledger, draft)
        assert secret not in str(refused.value)
    assert await count(ledger) == 0


async def test_limits_are_told(ledger: Database) -> None:
    with pytest.raises(InvalidInput) as long_id:
        await append(ledger, message(source_id="x" * 513))
    assert (long_id.value.code, "512 bytes" in str(long_id.value)) == ("too_large", True)
    with pytest.raises(InvalidInput):
        await append(ledger, fact("v", key="k" * 1025))
    with pytest.raises(NotFound):
        await append(ledger, message(session_id=uuid.uuid4()))


async def test_everything_but_entries_projects_sessions_and_checkpoints_can_be_rebuilt(
    ledger: Database, environment: dict[str, str]
) -> None:
    project, _ = await ledger.transact(
        lambda s: crud.create_project(s, "app", source_client="claude")
    )
    await append(ledger, message("the quick fox"), fact("one"), fact("two"))
    await append(ledger, fact("theirs", project_id=project.id), fact("x", kind=Kind.DECISION))
    await ledger.transact(search.index)
    every_head = select(Head.project_id, Head.kind, Head.key, Head.entry_id, Head.version)
    before = set((await ledger.transact(lambda s: s.execute(every_head))).all())

    of_search = ("search", "search_progress", "search_segments", "search_postings")
    projections = ("heads", *of_search, "vectors")

    async def lose(session: AsyncSession) -> None:
        for table in projections:
            await session.execute(text(f"DELETE FROM {table}"))

    await ledger.transact(lose)
    command = [sys.executable, "-m", "memory.cli", "reindex", "--json"]
    done = await asyncio.to_thread(
        subprocess.run, command, env=environment, capture_output=True, check=False
    )
    expected = {"is_error": False, "heads": 3, "indexed": 5, "before": 0}
    assert json.loads(done.stdout) == expected, done.stderr
    after = set((await ledger.transact(lambda s: s.execute(every_head))).all())
    assert after == before
    found = await ledger.transact(lambda s: search.search(s, search.Request(query="fox")))
    assert [hit.entry.content for hit in found.hits] == ["the quick fox"]
    assert found.ways["recent"] == 0


@pytest.mark.parametrize(
    "moment",
    [
        datetime.min.replace(tzinfo=UTC),
        datetime.max.replace(tzinfo=UTC),
        datetime(1969, 12, 31, tzinfo=UTC),
        datetime(2026, 1, 1),  # noqa: DTZ001 - without a zone on purpose
    ],
)
async def test_a_time_that_cannot_be_is_refused_from_a_tool_and_told_from_an_importer(
    ledger: Database, moment: datetime
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await append(ledger, message(occurred_at=moment))
    assert refused.value.code == "bad_timestamp"
    imported = _only(await append(ledger, message(occurred_at=moment), imported=True))
    entry = await ledger.transact(lambda s: crud.get_entry(s, imported.id))
    assert entry.occurred_at.year >= 2026
    assert entry.payload == {"unusable_time": str(moment)}
    page = await ledger.transact(lambda s: crud.read_session(s, SESSION.id))
    assert len(page.entries) == 1


async def test_a_session_that_began_at_no_time_is_started(database: Database) -> None:
    draft = replace(SESSION, started_at=datetime.min.replace(tzinfo=UTC))
    view, _ = await database.transact(lambda s: crud.start_session(s, draft))
    assert view.row.started_at is None


async def test_a_message_that_a_tool_appended_under_another_provider_stops_no_import(
    database: Database,
) -> None:
    other = replace(SESSION, provider="claude-code")
    await database.transact(lambda s: crud.start_session(s, other))
    await append(database, message(provider="something"), message(source_id="m2", provider="x"))
    results = await append(database, message(), message("other", source_id="m2"), imported=True)
    assert [(each.is_new, each.version) for each in results] == [(False, 1), (True, 2)]


@pytest.mark.parametrize("key", ["DB_PASSWORD", "api_key"])
async def test_a_secret_is_known_by_the_key_it_stands_under(ledger: Database, key: str) -> None:
    value = "Tr0ub4dor" + "&3xQz9"
    with pytest.raises(Credential):
        await append(ledger, fact(value, key=key))
    assert await count(ledger) == 0


async def test_the_case_of_a_client_s_name_makes_no_other_client(ledger: Database) -> None:
    await append(ledger, fact("one", source_client="Codex"), fact("two", source_client="Mine"))
    clients = await ledger.transact(lambda s: s.scalars(select(Entry.source_client)))
    assert sorted(clients) == ["Mine", "codex"]


async def test_a_cursor_of_one_session_is_none_of_another(ledger: Database) -> None:
    other = replace(SESSION, source_session_id="s2")
    await ledger.transact(lambda s: crud.start_session(s, other))
    await append(ledger, message(), message(source_id="m2"))
    page = await ledger.transact(lambda s: crud.read_session(s, SESSION.id, limit=1))
    with pytest.raises(InvalidInput) as refused:
        await ledger.transact(lambda s: crud.read_session(s, other.id, cursor=page.next_cursor))
    assert refused.value.code == "bad_cursor"


async def test_heads_are_found_by_their_index_however_many_there_are(ledger: Database) -> None:
    await append(ledger, *(fact("v", key=f"key {n}") for n in range(1500)))
    project, _ = await ledger.transact(
        lambda s: crud.create_project(s, "app", source_client="claude")
    )
    await append(ledger, *(fact("v", key=f"k{n}", project_id=project.id) for n in range(1500)))
    wanted = select(Head).where(of_keys([(project.id, "fact", "k7"), (None, "fact", "key 7")]))
    plan = await ledger.transact(partial(_plan, statement=wanted))
    assert "uq_heads_key" in plan
    assert "Seq Scan" not in plan


async def _plan(session: AsyncSession, statement: Select[Head]) -> str:
    sql = statement.compile(dialect=dialect(), compile_kwargs={"literal_binds": True})
    return "\n".join((await session.scalars(text(f"EXPLAIN {sql}"))).all())


async def test_a_large_batch_keeps_the_order_of_its_drafts(ledger: Database) -> None:
    drafts = [message(f"{n}", source_id=f"{997 * n % 1000:03}") for n in range(131)]
    await append(ledger, *drafts, imported=True)
    contents = await ledger.transact(lambda s: s.scalars(select(Entry.content).order_by(Entry.seq)))
    assert contents.all() == [draft.content for draft in drafts]


async def test_what_the_driver_wrote_is_rolled_back_with_its_transaction(ledger: Database) -> None:
    class Stop(Exception):
        pass

    async def work(session: AsyncSession) -> None:
        await crud.append(session, [message()])
        raise Stop

    with pytest.raises(Stop):
        await ledger.transact(work)
    assert await count(ledger) == 0
    await append(ledger, message())
    assert await count(ledger) == 1


async def test_an_append_on_a_connection_that_died_is_made_on_another(ledger: Database) -> None:
    one = Database(replace(ledger.settings, pool_size=1, max_overflow=0))
    backend = await one.transact(lambda s: s.scalar(text("SELECT pg_backend_pid()")))
    await run_as_owner(ledger.settings, f"SELECT pg_terminate_backend({backend})")
    [appended] = await append(one, message())
    assert appended.is_new
    await one.close()


async def test_what_a_batch_is_compared_with_is_found_by_indexes(ledger: Database) -> None:
    async def plan(session: AsyncSession, statement: str) -> str:
        await session.execute(text(f"PREPARE looked AS {statement}"))
        await session.execute(text("SET LOCAL plan_cache_mode = force_generic_plan"))
        lines = await session.scalars(text("EXPLAIN EXECUTE looked (NULL, NULL)"))
        found = "\n".join(lines)
        await session.execute(text("DEALLOCATE looked"))
        return found

    await append(ledger, *[message(source_id=f"m{n}") for n in range(100)], imported=True)
    for statement, index in LOOKUPS:
        found = await ledger.transact(partial(plan, statement=statement))
        assert index in found, found
        assert "Seq Scan on entries" not in found, found


async def test_an_entry_is_read_inside_a_transaction_and_without_one(ledger: Database) -> None:
    async def append_and_read(session: AsyncSession) -> tuple[str, bool]:
        [appended] = await crud.append(session, [message()])
        entry = await crud.get_entry(session, appended.id)
        return entry.content, entry.id == appended.id

    async def read_and_append(session: AsyncSession, entry_id: uuid.UUID) -> bool:
        newest, newer = await crud.get_entry_and_newer(session, entry_id)
        await crud.append(session, [message(newest.content + "!", source_id="m2")])
        return newer is None

    assert await ledger.transact(append_and_read) == ("hello", True)
    [known] = await append(ledger, message())
    assert await ledger.transact(partial(read_and_append, entry_id=known.id))
    assert await count(ledger) == 2
