"""The importers as programs: options, answers, exit status, signals, and the doctor's lines."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from imports import line, run
from readings import DATA

from importers import coverage
from importers.base import Source, Store, Unreadable
from importers.claude import ClaudeImporter
from importers.claude.retention import retention_days, writes_nothing
from importers.coverage import Coverage, compare, covered, watching
from importers.options import Options, parse
from importers.progress import LINE_SECONDS, bar
from importers.report import MAX_DETAILS, ClientReport, Failed, Happened, Report
from importers.rounds import FOLDER, rounds_in
from importers.run import GONE, Progress
from importers.standby import lock_name
from importers.tell import told
from importers.watch import BEGIN
from memory import crud
from memory.crud.lock import try_lock
from memory.database import Database
from memory.program import typed
from memory.settings import Settings

STORE = DATA / "claude" / "1.0.40" / "store"
SECONDS = 60  # until a test gives up


def program(
    environment: dict[str, str], *arguments: str, module: str = "importers"
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def files(root: Path) -> list[Path]:
    return sorted(root.rglob("*.jsonl"))


@pytest.fixture
def home(environment: dict[str, str], tmp_path: Path) -> Path:
    """Give the child processes a home with one client's store in it."""
    environment["HOME"] = str(tmp_path)
    shutil.copytree(STORE, tmp_path / ".claude")
    for path in files(tmp_path):
        os.utime(path, (0, 0))  # long at rest
    return tmp_path


@pytest.mark.parametrize(
    "code",
    [
        "import importers.options, importers.__main__",
        "import importers.cli",  # what `memory --help` loads
    ],
)
def test_what_only_reads_arguments_loads_no_database_library(code: str) -> None:
    code += "; import sys; print([m for m in ('sqlalchemy', 'asyncpg') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_options_are_read() -> None:
    assert parse([]) == Options()
    given = parse(["--watch", "--client", "codex", "--client", "claude", "--json", "--poll", "2"])
    assert given == Options(clients=("codex", "claude"), watch=True, as_json=True, poll=2.0)
    assert parse(["--once"], client="codex").clients == ("codex",)


@pytest.mark.parametrize(
    "arguments",
    [["--once", "--watch"], ["--machine", "x"], ["--poll", "0"], ["--poll", "soon"], ["extra"]],
)
def test_options_that_make_no_sense_are_refused(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        parse(arguments)
    assert refused.value.code == 2


def test_a_clients_own_module_imports_its_store(environment: dict[str, str], home: Path) -> None:
    done = program(environment, "--once", "--json", module="importers.claude")
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    (client,) = answer["clients"]
    assert answer["is_error"] is False
    assert client["stores"] == [str(home / ".claude")]
    assert (client["client"], client["records"], client["appended"]) == ("claude", 30, 20)
    assert client["adds_up"] is True
    assert answer["indexed"] >= 20
    again = json.loads(program(environment, "--json").stdout)
    assert [each["client"] for each in again["clients"]] == ["claude", "codex", "opencode", "pi"]
    assert again["clients"][0]["records"] == 0


@pytest.mark.usefixtures("home")
def test_people_get_lines(environment: dict[str, str]) -> None:
    done = program(environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "claude: 3 files, 30 new records; 20 entries appended, 15 already known, 3 new sessions",
        "codex: no store on this machine",
        "opencode: no store on this machine",
        "pi: no store on this machine",
    ]


@pytest.mark.usefixtures("home")
def test_the_command_of_the_program_memory_does_the_same(environment: dict[str, str]) -> None:
    done = program(environment, "import", "--client", "claude-code", module="memory.cli")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("claude: 3 files, 30 new records; 20 entries appended")
    wrong = program(environment, "import", "--client", "cursor", module="memory.cli")
    assert wrong.returncode == 1
    assert "claude, codex, opencode" in wrong.stderr
    both = program(environment, "import", "--once", "--watch", module="memory.cli")
    assert both.returncode == 1


def test_a_source_that_cannot_be_read_is_told_and_ends_with_1(
    environment: dict[str, str], home: Path
) -> None:
    loop = home / ".claude" / "projects" / "loop" / "a.jsonl"
    loop.parent.mkdir()
    loop.symlink_to(loop)
    done = program(environment, "--client", "claude", "--json")
    answer = json.loads(done.stdout)
    (client,) = answer["clients"]
    assert client["appended"] == 20
    ((path, reason),) = [(each["path"], each["reason"]) for each in client["failed"]]
    assert path == str(loop)
    assert "symbolic links" in reason
    assert (done.returncode, answer["is_error"], answer["code"]) == (1, True, "import_failed")
    lines = program(environment, "--client", "claude")
    assert lines.returncode == 1
    assert f"  FAILED: {path}: {reason}" in lines.stdout.splitlines()


def test_a_missing_database_is_one_line_and_ends_with_1(environment: dict[str, str]) -> None:
    environment["DATABASE_URL"] = "postgresql://nobody:nothing@127.0.0.1:1/none"
    done = program(environment)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("memory-import: ")
    assert len(done.stderr.splitlines()) == 1
    answer = json.loads(program(environment, "--json").stdout)
    assert answer["is_error"] is True
    assert answer["code"] == "unavailable"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_the_watch_cleanly(
    environment: dict[str, str], home: Path, database: Database, number: signal.Signals
) -> None:
    command = [sys.executable, "-m", "importers", "--watch", "--json", "--poll", "0.2"]
    process = await asyncio.create_subprocess_exec(
        *command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    async with asyncio.timeout(SECONDS):
        first = json.loads(await process.stdout.readline())
        assert first["clients"][0]["appended"] == 20
        with (home / ".claude" / "projects" / "-home-dev-proj" / "new.jsonl").open("wb") as file:
            message = {"role": "user", "content": "hello"}
            file.write(line(type="user", uuid="u", sessionId="new", cwd="/x", message=message))
        second = json.loads(await process.stdout.readline())
        assert second["clients"][0]["appended"] == 1
        name = lock_name(database.settings, "claude")
        assert not await database.transact(lambda s: try_lock(s, name))
        process.send_signal(number)
        out, errors = await process.communicate()
    assert (process.returncode, out) == (0, b"")
    begin, *rest = errors.decode().splitlines()
    assert begin == BEGIN
    assert all(each.endswith("records so far") for each in rest)


async def test_the_doctor_compares_the_disk_with_the_ledger(
    environment: dict[str, str], home: Path
) -> None:
    def lines() -> dict[str, dict[str, object]]:
        done = program(environment, "doctor", "--json", module="memory.cli")
        return {each["name"]: each for each in json.loads(done.stdout)["checks"]}

    before = await asyncio.to_thread(lines)
    assert before["claude"]["detail"] == "of 3 files 3 never read"
    assert before["claude"]["remedy"] == typed("memory import --client claude")
    assert before["codex"]["detail"] == "no store on this machine"
    assert before["claude keeps"]["ok"] is True
    assert before["watch"]["detail"] == "no importer is watching"
    await asyncio.to_thread(program, environment)
    after = await asyncio.to_thread(lines)
    assert after["claude"]["detail"] == "the ledger has all of 3 files"
    (home / ".claude" / "settings.json").write_text('{"cleanupPeriodDays": 0}')
    warned = await asyncio.to_thread(lines)
    assert warned["claude keeps"]["ok"] is False


def test_an_importer_that_hangs_is_told_by_when_its_last_pass_ended(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, machine="m")
    assert watching(settings, []).detail == "no importer is watching"
    assert watching(settings, ["claude"]).detail.endswith("its first pass goes on")
    rounds_in(settings, None).note(
        Report(clients=[ClientReport(provider=name) for name in ("claude", "codex")])
    )
    fresh = watching(settings, ["claude", "codex"])
    assert fresh.ok
    assert fresh.detail.startswith("an importer watches claude, codex; its last pass ended")
    path = tmp_path / FOLDER / "codex.json"
    written = json.loads(path.read_text("utf-8"))
    old = {**written, "good_at": written["good_at"] - coverage.HANGING_SECONDS}
    path.write_text(json.dumps(old), "utf-8")
    assert watching(settings, ["claude"]).ok
    hanging = watching(settings, ["claude", "codex"])
    assert not hanging.ok
    assert "memory watch" in hanging.remedy


async def test_coverage_tells_what_is_new_gone_and_being_written(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coverage, "WRITING_SECONDS", 0.0)
    root = Path(shutil.copytree(STORE, tmp_path / "store"))
    importer = ClaudeImporter()
    await run(database, root, importer)

    store = Store(provider="claude", root=root)

    async def look() -> Coverage:
        machine = database.settings.machine
        states = await database.transact(lambda s: crud.get_checkpoints(s, "claude", machine))
        return compare(ClaudeImporter(), [store], states)

    assert (await look()).is_whole
    one, two, three = sorted((root / "projects" / "-home-dev-proj").glob("*"))
    with one.open("ab") as file:
        file.write(line(type="mode"))
    two.unlink()
    shutil.copy(three, three.with_name("new.jsonl"))
    found = await look()
    assert (found.sources, found.behind, found.never) == (3, 1, 1)
    assert not found.is_whole
    monkeypatch.setattr(coverage, "WRITING_SECONDS", 3600.0)
    assert (await look()).is_whole, "what is being written may be ahead"


def test_the_clients_retention_is_read_as_it_reads_it(tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"
    assert retention_days(tmp_path) == 30
    for text, days in (("{", 30), ("[]", 30), ('{"cleanupPeriodDays": "9"}', 30)):
        settings.write_text(text)
        assert retention_days(tmp_path) == days
    settings.write_text('{"cleanupPeriodDays": 99999}')
    assert (retention_days(tmp_path), writes_nothing(tmp_path, {})) == (99999, "")
    assert writes_nothing(tmp_path, {"CLAUDE_CODE_SKIP_PROMPT_HISTORY": "1"})


def test_a_report_is_told_in_full_and_in_bounds() -> None:
    client = ClientReport(
        provider="claude",
        stores=["/s"],
        files=2,
        records=1042,
        imported=1000,
        drafts=1001,
        appended=1000,
        changed=3,
        refused=1,
        unreadable=12,
        skipped=Counter({"mode": 30}),
        redacted=Counter({"github-token": 2}),
        unreadable_records=[Unreadable(path="/s/a", offset=7, reason="no JSON")] * 12,
        refused_records=[Unreadable(path="/s/a", offset=9, reason="too_large: long")],
        events=[Happened(path="/s/b", event="rewritten")],
        failed=[Failed(path="/s/c", reason="PermissionError: no")],
    )
    lines = list(told(Report(clients=[client], stopped=True)))
    assert lines[0] == (
        "claude: 2 files, 1,042 new records; 1,000 entries appended, 0 already known,"
        " 0 new sessions"
    )
    assert "  skipped 30: mode 30" in lines
    assert "  redacted 2: github-token 2" in lines
    assert lines.count("    /s/a at byte 7: no JSON") == 10
    assert "    and 2 more (--json tells up to a hundred)" in lines
    assert "  rewritten: /s/b" in lines
    assert "  FAILED: /s/c: PermissionError: no" in lines
    assert lines[-1].startswith("Stopped early")
    assert not any("add up" in each for each in lines)
    client.records += 1
    assert any("do not add up" in each for each in told(Report(clients=[client])))


def test_events_and_failures_beyond_the_details_are_counted() -> None:
    client = ClientReport(provider="claude", stores=["/s"])
    for number in range(MAX_DETAILS):
        client.tell(f"/s/{number}", "touched", "rewritten")
        client.fail(f"/s/{number}", OSError("no"))
        client.fail(f"/s/{number}", OSError("no"))
    facts = client.facts()
    assert (len(facts["events"]), facts["more_events"]) == (MAX_DETAILS, MAX_DETAILS)
    assert (len(facts["failed"]), facts["more_failed"]) == (MAX_DETAILS, MAX_DETAILS)
    lines = list(told(Report(clients=[client])))
    assert lines.count("    and 190 more (--json tells up to a hundred)") == 2
    client.tell("/s/a", "touched", "rewritten")
    assert client.facts()["more_events"] == MAX_DETAILS + 2


STEP = Progress(provider="claude", files_done=1, files=2, records=1234)


def test_a_terminal_gets_a_progress_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with bar(quiet=True) as shown:
        assert shown is None
    with bar(quiet=False) as shown:
        assert shown is not None
        shown(STEP)
        shown(STEP)
    out, errors = capsys.readouterr()
    assert out == ""
    assert "claude" in errors
    assert "1,234 records" in errors


def test_a_pipe_gets_a_plain_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with bar(quiet=True) as shown:
        assert shown is None
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    with bar(quiet=False) as shown:
        assert shown is not None
        for second in range(int(LINE_SECONDS) * 2 + 1):
            now = 100.0 + second
            shown(STEP)
            shown(replace(STEP, records=1235))
    out, errors = capsys.readouterr()
    assert out == ""
    assert errors == "claude: 1 of 2 files, 1,234 records so far\n" * 2


def test_only_what_is_on_the_disk_no_longer_counts_as_gone(tmp_path: Path) -> None:
    moved, there = tmp_path / "moved", tmp_path / "there"
    moved.touch()
    there.touch()
    states = {
        "/s/a": {GONE: True},
        "/s/b": {"unreadable": 2},
        "/s/project-less": {"path": str(moved)},
        str(there): {},
        str(tmp_path / "back"): {GONE: True, "path": str(there)},
    }
    found = compare(ClaudeImporter(), [], states)
    assert (found.gone, found.elsewhere, found.bad_records, found.is_whole) == (2, 3, 2, True)
    assert replace(found, unreadable=1).is_whole is False


async def test_a_store_that_was_named_once_is_not_taken_for_removed(
    database: Database, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(STORE, tmp_path / "sandbox"))
    await run(database, root, ClaudeImporter())

    def said() -> str:
        return {each.name: each.detail for each in covered(database.settings)}["claude"]

    first, *others = files(root)
    assert await asyncio.to_thread(said) == (
        f"no store on this machine; {1 + len(others)} more that were read in another folder"
    )
    first.unlink()
    assert await asyncio.to_thread(said) == (
        "no store on this machine; 1 more that the client removed;"
        f" {len(others)} more that were read in another folder"
    )


def test_a_database_is_being_written_when_its_journal_is(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    path.touch()
    os.utime(path, (0, 0))
    source = Source(store=Store(provider="opencode", root=tmp_path), path=path, key=str(path))
    assert not coverage.is_being_written(source)
    journal = tmp_path / "opencode.db-wal"
    journal.touch()
    assert coverage.is_being_written(source)
    os.utime(journal, (0, 0))
    assert not coverage.is_being_written(source)
