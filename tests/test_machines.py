"""Two machines, one ledger: through real imports of homes that were synced, copied and mounted."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import Cluster
from imports import entries, line
from readings import DATA
from sqlalchemy import make_url, select

from importers.claude import ClaudeImporter
from importers.codex import CodexImporter
from importers.options import parse
from importers.registry import importers_in
from importers.rounds import FOLDER, rounds
from memory import crud
from memory.database import Database
from memory.drafts import Kind
from memory.errors import InvalidInput
from memory.models import Entry

SECONDS = 60  # until a test gives up
SESSION = "7d9f0a52-0000-4000-8000-000000000001"


def said(text: str, second: int) -> bytes:
    at = f"2026-11-29T10:00:{second:02}.000Z"
    message = {"role": "user", "content": text}
    return line(
        type="user", uuid=f"{text}-uuid", sessionId=SESSION, cwd="/p", timestamp=at, message=message
    )


def transcript(home: Path) -> Path:
    path = home / ".claude" / "projects" / "-p" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def go_on(home: Path, *texts: str, second: int = 0) -> None:
    with transcript(home).open("ab") as file:
        for number, text in enumerate(texts):
            file.write(said(text, second + number))
    os.utime(transcript(home), (0, 0))


def imported(
    environment: dict[str, str], *arguments: str, module: str = "importers", status: int = 0
) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments, "--json"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == status, done.stderr + done.stdout
    return json.loads(done.stdout)


def counts(answer: Any) -> tuple[int, int]:
    """Return records and appended entries over all clients."""
    return tuple(sum(each[name] for each in answer["clients"]) for name in ("records", "appended"))  # type: ignore[return-value] - two names, two numbers


async def test_a_session_that_went_on_on_two_machines_is_one_with_all_its_messages(
    environment: dict[str, str], database: Database, tmp_path: Path
) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    go_on(mine, "one", "two", "three")
    shutil.copytree(mine, other)  # synced once; then both go on
    go_on(mine, "here", second=10)
    go_on(other, "there", "and there", second=20)
    environment["HOME"] = str(mine)
    assert counts(imported(environment)) == (4, 4)
    given = ("--root", str(other), "--machine", "desk")
    assert counts(imported(environment, *given)) == (5, 2)
    assert counts(imported(environment, *given)) == (0, 0)
    found = await entries(database, "claude", SESSION)
    assert Counter((each.content, each.machine) for each in found) == Counter(
        {
            ("one", "test-machine"): 1,
            ("two", "test-machine"): 1,
            ("three", "test-machine"): 1,
            ("here", "test-machine"): 1,
            ("there", "desk"): 1,
            ("and there", "desk"): 1,
        }
    )
    go_on(mine, "later here", second=40)
    go_on(other, "later there", second=50)
    assert counts(imported(environment)) == (1, 1)
    assert counts(imported(environment, *given)) == (1, 1)
    known = await database.transact(crud.list_machines)
    assert {each.id: each.label for each in known} == {
        "desk": "desk",
        "test-machine": "test-machine",
    }
    (session,) = await database.transact(crud.list_sessions)
    assert session.entries == 8


async def test_a_mount_at_another_place_goes_on_where_the_last_ended(
    environment: dict[str, str], database: Database, tmp_path: Path
) -> None:
    first, second = tmp_path / "mnt" / "a", tmp_path / "mnt" / "b"
    for client in ("claude", "codex", "opencode", "pi"):
        place = {"claude": ".claude", "codex": ".codex", "pi": ".pi/agent"}
        target = first / place.get(client, ".local/share/opencode")
        shutil.copytree(max((DATA / client).glob("*/store")), target)
    go_on(first, "before")
    answer = imported(environment, "--root", str(first), "--machine", "laptop")
    assert [each["client"] for each in answer["clients"]] == ["claude", "codex", "opencode", "pi"]
    assert counts(answer)[1] > 100
    shutil.copytree(first, second)  # other inodes, other times
    shutil.rmtree(first)
    go_on(second, "after", second=5)
    again = imported(environment, "--root", str(second), "--machine", "Laptop")
    read = {each["client"]: each["records"] for each in again["clients"]}
    assert (read["claude"], read["codex"], read["pi"]) == (1, 0, 0), "a database is looked at anew"
    assert counts(again)[1] == 1
    assert all(each["events"] == [] and each["failed"] == [] for each in again["clients"])
    paths = await database.transact(
        lambda s: s.scalars(select(Entry.origin["path"].astext).where(Entry.origin.is_not(None)))
    )
    assert not any(Path(path).is_absolute() for path in paths if path)
    for client in ("claude", "codex", "opencode", "pi"):
        states = await database.transact(lambda s, of=client: crud.get_checkpoints(s, of, "laptop"))
        assert states
        assert not any(Path(each).is_absolute() for each in states)
    notes = select(Entry.content).where(Entry.kind == Kind.EVENT)
    assert list(await database.transact(lambda s: s.scalars(notes))) == []


async def test_a_mounted_home_is_watched_like_this_machine_s_own(
    environment: dict[str, str], database: Database, tmp_path: Path
) -> None:
    go_on(tmp_path, "one")
    command = [sys.executable, "-m", "importers", "--watch", "--json", "--poll", "0.2"]
    process = await asyncio.create_subprocess_exec(
        *command,
        *("--root", str(tmp_path), "--machine", "laptop"),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    async with asyncio.timeout(SECONDS):
        assert counts(json.loads(await process.stdout.readline())) == (1, 1)
        go_on(tmp_path, "two", second=1)
        assert counts(json.loads(await process.stdout.readline())) == (1, 1)
        process.send_signal(signal.SIGTERM)
        _, errors = await process.communicate()
    assert process.returncode == 0, errors
    found = await entries(database, "claude", SESSION)
    assert [each.machine for each in found] == ["laptop", "laptop"]


async def test_a_mounted_home_is_watched_when_the_ledger_comes_late(
    environment: dict[str, str],
    database: Database,
    cluster: Cluster,
    tmp_path: Path,
) -> None:
    go_on(tmp_path, "one")
    name = make_url(database.settings.database_url).database
    await database.close()
    await cluster.sql(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "importers", "--watch", "--json", "--poll", "0.2"),
        *("--root", str(tmp_path), "--machine", "laptop"),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    async with asyncio.timeout(SECONDS):
        assert b"cannot be reached, waiting" in await process.stderr.readline()
        noted = list(rounds(database.settings.home / FOLDER))
        assert any(each.is_failing and each.root == str(tmp_path) for each in noted)
        await cluster.sql(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS true")
        assert counts(json.loads(await process.stdout.readline())) == (1, 1)
        process.send_signal(signal.SIGTERM)
        await process.communicate()
    assert process.returncode == 0
    (found,) = await entries(database, "claude", SESSION)
    assert found.machine == "laptop"


def test_the_ledger_s_coverage_of_another_machine_can_be_proven(
    environment: dict[str, str], tmp_path: Path
) -> None:
    go_on(tmp_path, "one", "two")
    given = ("--root", str(tmp_path), "--machine", "laptop")
    unknown = imported(environment, "coverage", *given, status=1)
    assert (unknown["code"], "memory machines" in unknown["error"]) == ("not_found", True)
    imported(environment, *given)
    whole = imported(environment, "coverage", *given)
    assert [(each["client"], each["is_whole"]) for each in whole["clients"]] == [("claude", True)]
    go_on(tmp_path, "three", second=5)
    assert imported(environment, "coverage", *given, status=1)["is_whole"] is False
    assert imported(environment, "coverage", *given, "--mend")["is_whole"] is True
    assert counts(imported(environment, *given)) == (1, 0)
    nowhere = imported(environment, "coverage", "--machine", "laptop", status=1)
    assert nowhere["code"] == "invalid_argument"


def test_a_copy_that_lost_a_file_or_was_cut_is_told(
    environment: dict[str, str], tmp_path: Path
) -> None:
    home = tmp_path / "home"
    go_on(home, "one", "two")
    other = transcript(home).with_name("7d9f0a52-0000-4000-8000-000000000002.jsonl")
    other.write_bytes(said("elsewhere", 1))
    given = ("--root", str(home), "--machine", "laptop")
    imported(environment, *given)
    other.unlink()
    transcript(home).write_bytes(said("one", 0))
    (claude,) = imported(environment, *given)["clients"]
    told = {(each["path"], each["event"]) for each in claude["events"]}
    assert told == {
        (f"projects/-p/{other.name}".replace("/-p", ""), "vanished"),
        (str(transcript(home)), "truncated"),
    }


def test_the_variables_of_this_machine_say_nothing_about_another_home(
    environment: dict[str, str], tmp_path: Path
) -> None:
    own, home = tmp_path / "own", tmp_path / "home"
    go_on(own, "mine")
    go_on(home, "theirs")
    environment |= {"HOME": str(own), "CLAUDE_CONFIG_DIR": str(own / ".claude")}
    for arguments in ((), ("--machine", "laptop")):
        (claude,) = imported(environment, "--root", str(home), *arguments)["clients"]
        assert claude["stores"] == [str(home / ".claude")]
    assert imported(environment, "import", "--root", str(home), module="memory.cli")
    one = imported(environment, "--root", str(home / ".claude"), "--machine", "laptop")
    assert counts(one) == (0, 0), "the same store under another root has the same names"


def test_a_root_is_a_home_or_one_store_and_nothing_else(tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(DATA / "codex" / "0.47.0" / "store", home / ".codex")
    go_on(home, "hello")
    (home / ".claude" / "history.jsonl").touch()
    assert [each.provider for each in importers_in(home)] == ["claude", "codex"]
    assert [each.provider for each in importers_in(home, ("codex",))] == ["codex"]
    assert isinstance(importers_in(home / ".claude")[0], ClaudeImporter)
    assert isinstance(importers_in(home / ".codex")[0], CodexImporter)
    assert [each.provider for each in importers_in(tmp_path, ("pi",))] == ["pi"]
    with pytest.raises(InvalidInput, match="neither a home"):
        importers_in(tmp_path)
    with pytest.raises(InvalidInput, match="no folder"):
        importers_in(tmp_path / "nothing")
    (home / ".codex" / "projects" / "-p").mkdir(parents=True)
    shutil.copy(transcript(home), home / ".codex" / "projects" / "-p")
    with pytest.raises(InvalidInput, match="claude, codex: say which with --client"):
        importers_in(home / ".codex")


def test_a_machine_is_named_for_a_root_alone(environment: dict[str, str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--machine", "laptop"])
    assert parse(["--machine", "laptop", "--root", "/x"]).machine == "laptop"
    answer = imported(environment, "import", "--machine", "x", module="memory.cli", status=1)
    assert answer["code"] == "invalid_argument"
