"""Reading ahead while storing: the checkpoint never runs ahead, whatever fails or is killed."""

import asyncio
import random
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from imports import entries, line, run, runner
from test_import_run import Lines, write

from importers import ahead, flow, tail
from importers.ahead import AHEAD_BYTES, AHEAD_ROUNDS, Ahead
from importers.base import Batch, Source, Store
from importers.claude import ClaudeImporter
from importers.keep import Kept
from importers.ready import Read, Ready
from memory import crud
from memory.database import Database
from memory.errors import Conflict, Unavailable

FILES = 8
ROWS = 200
KILLS = 2
SEED = 5
DEADLINE = 30.0
IN_ONE = ("-m", "importers.claude")
READING_AHEAD = (
    "-c",
    """
import sys
from importers import reader
from importers.__main__ import main
reader.START_BYTES = reader.SMALL_BYTES = 0
sys.exit(main(client="claude"))
""",
)


async def texts(database: Database, session: str) -> list[str]:
    return [entry.content for entry in await entries(database, "claude", session)]


@pytest.mark.parametrize("error", [Conflict("a conflict"), Unavailable()])
async def test_what_was_read_ahead_of_a_batch_that_failed_is_not_stored(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr(tail, "BATCH_RECORDS", 2)
    write(tmp_path, "a", *(f"a{number}" for number in range(10)))
    write(tmp_path, "b", *(f"b{number}" for number in range(10)))
    real = flow.keep

    async def fail(database: Database, batches: Sequence[Ready]) -> list[Kept]:
        if any(draft.source_id == "a4" for ready in batches for draft in ready.drafts):
            raise error
        return await real(database, batches)

    with monkeypatch.context() as patch:
        patch.setattr(flow, "keep", fail)
        if isinstance(error, Unavailable):
            with pytest.raises(Unavailable):
                await run(database, tmp_path, Lines())
        else:
            client = await run(database, tmp_path, Lines())
            assert [Path(each.path).name for each in client.failed] == ["a.jsonl"]
            assert len(await texts(database, "b")) == 10
    assert await texts(database, "a") == [f"text of a{number}" for number in range(4)]
    await run(database, tmp_path, Lines())
    for name in "ab":
        assert await texts(database, name) == [f"text of {name}{number}" for number in range(10)]


async def test_a_batch_is_read_while_the_one_before_it_is_stored(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "BATCH_RECORDS", 2)
    write(tmp_path, "a", *range(6))
    is_read = asyncio.Event()
    loop = asyncio.get_running_loop()
    real = flow.keep

    class Told(Lines):
        def read(self, source: Any, state: Any) -> Batch:
            if state:
                loop.call_soon_threadsafe(is_read.set)
            return super().read(source, state)

    async def keep(database: Database, batches: Sequence[Ready]) -> list[Kept]:
        async with asyncio.timeout(30):
            await is_read.wait()  # the second batch, before the first one is stored
        return await real(database, batches)

    monkeypatch.setattr(flow, "keep", keep)
    client = await run(database, tmp_path, Told())
    assert client.appended == 6


@dataclass
class Far(Lines):
    """Lines that say when one of their sources was read to its end."""

    is_read: threading.Event = field(default_factory=threading.Event)

    def read(self, source: Any, state: Any) -> Batch:
        batch = super().read(source, state)
        if batch.finished:
            self.is_read.set()
        return batch


@pytest.fixture
def far_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each round be one batch of two records, and as many wait as there are."""
    monkeypatch.setattr(tail, "BATCH_RECORDS", 2)
    monkeypatch.setattr(flow, "BATCH_BYTES", 1)
    monkeypatch.setattr(ahead, "AHEAD_BYTES", 1 << 30)
    monkeypatch.setattr(ahead, "AHEAD_ROUNDS", 1 << 30)


@pytest.mark.usefixtures("far_ahead")
async def test_rounds_that_wait_behind_a_batch_that_failed_are_not_stored(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "a", *(f"a{number}" for number in range(20)))
    real, far = flow.keep, Far()

    async def fail(database: Database, batches: Sequence[Ready]) -> list[Kept]:
        if any(draft.source_id == "a4" for ready in batches for draft in ready.drafts):
            assert await asyncio.to_thread(far.is_read.wait, DEADLINE), "all else waits by now"
            raise Conflict("a conflict")
        return await real(database, batches)

    with monkeypatch.context() as patch:
        patch.setattr(flow, "keep", fail)
        client = await run(database, tmp_path, far)
    assert [Path(each.path).name for each in client.failed] == ["a.jsonl"]
    assert (client.records, client.appended) == (6, 4), "what failed was read; what waited is not"
    assert await texts(database, "a") == [f"text of a{number}" for number in range(4)]
    assert (await run(database, tmp_path, Lines())).appended == 16


@pytest.mark.usefixtures("far_ahead")
@pytest.mark.parametrize("way", ["stop", "interrupt"])
async def test_what_waits_when_a_pass_is_to_end_is_left_to_the_next(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    write(tmp_path, "a", *(f"a{number}" for number in range(20)))
    real, far = flow.keep, Far()
    ending = asyncio.Event()
    cut_off = runner(database, tmp_path, far, interrupt=lambda: way != "stop" and ending.is_set())

    async def keep(database: Database, batches: Sequence[Ready]) -> list[Kept]:
        assert await asyncio.to_thread(far.is_read.wait, DEADLINE), "all else waits by now"
        ending.set()
        if way == "stop":
            cut_off.stop.set()
        return await real(database, batches)

    with monkeypatch.context() as patch:
        patch.setattr(flow, "keep", keep)
        report = await cut_off.run()
    assert (report.stopped, report.interrupted) == (way == "stop", way != "stop")
    assert report.clients[0].adds_up
    assert (report.clients[0].records, report.clients[0].appended) == (2, 2)
    assert await texts(database, "a") == ["text of a0", "text of a1"]
    assert (await run(database, tmp_path, Lines())).appended == 18


async def test_a_pass_that_is_interrupted_at_once_stores_what_it_has_in_hand(
    database: Database, tmp_path: Path
) -> None:
    write(tmp_path, "a", *(f"a{number}" for number in range(3)))

    @dataclass
    class Signalled(Lines):
        was_read: bool = False

        def read(self, source: Source, state: Mapping[str, Any] | None) -> Batch:
            self.was_read = True
            return super().read(source, state)

    signalled = Signalled()
    report = await runner(database, tmp_path, signalled, interrupt=lambda: signalled.was_read).run()
    assert report.interrupted
    assert await texts(database, "a") == [f"text of a{number}" for number in range(3)]


async def test_rounds_that_count_for_nothing_do_not_pile_up() -> None:
    done, taken, most = 0, 0, 0

    def read_round() -> list[Read]:
        nonlocal done, most
        most = max(most, done - taken)
        done += 1
        return [read_of(0)] if done <= 10 * AHEAD_ROUNDS else []

    async with Ahead(read_round) as rounds:
        while await rounds.next():
            await asyncio.sleep(0)
            taken += 1
    assert taken == 10 * AHEAD_ROUNDS
    assert most <= AHEAD_ROUNDS + 1


async def test_no_more_is_read_while_enough_waits() -> None:
    size, last = AHEAD_BYTES // 2, 40
    done: list[int] = []
    taken: list[int] = []
    most = 0

    def read_round() -> list[Read]:
        nonlocal most
        most = max(most, (len(done) - len(taken)) * size)
        done.append(1)
        return [read_of(size)] if len(done) <= last else []

    async with Ahead(read_round) as rounds:
        while await rounds.next():
            await asyncio.sleep(0)
            taken.append(1)
    assert len(taken) == last
    assert most < AHEAD_BYTES + size, "one is taken before it is counted here"


async def test_what_goes_wrong_while_rounds_are_read_comes_up() -> None:
    def read_round() -> list[Read]:
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        async with Ahead(read_round) as rounds:
            await rounds.next()


def read_of(size: int) -> Read:
    source = Source(store=Store(provider="claude", root=Path("/")), path=Path("/a"), key="/a")
    ready = Ready(
        source=source, machine="m", sessions=[], drafts=[], redacted={}, notes=[], state={}, edge=""
    )
    return Read(batch=Batch(), ready=ready, size=size, strange=(0, 0))


@pytest.mark.timeout(400)  # starts several processes, on a machine that may be busy
@pytest.mark.parametrize("program", [IN_ONE, READING_AHEAD], ids=["in one", "reading ahead"])
async def test_kills_at_any_moment_lose_and_double_nothing(
    database: Database, environment: dict[str, str], tmp_path: Path, program: tuple[str, str]
) -> None:
    chance = random.Random(SEED)  # noqa: S311 - the same moments each time
    wanted = {}
    for number in range(FILES):
        name = f"{number:08}-0000-4000-8000-000000000000"
        path = tmp_path / "projects" / "proj" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        wanted[name] = [f"{number} says {each}" for each in range(ROWS)]
        rows = (
            line(
                type="user",
                uuid=text.replace(" ", "-"),
                sessionId=name,
                cwd="/home/dev/proj",
                version="2.1.197",
                timestamp="2026-11-29T10:00:00Z",
                message={"role": "user", "content": text},
            )
            for text in wanted[name]
        )
        path.write_bytes(b"".join(rows))
    command = [sys.executable, *program, "--root", str(tmp_path)]
    for _ in range(KILLS):
        before = await count(database)
        goal = before + chance.randrange(1, FILES * ROWS // 3)
        process = await asyncio.create_subprocess_exec(
            *command,
            env=environment,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        async with asyncio.timeout(150):
            while process.returncode is None and await count(database) < goal:  # noqa: ASYNC110 - what is waited for is outside of this process
                await asyncio.sleep(chance.random() * 0.05)
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
        await process.wait()
    await run(database, tmp_path, ClaudeImporter())
    assert {name: await texts(database, name) for name in wanted} == wanted


async def count(database: Database) -> int:
    return sum(each.entries for each in await database.transact(crud.totals))
