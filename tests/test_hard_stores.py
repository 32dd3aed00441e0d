"""Stores that are hard to read: on a read-only mount, locked for long, with lines of many MB."""

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
from hook_calls import claude_says
from imports import entries, line, run, runner
from readings import DATA

from importers.claude import ClaudeImporter
from importers.opencode import OpenCodeImporter
from importers.tell import told
from memory import crud, search
from memory.database import Database

SECONDS = 120  # until a test gives up; nothing waits so long
SESSION = "00000000-0000-4000-8000-000000000001"
OPENCODE = Path(".local/share/opencode")
ALONE = ("unshare", "--mount") if os.geteuid() == 0 else ("unshare", "--map-root-user", "--mount")
MOUNTED = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'


def has_mounts(folder: Path) -> bool:
    """Tell whether this account may mount a folder for its own processes alone."""
    if not shutil.which("unshare"):
        return False
    command = [*ALONE, "sh", "-c", MOUNTED, str(folder), "sh", "-c", '! touch "$0/x"', str(folder)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def looks(folder: Path) -> dict[str, tuple[int, int]]:
    """Return size and time of every file in a folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in paths}


@pytest.mark.parametrize("has_index", [True, False], ids=["with -shm", "without -shm"])
def test_stores_on_a_read_only_mount_are_read_whole_and_keep_their_bytes(
    environment: dict[str, str], tmp_path: Path, *, has_index: bool
) -> None:
    home = tmp_path / "home"
    shutil.copytree(DATA / "claude" / "2.1.197" / "store", home / ".claude")
    shutil.copytree(DATA / "codex" / "0.171.0" / "store", home / ".codex")
    shutil.copytree(DATA / "opencode" / "1.18.33" / "store", home / OPENCODE)
    if not has_mounts(home):
        pytest.skip("this account may mount nothing, not even for itself")
    index = home / OPENCODE / "opencode.db-shm"
    if has_index:
        with closing(sqlite3.connect(home / OPENCODE / "opencode.db")) as client:
            client.execute("SELECT count(*) FROM session").fetchone()
            kept = index.read_bytes(), index.with_name("opencode.db-wal").read_bytes()
        index.write_bytes(kept[0])
        index.with_name("opencode.db-wal").write_bytes(kept[1])
    assert index.exists() is has_index
    before = looks(home)
    command = [*ALONE, "sh", "-c", MOUNTED, str(home)]
    answers = []
    for _ in range(2):
        done = subprocess.run(
            [*command, sys.executable, "-m", "importers", "--json"],
            env={**environment, "HOME": str(home)},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        answers.append({each["client"]: each for each in json.loads(done.stdout)["clients"]})
    first, second = answers
    for client in ("claude", "codex", "opencode"):
        assert first[client]["appended"] > 50
        assert first[client]["failed"] == []
        assert second[client]["appended"] == 0
    assert looks(home) == before


async def test_a_database_that_stays_locked_keeps_no_other_store_back(
    database: Database, tmp_path: Path
) -> None:
    shutil.copytree(DATA / "opencode" / "1.18.33" / "store", tmp_path / OPENCODE)
    path = tmp_path / OPENCODE / "opencode.db"
    claude_says(tmp_path, "said meanwhile")
    passes = runner(database, tmp_path, OpenCodeImporter(), ClaudeImporter())
    passes.root, passes.home = None, tmp_path
    with closing(sqlite3.connect(path, isolation_level=None)) as client:
        client.execute("PRAGMA journal_mode=DELETE")  # in WAL mode a writer locks out no reader
        client.execute("BEGIN EXCLUSIVE")
        locked, claude = (await passes.run()).clients
        client.execute("ROLLBACK")
    assert claude.appended > 0
    assert locked.appended == 0
    (failed,) = locked.failed
    assert "holds this database locked" in failed.reason
    assert not any("FAILED" in each for each in told(await passes.run()))
    sessions = await database.transact(crud.list_sessions)
    assert {each.session.provider for each in sessions} == {"claude", "opencode"}


async def test_a_line_of_fifty_megabytes_is_stored_whole_and_found(
    database: Database, tmp_path: Path
) -> None:
    text = "porcupine " + "lorem ipsum dolor sit amet " * (50_000_000 // 27)
    path = tmp_path / "projects" / "proj" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    for uuid, content in (("a", "before"), ("b", text), ("c", "behind")):
        message = {"role": "user", "content": content}
        at = "2026-11-29T10:00:00Z"
        row = line(type="user", uuid=uuid, sessionId=SESSION, timestamp=at, message=message)
        with path.open("ab") as file:
            file.write(row)
    report = await run(database, tmp_path, ClaudeImporter())
    assert (report.appended, report.refused, report.unreadable) == (3, 0, 0)
    before, long, behind = await entries(database, "claude", SESSION)
    assert (before.content, long.content == text, behind.content) == ("before", True, "behind")
    await database.transact(search.index)
    request = search.Request(query="porcupine")
    answer = await database.transact(lambda s: search.search(s, request))
    assert [hit.entry.id for hit in answer.hits] == [long.id]


@asynccontextmanager
async def watch(environment: dict[str, str]) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a watch of Claude Code's store as a program, and end it."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "importers", "--watch", "--client", "claude", "--poll", "0.2"),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
        await process.communicate()


async def heard(stream: asyncio.StreamReader | None, words: str) -> None:
    assert stream is not None
    while said := await stream.readline():
        if words in said.decode():
            return
    raise AssertionError(f"it ended without: {words}")


async def test_of_two_watches_one_stands_by_and_takes_over_when_the_other_is_killed(
    environment: dict[str, str], database: Database, tmp_path: Path
) -> None:
    environment["HOME"] = str(tmp_path)
    claude_says(tmp_path, "one")
    async with asyncio.timeout(SECONDS), watch(environment) as first:
        await heard(first.stdout, "1 entries appended")
        async with watch(environment) as second:
            await heard(second.stderr, "standing by")
            claude_says(tmp_path, "two")
            await heard(first.stdout, "1 entries appended")
            first.send_signal(signal.SIGKILL)
            claude_says(tmp_path, "three")
            await heard(second.stderr, "taking over")
            await heard(second.stdout, "1 entries appended")
    found = await entries(database, "claude", SESSION)
    assert [each.content for each in found] == ["one", "two", "three"]


def test_names_that_are_no_text_are_read_told_and_proven(
    environment: dict[str, str], tmp_path: Path
) -> None:
    environment["HOME"] = str(tmp_path)
    claude_says(tmp_path, "one")
    odd = os.fsencode(tmp_path) + b"/.claude/projects/pr\xffoj\x1b[31m\n"
    os.mkdir(odd)  # noqa: PTH102 - a name in bytes
    row = {"type": "user", "uuid": "odd", "sessionId": SESSION[:-1] + "7", "cwd": "/x"}
    said = line(**row, message={"role": "user", "content": "two"})
    with open(odd + b"/a\xfe\xff.jsonl", "wb") as file:  # noqa: PTH123 - as above
        file.write(said + b"no json\n")
    os.mkdir(odd + b"/b\xff.jsonl")  # noqa: PTH102 - as above
    for arguments, status in (
        (["--json"], 1),
        ([], 1),
        (["coverage"], 1),
        (["coverage", "--json"], 1),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "importers", *arguments],
            env=environment,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == status, (done.stdout + done.stderr).decode()
        assert b"\x1b" not in done.stdout
        assert b"nobody foresaw" not in done.stdout + done.stderr
        if "--json" in arguments:
            answer = json.loads(done.stdout)
            assert answer["code"] in {"import_failed", "incomplete"}
        if arguments == ["--json"]:
            assert answer["clients"][0]["appended"] == 2
            assert answer["clients"][0]["unreadable"] == 1
            assert len(answer["clients"][0]["failed"]) == 1
