"""The spool: signals wait until what they name is in the ledger, and nothing of them is lost."""

import asyncio
import errno
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hook_calls import SESSION, claude_says, held, mode, program, waiting
from hypothesis import given, strategies
from imports import entries, heard, line

from importers import flow, hooks, spool
from importers.base import Source, Store
from importers.claude import ClaudeImporter
from importers.codex import CodexImporter
from importers.drain import drain, read_all
from importers.hooks import checksum
from importers.keep import Kept
from importers.ready import Ready
from importers.report import ClientReport, Failed, Report
from importers.rounds import Rounds, rounds
from importers.run import Runner
from importers.said import is_said
from importers.signals import Signals
from importers.spool import Signal
from importers.watch import Watch
from memory.database import Database
from memory.errors import NotFound, Unavailable
from memory.settings import SERVICE_ACCOUNT, Settings

OTHER = SESSION.replace("1", "2")
SECONDS = 60


values = strategies.text() | strategies.floats() | strategies.none() | strategies.integers()
fields = strategies.dictionaries(strategies.sampled_from(["format", *Signal.__slots__]), values)
json_texts = fields.map(
    lambda some: json.dumps({"format": 1, **signal_of().facts(), **some}).encode()
)


def signal_of(session: str = SESSION, **fields: str) -> Signal:
    return Signal(**{"client": "claude", "session": session, "event": "Stop", **fields}, at=1.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "memory" / "spool"


@pytest.fixture
def ledger(database: Database, tmp_path: Path) -> Database:
    """Return the fresh ledger with a home of its own."""
    database.settings = replace(database.settings, home=tmp_path / "memory")
    return database


def runner(ledger: Database, home: Path) -> Runner:
    return Runner(database=ledger, importers=[ClaudeImporter()], environment={}, home=home)


async def contents(ledger: Database, session: str = SESSION) -> list[str]:
    try:
        return [each.content for each in await entries(ledger, "claude", session)]
    except NotFound:
        return []


async def until(is_so: Callable[[], Awaitable[bool]], *, seconds: float = SECONDS) -> None:
    """Ask again and again until it is so."""
    async with asyncio.timeout(seconds):
        while not await is_so():  # noqa: ASYNC110 - another task brings it about
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    "given",
    [
        {"HOME": "/home/dev"},
        {"HOME": "/home/dev", "XDG_DATA_HOME": "/data"},
        {"HOME": "/home/dev", "XDG_DATA_HOME": ""},
        {"HOME": "/home/dev", "MEMORY_HOME": "/srv/memory/"},
        {"HOME": "/home/dev", "MEMORY_HOME": "~/memory"},
        {"HOME": "/home/dev", "MEMORY_HOME": "memory"},
        {"HOME": "/home/dev", "MEMORY_HOME": ""},
    ],
)
@pytest.mark.parametrize("uid", [0, 1000])
def test_a_hook_finds_the_home_that_everything_else_uses(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], uid: int
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    monkeypatch.setenv("HOME", given["HOME"])
    assert Path(spool.home_of(given)) == Settings.from_environment(given).home


def test_what_the_hook_cannot_import_is_the_same_there() -> None:
    assert spool._ACCOUNT == SERVICE_ACCOUNT
    assert set(hooks.CLIENTS) == {"claude", "codex", "opencode"}


def test_a_signal_is_written_whole_and_read_back(folder: Path) -> None:
    given = signal_of(agent="a1", path="/x/y.jsonl", told="00ff00ff")
    spool.write(str(folder), given)
    (entry,) = spool.waiting(str(folder))
    assert entry.name == f"claude.{SESSION}.a1.json"
    assert spool.parsed(Path(entry.path).read_bytes()).facts() == given.facts()
    assert (mode(folder), mode(Path(entry.path))) == (0o700, 0o600)
    spool.write(str(folder), signal_of(agent="a1", path="/later"))
    assert len(waiting(folder)) == 1, "the later one takes the place of the first"
    assert spool.parsed(Path(entry.path).read_bytes()).path == "/later"


def test_the_spool_is_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "MAX_WAITING", 3)
    for number in range(3):
        spool.write(str(folder), signal_of(session=f"s{number}"))
    with pytest.raises(spool.Full):
        spool.write(str(folder), signal_of(session="s3"))
    spool.write(str(folder), signal_of(session="s1", path="/newer"))
    assert len(list(folder.iterdir())) == 3


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\x00" * 100,
        b'{"format": 2}',
        b"[" * 100_000,
        b"[" * 10_000,
        b'{"format": 1, "client": "claude"}',
        b"x" * 100_000,
    ],
)
def test_a_damaged_signal_is_set_aside_and_told(
    folder: Path, raw: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    spool.write(str(folder), signal_of())
    path = folder / f"claude.{SESSION}.json"
    path.write_bytes(raw)
    signals = Signals(folder=folder)
    signals.hold(["claude"])
    assert signals.take() == set()
    signals.release()
    (kept,) = (folder / "damaged").iterdir()
    assert kept.read_bytes() == raw
    assert (waiting(folder), signals.damaged) == ([], 1)
    assert "damaged signal was set aside" in caplog.text


@given(raw=strategies.binary() | json_texts)
def test_whatever_stands_in_a_file_is_a_signal_or_refused(raw: bytes) -> None:
    try:
        found = spool.parsed(raw)
    except ValueError:
        return
    assert spool.parsed(json.dumps({"format": 1, **found.facts()}).encode()).name == found.name


def test_what_only_has_the_name_of_a_signal_is_set_aside(folder: Path, tmp_path: Path) -> None:
    folder.mkdir(parents=True)
    (tmp_path / "outside").write_bytes(json.dumps({"format": 1, **signal_of().facts()}).encode())
    (folder / f"claude.{SESSION}.json").symlink_to(tmp_path / "outside")
    (folder / "claude.folder.json").mkdir()
    os.mkfifo(folder / "claude.fifo.json")
    spool.write(str(folder), signal_of(session="a"))
    (folder / "claude.a.json").rename(folder / "claude.b.json")
    (folder / "claude.1-2.draft").write_bytes(b"half")
    os.utime(folder / "claude.1-2.draft", (0, 0))
    (folder / "claude.3-4.draft").write_bytes(b"being written")
    spool.write(str(folder), signal_of(session="good"))
    signals = Signals(folder=folder)
    signals.hold(["claude"])
    assert signals.take() == {"claude"}
    signals.release()
    assert signals.damaged == 5
    assert len(list((folder / "damaged").iterdir())) == 5
    assert waiting(folder) == ["claude.good.taken"]
    assert (tmp_path / "outside").exists()
    assert (folder / "claude.3-4.draft").exists()


def test_a_client_is_read_by_one_process_at_a_time(folder: Path) -> None:
    one, two = Signals(folder=folder), Signals(folder=folder)
    one.hold(["claude", "codex"])
    two.hold(["claude", "opencode"])
    assert (one.clients, two.clients) == ({"claude", "codex"}, {"opencode"})
    spool.write(str(folder), signal_of())
    assert two.take() == set()
    assert one.take() == {"claude"}
    one.hold(["codex"])
    two.hold(["claude"])
    assert (one.clients, two.clients) == ({"codex"}, {"claude"})
    assert two.take() == {"claude"}, "what the first had taken is not lost"
    one.release()
    two.release()


def test_a_descriptor_that_is_no_lock_is_not_inherited(folder: Path, tmp_path: Path) -> None:
    signals = Signals(folder=folder)
    spool.make(str(folder))
    (folder / "claude.lock").touch()
    with (tmp_path / "x").open("wb") as file, pytest.raises(OSError, match="is not the lock"):
        signals.inherit("claude", file.fileno())
    with pytest.raises(OSError, match="descriptor"):
        signals.inherit("claude", 9999)
    assert signals.clients == set()


def sources(*paths: str) -> list[Source]:
    store = Store(provider="claude", root=Path("/s"))
    return [Source(store=store, path=Path(each), key=each) for each in paths]


def test_a_signal_names_a_session_its_agents_and_no_other(folder: Path) -> None:
    mine = [
        f"/s/projects/p/{SESSION}.jsonl",
        f"/s/projects/p/{SESSION}/subagents/agent-a1.jsonl",
        f"/s/sessions/2026/11/29/rollout-2026-11-29T10-00-00-{SESSION}.jsonl",
        f"/s/sessions/2026/11/29/rollout-2026-11-29T10-00-00-{SESSION}.jsonl.zst",
        f"/s/storage/session/p/{SESSION}.json",
        "/s/opencode.db",
        "/s/projects/p/agent-a1.jsonl",
        "/s/projects/named.jsonl",
    ]
    others = [
        f"/s/projects/p/{OTHER}.jsonl",
        f"/s/projects/p/x{SESSION}.jsonl",
        "/s/projects/p/agent-a2.jsonl",
    ]
    signals = Signals(folder=folder)
    signals.hold(["claude"])
    spool.write(str(folder), signal_of(agent="a1", path="/s/projects/named.jsonl"))
    signals.take()
    listed = sources(*others, *mine)
    assert [each.key for each in signals.named_only("claude", listed)] == mine
    assert [each.key for each in signals.named_first("claude", listed)] == [*mine, *others]
    assert signals.named_only("codex", listed) == []
    signals.release()


def test_what_a_named_source_may_hold_copies_of_is_read_too(folder: Path) -> None:
    first, second, third = sources("/s/a.jsonl", f"/s/{SESSION}.jsonl", "/s/c.jsonl")
    copy = replace(second, after=(first.key,))
    signals = Signals(folder=folder)
    signals.hold(["claude"])
    spool.write(str(folder), signal_of())
    signals.take()
    assert signals.named_only("claude", [first, copy, third]) == [first, copy]
    signals.release()


def test_what_was_said_is_found_in_complete_lines_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    blocks = [{"type": "text", "text": "All is\ndone. "}]
    said = line(type="assistant", message={"content": blocks})
    path.write_bytes(b"no JSON\n" + line(type="user", deep=[[["x"]]]) + said[:-1])
    assert not is_said(path, checksum("All is done."))
    path.write_bytes(path.read_bytes() + b"\n")
    assert is_said(path, checksum("All is done."))
    assert not is_said(path, checksum("All"))


def report(*failed: str, stopped: bool = False) -> Report:
    reasons = [Failed(path=path, reason="no") for path in failed]
    return Report(clients=[ClientReport(provider="claude", failed=reasons)], stopped=stopped)


def test_a_signal_goes_only_after_what_it_names_was_stored(folder: Path) -> None:
    (source,) = sources(f"/s/{SESSION}.jsonl")
    signals = Signals(folder=folder, patience=3600)
    signals.hold(["claude"])
    spool.write(str(folder), signal_of())
    signals.take()
    signals.let_go(report())
    assert signals.is_waiting, "no source is there yet"
    signals.named_only("claude", [source])
    signals.let_go(report(stopped=True))
    signals.let_go(report(str(source.path)))
    assert waiting(folder) == [f"claude.{SESSION}.taken"]
    assert not signals.is_waiting, "that it cannot be read does not change in a moment"
    signals.named_only("claude", [source])
    signals.let_go(report())
    assert (waiting(folder), signals.has_left) == ([], False)
    signals.release()


def test_a_signal_that_comes_during_a_pass_is_another_one(folder: Path) -> None:
    (source,) = sources(f"/s/{SESSION}.jsonl")
    signals = Signals(folder=folder)
    signals.hold(["claude"])
    spool.write(str(folder), signal_of())
    signals.take()
    signals.named_only("claude", [source])
    spool.write(str(folder), signal_of(path="/later"))
    signals.let_go(report())
    assert waiting(folder) == [f"claude.{SESSION}.json"]
    assert signals.take() == {"claude"}
    signals.release()


def test_a_signal_of_no_store_is_told_and_let_go(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    signals = Signals(folder=folder, patience=0)
    signals.hold(["claude"])
    spool.write(str(folder), signal_of(path="/etc/passwd"))
    signals.take()
    assert signals.named_only("claude", sources("/s/other.jsonl")) == []
    signals.let_go(report())
    assert (waiting(folder), signals.unmatched) == ([], 1)
    assert (folder / "claude.unmatched").exists()
    assert "/etc/passwd, which is in no store" in caplog.text
    signals.release()


async def test_a_path_outside_of_the_stores_is_never_read(
    ledger: Database, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importers.signals.PATIENCE_SECONDS", 0.0)
    claude_says(tmp_path, "inside", session=OTHER)
    outside = claude_says(tmp_path / "elsewhere", "outside")
    for path in (str(outside), f"{tmp_path}/.claude/projects/../../elsewhere/x.jsonl"):
        spool.write(str(folder), signal_of(path=path))
        assert await drain(runner(ledger, tmp_path), told=lambda _: None)
        assert waiting(folder) == []
    assert await contents(ledger, OTHER) == []
    assert await contents(ledger) == []


async def test_a_client_is_given_time_to_write_what_its_hook_names(
    ledger: Database, folder: Path, tmp_path: Path
) -> None:
    path = claude_says(tmp_path, "first")
    spool.write(str(folder), signal_of(path=str(path), told=checksum("second")))
    passes: list[Report] = []

    def told(report: Report) -> None:
        passes.append(report)
        if len(passes) == 2:
            claude_says(tmp_path, "second")

    assert await drain(runner(ledger, tmp_path), told=told)
    assert await contents(ledger) == ["first", "second"]
    assert len(passes) == 3
    assert waiting(folder) == []


async def test_what_was_never_written_is_not_waited_for_for_ever(
    ledger: Database, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importers.signals.PATIENCE_SECONDS", 0.3)
    path = claude_says(tmp_path, "first")
    spool.write(str(folder), signal_of(path=str(path), told=checksum("never")))
    assert await drain(runner(ledger, tmp_path), told=lambda _: None)
    assert await contents(ledger) == ["first"]
    assert waiting(folder) == []


async def test_a_source_that_cannot_be_read_keeps_its_signal_and_ends_the_run(
    ledger: Database, folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / ".claude" / "projects" / "proj" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    path.symlink_to(path)
    spool.write(str(folder), signal_of(path=str(path)))
    assert not await drain(runner(ledger, tmp_path), told=lambda _: None)
    assert waiting(folder) == [f"claude.{SESSION}.taken"]
    (found,) = rounds(folder.parent / "rounds")
    assert found.is_failing
    assert str(path) in found.reason
    path.unlink()
    claude_says(tmp_path, "mended")
    assert await drain(runner(ledger, tmp_path), told=lambda _: None)
    assert (waiting(folder), await contents(ledger)) == ([], ["mended"])
    (found,) = rounds(folder.parent / "rounds")
    assert not found.is_failing


async def test_an_import_of_everything_takes_the_signals_too(
    ledger: Database, folder: Path, tmp_path: Path
) -> None:
    claude_says(tmp_path, "first")
    claude_says(tmp_path, "other", session=OTHER)
    spool.write(str(folder), signal_of())
    with held(folder, "codex"):
        done = runner(ledger, tmp_path)
        done.importers = [ClaudeImporter(), CodexImporter()]
        found = await read_all(done)
    assert found.clients[0].appended == 2
    assert waiting(folder) == []
    named = runner(ledger, tmp_path)
    named.root = tmp_path / ".claude"
    spool.write(str(folder), signal_of())
    await read_all(named)
    assert len(waiting(folder)) == 1, "a store that is named by hand is not the one hooks speak of"


@asynccontextmanager
async def watching(ledger: Database, home: Path) -> AsyncIterator[list[str]]:
    """Watch a home whose stores give no reason to wake, and poll never."""
    made = runner(Database(ledger.settings), home)
    said: list[str] = []
    watch = Watch(
        runner=made, say=heard(said), told=lambda _: None, poll_seconds=3600, retry_seconds=0.05
    )
    task = asyncio.create_task(watch.run())
    try:
        yield said
    finally:
        made.stop.set()
        async with asyncio.timeout(SECONDS):
            await task
        await made.database.close()


async def test_the_importer_that_watches_is_woken_by_a_signal(
    ledger: Database, folder: Path, tmp_path: Path
) -> None:
    claude_says(tmp_path, "first")

    async def has_first() -> bool:
        return await contents(ledger) == ["first"]

    async def is_empty() -> bool:
        return not waiting(folder)

    async with watching(ledger, tmp_path):
        await until(has_first)
        for _ in range(SECONDS):  # events begin a moment after the watch
            spool.write(str(folder), signal_of())
            with suppress(TimeoutError):
                await until(is_empty, seconds=1.0)
                break
    assert waiting(folder) == []


async def test_what_a_signal_names_is_read_before_the_rest_of_a_long_pass(
    ledger: Database, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importers.flow.BATCH_BYTES", 1)  # a transaction for each batch
    stored: list[str] = []
    others = [f"00000000-0000-4000-8000-{number:012d}" for number in range(100, 120)]
    for session in others:
        claude_says(tmp_path, "old", session=session)
    original = flow.keep

    async def keep(database: Database, batches: Sequence[Ready]) -> list[Kept]:
        kept = await original(database, batches)
        stored.extend(ready.source.path.stem for ready in batches)
        if len(stored) == 2:  # in the middle of the first pass
            claude_says(tmp_path, "now")
            spool.write(str(folder), signal_of())
        return kept

    monkeypatch.setattr("importers.flow.keep", keep)

    async def has_all() -> bool:
        return len(stored) >= len(others) + 1 and not waiting(folder)

    async with watching(ledger, tmp_path):
        await until(has_all)
    assert set(stored) == {*others, SESSION}
    assert stored.index(SESSION) <= 5, "at most what was being read already comes before"


def test_a_spool_that_cannot_be_read_interrupts_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool.write(str(folder), signal_of())
    signals = Signals(folder=folder)
    assert signals.look([]) == set()

    def refused(_self: Path, _target: Path) -> Path:
        raise PermissionError

    monkeypatch.setattr(Path, "replace", refused)
    monkeypatch.setattr(Path, "rename", refused)
    assert signals.look(["claude"]) == set()
    assert not signals.is_any_new()
    monkeypatch.undo()
    assert signals.look(["claude"]) == {"claude"}
    assert not signals.is_any_new()
    spool.write(str(folder), signal_of(session="s2"))
    assert signals.is_any_new()
    signals.release()


def test_how_the_last_pass_ended_outlives_its_process(tmp_path: Path) -> None:
    folder = tmp_path / "memory" / "rounds"
    Rounds(folder=folder).note(Report(clients=[ClientReport(provider="claude")]))
    (good,) = rounds(folder)
    assert (good.is_failing, good.failed_at, good.reason) == (False, 0.0, "")
    assert good.good_at > 0
    assert (mode(folder), mode(folder / "claude.json")) == (0o700, 0o600)
    Rounds(folder=folder).fail(["claude", "codex"], Unavailable("It is\naway."))
    failing, codex = rounds(folder)
    assert (failing.is_failing, failing.reason) == (True, "unavailable: It is away.")
    assert failing.good_at == good.good_at
    assert codex.good_at == 0.0
    own = Rounds(folder=folder, root=Path("/mnt/old/.claude"))
    own.note(Report(clients=[ClientReport(provider="claude", refused=3)]))
    assert [each.root for each in rounds(folder)] == ["/mnt/old/.claude", "", ""]
    (folder / "broken.json").write_text("{")
    (folder / "other.json").write_text('{"client": 7}')
    (folder / "deep.json").write_text("[" * 10_000)
    assert len(list(rounds(folder))) == 3


def test_a_pass_that_ends_as_the_one_before_is_written_once_a_minute(tmp_path: Path) -> None:
    noted = Rounds(folder=tmp_path / "rounds")
    good = Report(clients=[ClientReport(provider="claude")])
    noted.note(good)
    path = tmp_path / "rounds" / "claude.json"
    path.unlink()
    noted.note(good)
    assert not path.exists()
    noted.fail(["claude"], Unavailable())
    assert path.exists()


def test_a_full_disk_takes_the_reason_of_a_pass_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "rounds"
    good = Report(clients=[ClientReport(provider="claude")])
    Rounds(folder=folder).note(good)
    whole = os.open

    def full(path: Path, flags: int, *mode: int) -> int:
        if flags & os.O_CREAT:
            raise OSError(errno.ENOSPC, "No space left on device")
        return whole(path, flags, *mode)

    monkeypatch.setattr(os, "open", full)
    for reason in ("It is full. " * 20, "It is full."):
        Rounds(folder=folder).fail(["claude"], Unavailable(reason, code="disk_full"))
        (found,) = rounds(folder)
        assert found.reason == f"disk_full: {reason}".strip()
    assert found.good_at > 0
    Rounds(folder=folder).note(good)
    (found,) = rounds(folder)
    assert not found.is_failing
    Rounds(folder=folder).fail(["codex"], Unavailable())  # which has no place yet
    assert "cannot be written" in caplog.text


def test_a_home_that_cannot_be_written_hinders_no_import(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    noted = Rounds(folder=tmp_path / "file" / "rounds")
    signals = Signals(folder=tmp_path / "file" / "spool")
    for _ in range(2):
        noted.note(Report(clients=[ClientReport(provider="claude")]))
        noted.fail(["claude"], Unavailable())
        signals.look(["claude"])
    assert len(caplog.records) == 2, "told once each"


def status(environment: dict[str, str], *arguments: str) -> tuple[int, str, str]:
    done = program(environment, "memory.cli", *arguments)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_status_and_doctor_tell_how_capturing_goes(
    environment: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    environment = {**environment, "MEMORY_HOME": str(folder.parent), "HOME": str(tmp_path)}
    code, out, _ = status(environment, "status")
    assert code == 0
    assert "capture     no client has called one yet\n" in out
    assert "            no signal waits\n" in out
    spool.touch(str(folder), "codex", spool.LAST)
    spool.touch(str(folder), "codex", spool.UNMATCHED)
    spool.write(str(folder), signal_of())
    spool.write(str(folder), signal_of(session="s2"))
    os.utime(folder / "claude.s2.json", (1, 1))
    (folder / "damaged").mkdir()
    (folder / "damaged" / "x").touch()
    Rounds(folder=folder.parent / "rounds").fail(["claude"], Unavailable("It is away."))
    facts = json.loads(status(environment, "status", "--json")[1])["capture"]
    assert facts["hooks"]["codex"] is not None
    assert facts["hooks"]["claude"] is None
    assert (facts["signals_waiting"], facts["signals_damaged"]) == (2, 1)
    assert facts["oldest_signal_at"] == "1970-01-01T00:00:01Z"
    (found,) = facts["passes"]
    assert (found["client"], found["is_failing"]) == ("claude", True)
    assert found["reason"] == "unavailable: It is away."
    out = status(environment, "status")[1]
    assert "last called by codex " in out
    assert "codex named a conversation that is in none of its known stores" in out
    assert list(facts["unmatched"]) == ["codex"]
    assert "2 signals wait, the oldest from " in out
    assert "; 1 damaged, set aside" in out
    assert "claude: FAILED " in out
    told = json.loads(status(environment, "doctor", "--json")[1])["checks"]
    checks = {each["name"]: each for each in told}
    assert checks["hooks"]["ok"]
    assert not checks["spool"]["ok"]
    assert not checks["passes"]["ok"]
    assert "It is away." in checks["passes"]["detail"]


def test_status_tells_it_while_the_database_is_away(
    environment: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    away = {
        **environment,
        "MEMORY_HOME": str(folder.parent),
        "HOME": str(tmp_path),
        "DATABASE_URL": "postgresql://nobody:nothing@127.0.0.1:1/none",
    }
    spool.write(str(folder), signal_of())
    code, out, errors = status(away, "status")
    assert code == 1
    assert "1 signal waits, from " in out
    assert errors.startswith("memory: ")
    assert errors.endswith(" (unavailable)\n")
    assert len(errors.splitlines()) == 1
    code, out, errors = status(away, "status", "--json")
    answer = json.loads(out)
    assert (code, answer["is_error"], answer["code"], errors) == (1, True, "unavailable", "")
    assert answer["capture"]["signals_waiting"] == 1
