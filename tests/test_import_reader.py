"""Reading ahead in a process of its own: the same comes of it, whatever dies."""

import asyncio
import contextlib
import os
import pickle
import signal
import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pytest
from imports import entries, run
from test_import_run import GITHUB, Lines, write

from importers import reader
from importers.base import Batch, Source
from importers.reader import START_BYTES, ReaderDied
from memory.database import Database
from memory.drafts import Draft, Kind
from memory.errors import LedgerError

# Starts a reader, says its number, and is killed.
KILLED = """
import os, signal
from importers.reader import _Child
child = _Child(machine="m", is_elsewhere=False)
assert child.begin()
print(child.worker.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@dataclass
class Deadly(Lines):
    """Kills the process that reads the file of this name, unless it is the one that made this."""

    own: int = field(default_factory=os.getpid)
    name: str = ""

    def read(self, source: Source, state: Mapping[str, Any] | None) -> Batch:
        if source.path.stem == self.name and os.getpid() != self.own:
            os.kill(os.getpid(), signal.SIGKILL)
        batch = super().read(source, state)
        batch.skipped[f"read by {os.getpid()}"] = 0
        return batch


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Have every pass read ahead, and note the processes that it starts."""
    monkeypatch.setattr(reader, "START_BYTES", 0)
    monkeypatch.setattr(reader, "SMALL_BYTES", 0)
    monkeypatch.setattr(reader, "cores", lambda: 2)
    numbers: list[int] = []
    real = reader._Child.__post_init__

    def note(child: reader._Child) -> None:
        numbers.append(child.worker.pid)
        real(child)

    monkeypatch.setattr(reader._Child, "__post_init__", note)
    return numbers


async def texts(database: Database, session: str) -> list[str]:
    return [entry.content for entry in await entries(database, "claude", session)]


async def test_what_a_process_reads_ahead_is_stored_as_if_it_were_read_here(
    database: Database, tmp_path: Path, started: list[int]
) -> None:
    for name in "ab":
        write(tmp_path, name, *(f"{name}{number}" for number in range(2500)), GITHUB + name)
    (tmp_path / "c.jsonl").write_bytes(b"a bug\n")
    (tmp_path / "d.jsonl").write_bytes(b"a disk\n")
    client = await run(database, tmp_path, Deadly())
    (number,) = started
    assert list(client.skipped) == [f"read by {number}"]
    assert not psutil.pid_exists(number)
    assert client.redacted == {"github-token": 2}
    assert [each.reason for each in client.failed] == [
        "RuntimeError",
        f"OSError: [Errno 5] Input/output error: '{tmp_path / 'd.jsonl'}'",
    ]
    for name in "ab":
        found = await texts(database, name)
        assert found[:-1] == [f"text of {name}{number}" for number in range(2500)]
        assert found[-1] == "text of [redacted:github-token]"
    again = await run(database, tmp_path, Deadly())
    assert (again.records, again.appended) == (0, 0)


async def test_a_small_pass_starts_no_process(
    database: Database, tmp_path: Path, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "START_BYTES", START_BYTES)
    write(tmp_path, "a", *range(20))
    assert (await run(database, tmp_path, Lines())).appended == 20
    assert started == []


async def test_a_pass_reads_by_itself_while_its_process_gets_ready(
    database: Database, tmp_path: Path, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "START_BYTES", 4096)  # which one entry is counted for
    for number, name in enumerate("abc"):
        write(tmp_path, name, number)
    client = await run(database, tmp_path, Deadly())
    (number,) = started
    assert set(client.skipped) == {f"read by {os.getpid()}", f"read by {number}"}
    assert client.appended == 3


async def test_a_pass_that_ends_before_its_process_is_asked_leaves_none(
    database: Database, tmp_path: Path, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "START_BYTES", 4096)
    write(tmp_path, "a", 1)
    write(tmp_path, "b", 2)
    client = await run(database, tmp_path, Deadly())
    assert (client.appended, set(client.skipped)) == (2, {f"read by {os.getpid()}"})
    (number,) = started
    assert not psutil.pid_exists(number)


async def test_small_files_are_read_here_beside_large_ones(
    database: Database, tmp_path: Path, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "SMALL_BYTES", 10_000)
    write(tmp_path, "a", *range(1000))
    write(tmp_path, "b", *range(1000, 1010))
    client = await run(database, tmp_path, Deadly())
    (number,) = started
    assert set(client.skipped) == {f"read by {number}", f"read by {os.getpid()}"}
    assert client.appended == 1010


async def test_a_process_that_dies_costs_the_source_that_it_read_and_no_other(
    database: Database, tmp_path: Path, started: list[int]
) -> None:
    for name in "abc":
        write(tmp_path, name, *(f"{name}{number}" for number in range(3)))
    client = await run(database, tmp_path, Deadly(name="b"))
    (failed,) = client.failed
    assert (Path(failed.path).stem, failed.reason) == ("b", f"ReaderDied: {ReaderDied()}")
    assert ReaderDied().code == "reader_died"
    assert isinstance(ReaderDied(), LedgerError)
    assert len(started) == 2
    assert [len(await texts(database, name)) for name in "ac"] == [3, 3]
    assert (await run(database, tmp_path, Lines())).appended == 3


async def test_a_pass_goes_on_where_no_process_can_be_made(
    database: Database,
    tmp_path: Path,
    started: list[int],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    write(tmp_path, "a", *range(3))
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", str(tmp_path / "none"))
        assert (await run(database, tmp_path, Lines())).appended == 3
    assert started == []
    assert "goes on without one" in caplog.text


async def test_a_process_that_cannot_be_started_is_told_and_the_pass_goes_on(
    database: Database,
    tmp_path: Path,
    started: list[int],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(reader, "PROGRAM", ("-c", "raise SystemExit(3)"))
    write(tmp_path, "a", *range(3))
    write(tmp_path, "b", *range(3, 6))
    assert (await run(database, tmp_path, Lines())).appended == 6
    assert len(started) == 1
    assert "goes on without one" in caplog.text


def test_a_draft_that_is_handed_over_is_the_same_there() -> None:
    # A value of its own for each field, so that no two can change places.
    draft = Draft(
        kind=Kind.MESSAGE,
        content="x",
        source_client="codex",
        provider="claude",
        machine="here",
        session_id=uuid.UUID(int=1),
        project_id=uuid.UUID(int=2),
        source_id="3",
        role="user",
        position=4,
        key="5",
        payload={"a": [1]},
        origin={"file": "6"},
        occurred_at=datetime(2026, 11, 7, tzinfo=UTC),
        fingerprint=b"8",
    )
    assert all(getattr(draft, each.name) for each in fields(Draft))
    assert not hasattr(Draft, "__post_init__"), "handing over would pass it by"
    there = pickle.loads(pickle.dumps(draft))  # noqa: S301 - our own
    assert there == draft
    new = {"content": "y", "payload": None, "machine": "m", "fingerprint": b"f"}
    assert draft.redrafted(**new) == replace(draft, **new)  # type: ignore[arg-type] # names are its own


async def test_a_process_that_reads_ahead_ends_with_the_one_that_started_it() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", KILLED, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    number = int(await process.stdout.readline())
    assert await process.wait() == -signal.SIGKILL
    with contextlib.suppress(psutil.NoSuchProcess):
        await asyncio.to_thread(psutil.Process(number).wait, 30)
    assert not psutil.pid_exists(number) or psutil.Process(number).status() == "zombie"
