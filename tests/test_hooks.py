"""Hooks: a client that calls one never notices, and what it said is in the ledger soon."""

import json
import os
import resource
import signal
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from hook_calls import (
    HOOK,
    ROOT,
    SESSION,
    call,
    called,
    claude_says,
    held,
    is_read,
    mode,
    payload,
    program,
    readers,
    until,
    waiting,
    without,
)
from imports import entries

from importers.hooks import DEPTH, INSIDE, Wrong, call_of, checksum, signal_of
from memory.database import Database

AWAY = "postgresql://nobody:nothing@127.0.0.1:1/none"
THREAD = "019a0000-0000-7000-8000-000000000001"


@pytest.fixture
def hooked(environment: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """Return the environment of a client with a home of its own, on the fresh ledger."""
    return {**environment, "HOME": str(tmp_path), "MEMORY_HOME": str(tmp_path / "memory")}


@pytest.fixture
def offline(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a client whose database cannot be reached."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PYTHONPATH": str(ROOT),
        "MEMORY_HOME": str(tmp_path / "memory"),
        "DATABASE_URL": AWAY,
    }


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    return tmp_path / "memory" / "spool"


def test_a_hook_leaves_ids_and_paths_for_this_account_alone(
    offline: dict[str, str], spool: Path, tmp_path: Path
) -> None:
    path = claude_says(tmp_path, "first")
    with held(spool):
        said = payload(path, last_assistant_message="the secret of the house")
        done = call(offline, "--hook", "claude", stdin=said)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    (name,) = waiting(spool)
    assert name == f"claude.{SESSION}.json"
    facts = json.loads((spool / name).read_bytes())
    assert {key: facts[key] for key in ("client", "session", "event", "path")} == {
        "client": "claude",
        "session": SESSION,
        "event": "Stop",
        "path": str(path),
    }
    assert facts["told"] == checksum("the  secret\nof the house ")
    assert "secret" not in (spool / name).read_text("utf-8")
    assert (mode(spool), mode(spool / name)) == (0o700, 0o600)
    assert {mode(each) for each in spool.iterdir()} == {0o600, 0o600 | mode(spool / "claude.lock")}


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "PreToolUse", "Unheard"])
def test_an_event_that_ends_nothing_is_noted_and_no_more(
    offline: dict[str, str], spool: Path, tmp_path: Path, event: str
) -> None:
    done = call(offline, "--hook", "claude", stdin=payload(tmp_path, hook_event_name=event))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert waiting(spool) == []
    assert (spool / "claude.last").exists()
    assert readers(spool) == []


@pytest.mark.parametrize(
    "stdin",
    [
        b"",
        b"  \n",
        b"{",
        b"null",
        b"[1]",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"hook_event_name": "Stop"}',
        b'{"session_id": "../../etc/x", "hook_event_name": "Stop"}',
        b'{"session_id": 7, "hook_event_name": "Stop"}',
        b'{"session_id": "a", "agent_id": "..", "hook_event_name": "Stop"}',
        b'{"session_id": "' + b"a" * 1000 + b'", "hook_event_name": "Stop"}',
        b'{"session_id": "a\\u0000b", "hook_event_name": "Stop"}',
        b'{"x": "' + b"y" * 8_000_000 + b'", "session_id": "a", "hook_event_name": "Stop"}',
    ],
    ids=range(14),
)
def test_what_is_no_hooks_json_is_told_and_ends_with_0(
    offline: dict[str, str], spool: Path, stdin: bytes
) -> None:
    done = call(offline, "--hook", "claude", stdin=stdin)
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.startswith(b"memory-import: the signal was not kept: ")
    assert len(done.stderr.splitlines()) == 1
    assert waiting(spool) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["--hook"],
        ["--hook", "cursor"],
        ["--notify", "codex"],
        ["--hook", "claude", "-e", "NAME"],
        ["--hook", "claude", "-e"],
        ["--hook", "claude", "extra"],
        ["--hook", "claude", "--then", "echo"],
        ["--notify", "codex", "x", "{}"],
    ],
)
def test_a_wrong_call_is_told_and_ends_with_0(
    offline: dict[str, str], arguments: list[str]
) -> None:
    done = call(offline, *arguments)
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.startswith(b"memory-import: ")


def test_no_standard_stream_at_all_is_survived(offline: dict[str, str], spool: Path) -> None:
    command = f'exec "{sys.executable}" -I -S "{HOOK}" --hook claude <&- >&- 2>&-'
    done = subprocess.run(["sh", "-c", command], env=offline, timeout=60, check=False)
    assert done.returncode == 0
    notify = command.replace("--hook claude", '--notify codex \'{"thread-id": "a"}\'')
    with held(spool, "codex"):
        done = subprocess.run(["sh", "-c", notify], env=offline, timeout=60, check=False)
    assert done.returncode == 0
    assert {path.name: path.stat().st_size for path in spool.glob("*.l*")} == {
        "codex.last": 0,
        "codex.lock": 0,
    }, "what is said to a closed stream goes into no file of ours"
    assert json.loads((spool / "codex.a.json").read_bytes())["session"] == "a"


def test_a_client_that_never_ends_its_input_is_not_waited_for(
    offline: dict[str, str], spool: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-I", "-S", HOOK, "--hook", "claude"]
    for said in (b"", payload(tmp_path / "x")):
        with held(spool), subprocess.Popen(command, stdin=subprocess.PIPE, env=offline) as process:
            assert process.stdin is not None
            process.stdin.write(said)
            process.stdin.flush()
            assert process.wait(timeout=60) == 0
    assert len(waiting(spool)) == 1


@pytest.mark.parametrize("place", ["file", "nowhere", "home"])
def test_a_home_that_cannot_be_written_is_told_and_ends_with_0(
    offline: dict[str, str], tmp_path: Path, place: str
) -> None:
    (tmp_path / "file").write_text("no folder")
    given = {
        "file": {**offline, "MEMORY_HOME": str(tmp_path / "file")},
        "nowhere": {**offline, "MEMORY_HOME": "/proc/nowhere/memory"},
        "home": {**offline, "MEMORY_HOME": str(tmp_path / ("n" * 300))},
    }[place]
    done = call(given, "--hook", "claude", stdin=payload(tmp_path / "x"))
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"the signal was not kept" in done.stderr


def test_no_home_at_all_is_survived(offline: dict[str, str], tmp_path: Path) -> None:
    bare = without(offline, "HOME", "MEMORY_HOME", "PATH")
    given = {**bare, DEPTH: "0", "XDG_DATA_HOME": str(tmp_path / "file" / "data")}
    (tmp_path / "file").write_text("no folder")
    arguments = ["-e", f"MEMORY_HOME={tmp_path}/file/x"]
    done = call(given, "--hook", "claude", *arguments, stdin=payload(tmp_path / "x"))
    assert (done.returncode, done.stdout) == (0, b"")


def test_a_full_disk_leaves_nothing_half_written(
    offline: dict[str, str], spool: Path, tmp_path: Path
) -> None:
    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    with held(spool):
        done = call(offline, "--hook", "claude", stdin=payload(tmp_path / "x"), preexec_fn=no_room)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"the signal was not kept" in done.stderr
    assert [path.name for path in spool.iterdir() if path.suffix not in {".last", ".lock"}] == []


def test_a_hook_starts_on_the_quick_parts_of_the_standard_library(
    offline: dict[str, str], spool: Path, tmp_path: Path
) -> None:
    code = (
        f"import sys; sys.path.append({str(ROOT)!r}); before = set(sys.modules)\n"
        "from importers.__main__ import main\n"
        "assert main(['--hook', 'claude']) == 0\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    with held(spool):
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", code],
            input=payload(tmp_path / "x"),
            env=offline,
            capture_output=True,
            timeout=60,
            check=True,
        )
    loaded = set(done.stdout.decode().split())
    assert {name for name in loaded if name.startswith(("importers", "memory"))} == {
        "importers",
        "importers.__main__",
        "importers.hooks",
        "importers.quick_json",
        "importers.spool",
    }
    tops = {name.partition(".")[0] for name in loaded} - {"importers"}
    assert tops <= set(sys.stdlib_module_names)
    slow = {"argparse", "asyncio", "dataclasses", "hashlib", "logging", "pathlib", "subprocess"}
    assert tops & (slow | {"socket", "ssl", "threading", "typing", "urllib"}) == set()
    assert len(waiting(spool)) == 1


def test_the_program_calls_the_same_hook(
    offline: dict[str, str], spool: Path, tmp_path: Path
) -> None:
    with held(spool):
        done = program(offline, "importers", "--hook", "claude", stdin=payload(tmp_path / "x"))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(waiting(spool)) == 1


def test_variables_are_given_on_the_command_line(offline: dict[str, str], tmp_path: Path) -> None:
    found = call_of(["--hook", "claude", "-e", "MEMORY_HOME=/x=y", "-e", "DATABASE_URL="], offline)
    assert found.environment["MEMORY_HOME"] == "/x=y"
    assert found.environment["DATABASE_URL"] == ""
    other = tmp_path / "other" / "spool"
    with held(other):
        call(offline, "--hook", "claude", "-e", f"MEMORY_HOME={other.parent}", stdin=payload(other))
    assert len(waiting(other)) == 1


def test_each_clients_words_are_understood() -> None:
    codex = signal_of(
        "codex",
        {
            "type": "agent-turn-complete",
            "thread-id": THREAD,
            "turn-id": "t",
            "cwd": "/x",
            "input-messages": ["do it"],
            "last-assistant-message": "done",
        },
    )
    assert codex is not None
    assert (codex.session, codex.path, codex.told) == (THREAD, "", checksum("done"))
    opencode = signal_of(
        "opencode", {"type": "session.idle", "properties": {"sessionID": "ses_1a2b"}}
    )
    assert opencode is not None
    assert (opencode.session, opencode.event, opencode.told) == ("ses_1a2b", "session.idle", "")
    agent = signal_of(
        "claude",
        {
            "hook_event_name": "SubagentStop",
            "session_id": SESSION,
            "agent_id": "a1b2",
            "transcript_path": "/p/s.jsonl",
            "agent_transcript_path": "/p/s/subagents/agent-a1b2.jsonl",
        },
    )
    assert agent is not None
    assert agent.name == f"claude.{SESSION}.a1b2"
    assert agent.path.endswith("agent-a1b2.jsonl")
    long = signal_of("codex", {"thread-id": THREAD, "transcript_path": "/" + "x" * 5000})
    assert long is not None
    assert long.path == ""
    with pytest.raises(Wrong):
        signal_of("codex", {"type": "agent-turn-complete"})


SHOW = (
    "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ.get('KEPT')])); sys.exit(7)"
)


@pytest.mark.parametrize("text", ['{"thread-id": "019a"}', "no JSON", ""])
def test_the_users_own_notify_program_is_called_as_before(
    offline: dict[str, str], spool: Path, text: str
) -> None:
    then = ["--then", sys.executable, "-c", SHOW, "-x", "a b", "--then", "-e"]
    with held(spool, "codex"):
        done = call({**offline, "KEPT": "yes"}, "--notify", "codex", *then, text)
    assert done.returncode == 7, "the client gets the answer of the user's program"
    assert json.loads(done.stdout) == [["-x", "a b", "--then", "-e", text], "yes"]
    assert len(waiting(spool)) == (1 if text.startswith("{") else 0)


def test_a_notify_program_that_is_not_there_is_told(offline: dict[str, str], spool: Path) -> None:
    with held(spool, "codex"):
        done = call(offline, "--notify", "codex", "--then", "/nonexistent/x", '{"thread-id": "a"}')
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"/nonexistent/x" in done.stderr or b"No such file" in done.stderr
    assert len(waiting(spool)) == 1


def test_a_hook_within_our_own_work_does_nothing(
    offline: dict[str, str], spool: Path, tmp_path: Path
) -> None:
    for depth in (str(INSIDE), "1", "99", "9999999999", "x"):
        done = call({**offline, DEPTH: depth}, "--hook", "claude", stdin=payload(tmp_path / "x"))
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not spool.exists()


def test_a_chain_that_calls_itself_ends(
    offline: dict[str, str], spool: Path, tmp_path: Path
) -> None:
    again = tmp_path / "again"
    mark = tmp_path / "mark"
    again.write_text(
        f'#!/bin/sh\necho x >> "{mark}"\n'
        f'exec "{sys.executable}" -I -S "{HOOK}" --notify codex --then "{again}" "$@"\n'
    )
    again.chmod(0o755)
    with held(spool, "codex"):
        done = call(offline, "--notify", "codex", "--then", str(again), '{"thread-id": "a"}')
    assert (done.returncode, done.stderr) == (0, b"")
    assert mark.read_text() == "x\n" * INSIDE
    assert len(waiting(spool)) == 1


async def test_what_a_hook_names_is_read_and_nothing_else(
    hooked: dict[str, str], spool: Path, tmp_path: Path, database: Database
) -> None:
    other = SESSION.replace("1", "2")
    claude_says(tmp_path, "not named", session=other)
    path = claude_says(tmp_path, "first", "second")
    done = call(hooked, "--hook", "claude", stdin=payload(path))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    until(partial(is_read, spool))
    found = await entries(database, "claude", SESSION)
    assert [each.content for each in found] == ["first", "second"]
    assert [each.name for each in (tmp_path / "memory" / "rounds").iterdir()] == ["claude.json"]
    listed = program(hooked, "memory.cli", "sessions", "--json")
    assert len(json.loads(listed.stdout)["sessions"]) == 1


async def test_without_a_database_the_signal_waits_for_the_next_import(
    hooked: dict[str, str],
    offline: dict[str, str],
    spool: Path,
    tmp_path: Path,
    database: Database,
) -> None:
    path = claude_says(tmp_path, "first")
    done = call(offline, "--hook", "claude", stdin=payload(path))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    until(lambda: (spool / "claude.failed").exists() and not readers(spool))
    assert len(waiting(spool)) == 1
    state = json.loads((tmp_path / "memory" / "rounds" / "claude.json").read_bytes())
    assert state["is_failing"] is True
    assert state["reason"].startswith("unavailable: ")
    said = (spool / "claude.log").read_text("utf-8")
    assert said.startswith("memory-import: ")
    assert said.endswith("(unavailable)\n")
    call(offline, "--hook", "claude", stdin=payload(path))
    assert readers(spool) == [], "a database that was away a moment ago is not tried at each turn"
    assert program(hooked, "importers").returncode == 0
    assert waiting(spool) == []
    assert [e.content for e in await entries(database, "claude", SESSION)] == ["first"]
    state = json.loads((tmp_path / "memory" / "rounds" / "claude.json").read_bytes())
    assert state["is_failing"] is False
    assert state["reason"].startswith("unavailable: "), "the last failure is remembered"


async def test_hooks_at_once_start_one_importer_that_reads_all_of_them(
    hooked: dict[str, str], spool: Path, tmp_path: Path, database: Database
) -> None:
    sessions = [SESSION.replace("1", str(number)) for number in range(2, 8)]
    calls = []
    for session in sessions:
        path = claude_says(tmp_path, "hello", session=session)
        calls.append(called(hooked, payload(path, session=session)))
    assert len(readers(spool)) <= 1
    assert [process.wait(timeout=60) for process in calls] == [0] * len(sessions)
    assert len(readers(spool)) <= 1
    until(partial(is_read, spool))
    for session in sessions:
        assert len(await entries(database, "claude", session)) == 1


async def test_an_importer_that_is_killed_loses_and_doubles_nothing(
    hooked: dict[str, str], spool: Path, tmp_path: Path, database: Database
) -> None:
    said: list[str] = []
    for number in range(6):
        said.append(f"say {number}")
        path = claude_says(tmp_path, said[-1])
        call(hooked, "--hook", "claude", stdin=payload(path))
        until(lambda number=number: number < 3 or not readers(spool) or _has_begun(spool))
        for pid in readers(spool):
            os.kill(pid, signal.SIGKILL)
        until(lambda: not readers(spool))
    call(hooked, "--hook", "claude", stdin=payload(path))
    until(partial(is_read, spool))
    found = await entries(database, "claude", SESSION)
    assert [each.content for each in found] == said


def _has_begun(spool: Path) -> bool:
    return any(name.endswith(".taken") for name in waiting(spool))


def test_a_hook_that_is_killed_leaves_a_whole_signal_or_none(
    offline: dict[str, str], spool: Path, tmp_path: Path
) -> None:
    with held(spool):
        for number in range(12):
            process = called(offline, payload(tmp_path / "x"))
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=number * 0.004)
            process.kill()
            process.wait(timeout=60)
            for name in waiting(spool):
                assert json.loads((spool / name).read_bytes())["session"] == SESSION
                (spool / name).unlink()
