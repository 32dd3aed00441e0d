"""A process of our own on a second core: it answers, and ends with whoever asks."""

import os
import signal
import subprocess
import sys
import time
from functools import partial

import psutil
import pytest
from search_fixtures import append, ask, message
from sqlalchemy import text

from memory import search
from memory.database import Database
from memory.search import cutting
from memory.search.cutting import Cutters
from memory.worker import Worker, WorkerDied, answering

DEADLINE = 20.0


def pids(cutters: Cutters) -> list[int]:
    return [each.pid for each in cutters._workers]


async def test_many_entries_are_cut_on_every_core_and_found(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cutting, "MANY", 1)
    monkeypatch.setattr(cutting, "cores", lambda: 2)
    await append(
        database, *(message(f"needle {number} in src/app_{number}.py") for number in range(600))
    )
    cutters = Cutters()
    try:
        cutters.prepare(600)
        assert len(pids(cutters)) == 2
        done = await database.transact(partial(search.index, limit=1000, cutters=cutters))
    finally:
        cutters.close()
    assert (done.count, done.remaining) == (600, 0)
    order = "SELECT content FROM search JOIN entries ON id = entry_id ORDER BY ordinal"
    rows = await database.transact(lambda s: s.scalars(text(order)))
    assert list(rows) == [f"needle {number} in src/app_{number}.py" for number in range(600)]
    assert (await ask(database, "app_417.py")).hits[0].entry.content.startswith("needle 417 ")


def test_few_entries_start_no_process() -> None:
    cutters = Cutters()
    cutters.prepare(cutting.MANY - 1)
    assert pids(cutters) == []
    cutters.close()


async def test_a_killed_process_is_told_and_loses_nothing(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cutting, "MANY", 1)
    monkeypatch.setattr(cutting, "cores", lambda: 2)
    await append(database, *(message(f"needle {number}") for number in range(10)))
    cutters = Cutters()
    cutters.prepare(10)
    for pid in pids(cutters):
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(WorkerDied):
        await database.transact(partial(search.index, cutters=cutters))
    cutters.close()
    assert (await database.transact(search.index)).count == 10


def test_it_ends_when_the_process_that_asks_is_killed() -> None:
    program = (
        "import time\n"
        "from memory.worker import Worker, answering\n"
        "worker = Worker(answering('memory.search.cutting'))\n"
        "assert worker.ask((0, [])).rows == []\n"
        "print(worker.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    asking = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert asking.stdout is not None
    pid = int(asking.stdout.readline())
    asking.kill()
    asking.wait()
    asking.stdout.close()
    until = time.monotonic() + DEADLINE
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_module_that_cannot_be_run_is_told() -> None:
    worker = Worker(answering("memory.no_such_module"))
    with pytest.raises(WorkerDied):
        worker.ask([])
    worker.close()
