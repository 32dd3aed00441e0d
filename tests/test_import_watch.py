"""Watching: what clients write arrives by itself, whatever becomes of the database."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import watchfiles
from conftest import Cluster
from imports import heard, line, runner
from sqlalchemy import make_url

from importers.claude import ClaudeImporter
from importers.pace import IDLE_SHARE, LONGEST_POLL, Pace
from importers.report import Report
from importers.rounds import FOLDER, rounds
from importers.standby import Standby, lock_name
from importers.watch import Watch, index_all
from memory import crud, search
from memory.crud.lock import try_lock
from memory.database import Database
from memory.drafts import session_id_of
from memory.settings import Settings

SESSION = "00000000-0000-4000-8000-000000000001"
SECONDS = 30  # until a test gives up; nothing waits so long


@pytest.fixture(autouse=True)
def _tells_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rely on file events on every system alike."""
    monkeypatch.setattr("importers.pace.TELLS_LATE", False)


def say_in_transcript(root: Path, *texts: str, session: str = SESSION) -> Path:
    path = root / "projects" / "proj" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        for text in texts:
            file.write(
                line(
                    type="user",
                    uuid=text,
                    sessionId=session,
                    cwd="/home/dev/proj",
                    version="2.1.197",
                    timestamp="2026-11-29T10:00:00Z",
                    message={"role": "user", "content": text},
                )
            )
    return path


@dataclass
class Seen:
    """A watch in the background, and what it said."""

    watch: Watch
    said: list[str] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)

    @property
    def stop(self) -> asyncio.Event:
        return self.watch.runner.stop


@asynccontextmanager
async def watching(
    database: Database, root: Path, *, poll: float = 0.05, retry: float = 0.05
) -> AsyncIterator[Seen]:
    """Watch a store until the block ends."""
    own = Database(database.settings)
    made = runner(own, root, ClaudeImporter())
    said: list[str] = []
    reports: list[Report] = []
    watch = Watch(
        runner=made, say=heard(said), told=reports.append, poll_seconds=poll, retry_seconds=retry
    )
    seen = Seen(watch, said, reports)
    task = asyncio.create_task(watch.run())
    try:
        yield seen
    finally:
        made.stop.set()
        async with asyncio.timeout(SECONDS):
            await task
        await own.close()


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    """Ask again and again until it is so."""
    async with asyncio.timeout(SECONDS):
        while not await is_so():  # noqa: ASYNC110 - what is waited for is outside of this process
            await asyncio.sleep(0.02)


async def texts(database: Database, session: str = SESSION) -> list[str]:
    session_id = session_id_of("claude", session)
    known = await database.transact(crud.list_sessions)
    if session_id not in [each.session.id for each in known]:
        return []
    page = await database.transact(lambda s: crud.read_session(s, session_id))
    return [entry.content for entry in page.entries]


def have(database: Database, *wanted: str, session: str = SESSION) -> Callable[[], Awaitable[bool]]:
    async def check() -> bool:
        return await texts(database, session) == list(wanted)

    return check


async def test_what_is_appended_arrives_and_can_be_found(
    database: Database, tmp_path: Path
) -> None:
    say_in_transcript(tmp_path, "first")
    async with watching(database, tmp_path) as seen:
        await until(have(database, "first"))
        say_in_transcript(tmp_path, "porcupine")
        await until(have(database, "first", "porcupine"))

        async def is_indexed() -> bool:
            answer = await database.transact(
                lambda s: search.search(s, search.Request(query="porcupine"))
            )
            return bool(answer.hits) and not answer.unindexed

        await until(is_indexed)
    assert sum(report.clients[0].appended for report in seen.reports) == 2
    assert seen.said == []


async def test_a_file_event_wakes_a_watch_that_polls_rarely(
    database: Database, tmp_path: Path
) -> None:
    say_in_transcript(tmp_path, "first")
    async with watching(database, tmp_path, poll=3600) as seen:
        await until(have(database, "first"))
        said = ["first"]

        async def has_arrived() -> bool:
            if len(said) < 200:  # events begin a moment after the watch; polling would not come
                said.append(f"more {len(said)}")
                say_in_transcript(tmp_path, said[-1])
            return len(await texts(database)) > 1

        await until(has_arrived)
        assert not seen.watch._pace.is_deaf()


async def test_a_folder_that_is_moved_into_a_store_wakes_the_watch(
    database: Database, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    say_in_transcript(store, "first")
    async with watching(database, store, poll=3600) as seen:

        async def has_first_report() -> bool:
            return bool(seen.reports)

        await until(has_first_report)
        # A pass that was to come anyway may find one of them, not one after the other.
        for number in range(2, 5):
            session = f"00000000-0000-4000-8000-00000000000{number}"
            folder = tmp_path / f"moved{number}"
            say_in_transcript(folder, f"moved {number}", session=session)
            (folder / "projects" / "proj").rename(store / "projects" / f"proj{number}")
            await until(have(database, f"moved {number}", session=session))


async def test_a_file_event_that_is_of_no_store_wakes_nothing(tmp_path: Path) -> None:
    database = Database(Settings(home=tmp_path, machine="m"))
    watch = Watch(runner=runner(database, tmp_path), say=print, told=print)
    log = tmp_path / "some.log"
    log.touch()
    added, modified = watchfiles.Change.added, watchfiles.Change.modified
    assert not watch._is_news(added, str(log))
    assert not watch._is_news(added, str(tmp_path / "gone"))
    assert not watch._is_news(modified, str(tmp_path))
    assert watch._is_news(added, str(tmp_path))
    assert watch._is_news(modified, str(tmp_path / "some.jsonl"))


async def test_what_is_written_before_file_events_are_there_again_is_read_at_once(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importers.watch.LOOK_AGAIN_SECONDS", 0.05)
    whole, is_allowed = watchfiles.awatch, asyncio.Event()

    def late(*roots: Path, **options: Any) -> Any:
        if not is_allowed.is_set():
            raise OSError("too many watches")
        say_in_transcript(tmp_path, "second")  # no event tells of it: none is watched for yet
        return whole(*roots, **options)

    monkeypatch.setattr(watchfiles, "awatch", late)
    say_in_transcript(tmp_path, "first")
    async with watching(database, tmp_path, poll=3600) as seen:

        async def has_first_report() -> bool:
            return bool(seen.reports)

        await until(has_first_report)
        is_allowed.set()
        await until(have(database, "first", "second"))


async def test_file_events_that_were_missing_are_not_relied_on(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def silent(*_: Path, stop_event: asyncio.Event, **_options: Any) -> Any:
        yield set()  # time is over, and nothing happened
        await stop_event.wait()

    monkeypatch.setattr(watchfiles, "awatch", silent)
    say_in_transcript(tmp_path, "first")
    async with watching(database, tmp_path) as seen:
        await until(have(database, "first"))
        assert not seen.watch._pace.is_deaf(), "of the first pass nobody was to tell"
        said = ["first"]

        async def is_deaf() -> bool:
            if await texts(database) == said and len(said) < 200:
                said.append(f"more {len(said)}")
                say_in_transcript(tmp_path, said[-1])
            return seen.watch._pace.is_deaf()

        await until(is_deaf)
        seen.watch._pace.has_worked = False
        assert seen.watch._pace.pause(30.0) == seen.watch.poll_seconds
    monkeypatch.setattr("importers.pace.DOUBT_SECONDS", 0)
    assert not seen.watch._pace.is_deaf(), "only for some minutes"


async def test_file_events_that_fail_are_asked_for_again(
    database: Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("importers.watch.LOOK_AGAIN_SECONDS", 0.05)
    whole, failures = watchfiles.awatch, [OSError("too many watches"), OSError("still too many")]

    def failing(*roots: Path, **options: Any) -> Any:
        if failures:
            raise failures.pop(0)
        return whole(*roots, **options)

    monkeypatch.setattr(watchfiles, "awatch", failing)
    say_in_transcript(tmp_path, "first")
    async with watching(database, tmp_path, poll=3600) as seen:
        await until(have(database, "first"))
        said = ["first"]

        async def has_arrived() -> bool:
            if len(said) < 200:
                said.append(f"more {len(said)}")
                say_in_transcript(tmp_path, said[-1])
            return len(await texts(database)) > 1

        await until(has_arrived)
        assert not seen.watch._pace.is_deaf()
    assert caplog.text.count("no file events") == 1


async def test_a_second_watch_stands_by_and_takes_over(database: Database, tmp_path: Path) -> None:
    say_in_transcript(tmp_path, "first")
    async with watching(database, tmp_path) as one:
        await until(have(database, "first"))
        async with watching(database, tmp_path) as two:

            async def is_told() -> bool:
                return bool(two.said)

            await until(is_told)
            assert two.said == [
                "claude: another importer watches this on this machine; standing by."
            ]
            say_in_transcript(tmp_path, "second")
            await until(have(database, "first", "second"))
            assert two.reports == []
            one.stop.set()

            async def has_taken_over() -> bool:
                return len(two.said) > 1

            await until(has_taken_over)
            assert two.said[1] == "claude: the other importer is gone; taking over."
            say_in_transcript(tmp_path, "third")
            await until(have(database, "first", "second", "third"))


async def test_watches_of_other_machines_clients_and_stores_do_not_stand_by(
    database: Database,
) -> None:
    names = {
        lock_name(replace(database.settings, machine=machine, ledger=ledger), provider, root=root)
        for machine in ("a", "b")
        for ledger in ("public", "team")
        for provider in ("claude", "codex")
        for root in (None, Path("/sandbox"))
    }
    assert len(names) == 16


async def test_two_stores_of_one_client_are_watched_at_once(
    database: Database, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    say_in_transcript(tmp_path / "one", "first")
    (other / "projects").mkdir(parents=True)
    async with watching(database, tmp_path / "one"), watching(database, other) as two:
        await until(have(database, "first"))
        say_in_transcript(other, "second")
        await until(have(database, "first", "second"))
    assert two.said == []


async def test_the_lock_goes_with_its_connection(database: Database) -> None:
    stop, news = asyncio.Event(), asyncio.Event()
    standby = Standby(
        settings=database.settings,
        providers=("claude",),
        stop=stop,
        news=news,
        retry_seconds=0.05,
    )
    task = asyncio.create_task(standby.run())
    try:
        async with asyncio.timeout(SECONDS):
            await news.wait()
        name = lock_name(database.settings, "claude")
        assert not await database.transact(lambda s: try_lock(s, name))
        assert standby.held == {"claude"}
    finally:
        stop.set()
        await task
    assert await database.transact(lambda s: try_lock(s, name))
    assert standby.held == set()


async def test_the_databases_absence_is_told_and_outlived(
    database: Database, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importers.patience.FIRST_BACKOFF", 0.05)
    name = make_url(database.settings.database_url).database
    say_in_transcript(tmp_path, "first")
    async with watching(database, tmp_path) as seen:
        await until(have(database, "first"))
        await cluster.sql(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false")
        await cluster.sql(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
        )
        say_in_transcript(tmp_path, "second")

        async def has_said(count: int) -> bool:
            return len(seen.said) >= count

        await until(lambda: has_said(1))
        assert "cannot be reached" in seen.said[0]
        await cluster.sql(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS true")
        await until(have(database, "first", "second"))
        await until(lambda: has_said(2))
    assert seen.said[1] == "The ledger is back; nothing was lost."
    assert len(seen.said) == 2, "told once, however long it took"


async def test_a_fault_while_locks_are_asked_for_does_not_leave_the_watch_idle(
    database: Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    faults = [KeyError("one"), KeyError("two")]

    async def faulty(session: Any, name: str) -> bool:
        if faults:
            raise faults.pop()
        return await try_lock(session, name)

    monkeypatch.setattr("importers.standby.try_lock", faulty)
    say_in_transcript(tmp_path, "first")
    async with watching(database, tmp_path):
        await until(have(database, "first"))
    assert caplog.text.count("asking for the importers' locks failed with KeyError") == 2


async def test_a_fault_of_ours_ends_one_round_and_not_the_watch(
    database: Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("importers.patience.FIRST_BACKOFF", 0.05)
    faults = ["one", "two"]

    async def faulty(*given: object, **options: object) -> int:
        if faults:
            raise TypeError(faults.pop())
        return await index_all(*given, **options)  # type: ignore[arg-type] - passed on as they came

    monkeypatch.setattr("importers.watch.index_all", faulty)
    say_in_transcript(tmp_path, "first")
    async with watching(database, tmp_path) as seen:
        await until(have(database, "first"))

        async def has_gone_on() -> bool:
            return any("is back" in words for words in seen.said)

        await until(has_gone_on)
        noted = {each.root: each for each in rounds(database.settings.home / FOLDER)}
    assert sum("a pass failed with TypeError" in words for words in seen.said) == 1
    assert "a pass failed with TypeError" in noted[str(tmp_path)].reason
    assert "test_import_watch.py" in caplog.text


async def test_a_store_that_comes_later_is_watched_as_well(
    database: Database, tmp_path: Path
) -> None:
    root = tmp_path / "home" / ".claude"
    async with watching(database, tmp_path) as seen:
        seen.watch.runner.root = None
        seen.watch.runner.home = tmp_path / "home"
        say_in_transcript(root, "first")
        await until(have(database, "first"))


async def test_a_watch_that_is_stopped_ends_cleanly(database: Database, tmp_path: Path) -> None:
    say_in_transcript(tmp_path, "first")
    async with watching(database, tmp_path, poll=3600) as seen:
        await until(have(database, "first"))
        seen.stop.set()


async def test_indexing_leaves_off_when_another_process_does_it(database: Database) -> None:
    stop = asyncio.Event()
    assert await index_all(database, stop=stop) == 0
    stop.set()
    assert await index_all(database, stop=stop) == 0


async def test_a_watch_says_that_it_begins_and_then_only_what_is_new(
    database: Database, tmp_path: Path
) -> None:
    say_in_transcript(tmp_path, "first")
    broken = tmp_path / "projects" / "proj" / "broken.jsonl"
    broken.symlink_to(broken.name)
    async with watching(database, tmp_path) as seen:
        await until(have(database, "first"))
        say_in_transcript(tmp_path, "second")
        await until(have(database, "first", "second"))
        say_in_transcript(tmp_path, "third")
        await until(have(database, "first", "second", "third"))
    told = [report.clients[0] for report in seen.reports]
    assert [len(client.failed) for client in told][:1] == [1]
    assert all(client.records or client.failed for client in told)
    assert len(told) <= 4, "what fails again and again is told once"


def test_what_looking_costs_sets_how_often_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    pace = Pace(poll_seconds=5)
    assert pace.pause(0.001) == 5
    assert pace.pause(0.2) == pytest.approx(0.2 / IDLE_SHARE)
    costly = 2 * LONGEST_POLL * IDLE_SHARE
    assert pace.pause(costly) == LONGEST_POLL
    pace.has_worked = True
    assert pace.pause(costly) == 5, "what work costs says nothing of what looking costs"
    pace.has_worked = False
    pace.has_failed = True
    assert pace.pause(costly) == 5, "without file events polling is all there is"
    pace.has_failed = False
    monkeypatch.setattr("importers.pace.TELLS_LATE", True)
    assert pace.pause(costly) == 5, "where events come late, polling is all there is"


async def test_a_pass_that_did_something_is_soon_followed_by_another(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: set[tuple[bool, float]] = set()
    whole = Pace.pause

    def pause(pace: Pace, spent: float) -> float:
        chosen = whole(pace, spent + 30)
        pauses.add((pace.has_worked, chosen))
        return chosen

    monkeypatch.setattr(Pace, "pause", pause)
    monkeypatch.setattr("importers.pace.LONGEST_POLL", 0.07)
    say_in_transcript(tmp_path, "first")
    async with watching(database, tmp_path):

        async def has_done_both() -> bool:
            return len(pauses) == 2

        await until(has_done_both)
    assert pauses == {(True, 0.05), (False, 0.07)}


async def test_vectors_are_told_of_as_work(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [search.Embedded(count=2, remaining=1), search.Embedded(count=1, remaining=0)]

    async def embed(*_: Any, **_options: Any) -> search.Embedded:
        return steps.pop(0)

    monkeypatch.setattr("importers.watch.load", lambda _: object())
    monkeypatch.setattr(search, "embed", embed)
    made: list[int] = []
    assert await index_all(database, stop=asyncio.Event(), embedded=made.append) == 0
    assert made == [2, 1]
