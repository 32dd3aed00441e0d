"""``coverage``, ``verify`` and ``rescan`` as people and programs call them."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from imports import line
from readings import DATA

from importers.claude.retention import due, retention, settings_files
from importers.keeping import keeping
from importers.tables import show_coverage

DAY = 86_400


def program(
    environment: dict[str, str], *arguments: str, module: str = "importers"
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env=environment,
        cwd=environment["HOME"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def home(environment: dict[str, str], tmp_path: Path) -> Path:
    """Give the child processes a home with stores of two clients, imported."""
    environment["HOME"] = str(tmp_path)
    shutil.copytree(DATA / "claude" / "1.0.40" / "store", tmp_path / ".claude")
    shutil.copytree(DATA / "codex" / "0.47.0" / "store", tmp_path / ".codex")
    assert program(environment).returncode == 0
    return tmp_path


def test_coverage_is_shown_in_a_table_and_ends_with_0_or_1(
    environment: dict[str, str], home: Path
) -> None:
    whole = program(environment, "coverage", module="memory.cli")
    assert (whole.returncode, whole.stderr) == (0, "")
    lines = whole.stdout.splitlines()
    assert lines[0] == (
        "claude: the ledger has 100 % of 3 files: 30 records, 33 entries"
        " (18 of them different), 0 missing or changed"
    )
    assert lines[1].split()[:3] == ["records", "entries", "skipped"]
    assert "  Claude Code deletes transcripts after 30 idle days (its default)" in lines
    assert any(each.startswith("  Codex deletes no rollout by age") for each in lines)
    assert "opencode: no store on this machine" in lines
    path = home / ".claude" / "projects" / "-home-dev-proj" / "new.jsonl"
    message = {"role": "user", "content": "hello"}
    path.write_bytes(line(type="user", uuid="u1", sessionId="new", message=message))
    lacking = program(environment, "coverage", "--client", "claude")
    assert lacking.returncode == 1
    assert f"  missing: u1 at 0 of {path}" in lacking.stdout.splitlines()
    answer = json.loads(program(environment, "coverage", "--json").stdout)
    assert (answer["is_error"], answer["code"], answer["is_whole"]) == (True, "incomplete", False)
    (claude,) = [each for each in answer["clients"] if each["client"] == "claude"]
    assert claude["missing"] == 2
    first = {"path": str(path), "id": "u1", "offset": 0, "why": "missing"}
    assert claude["lacking"][0] == first


def test_verify_answers_with_its_exit_status(environment: dict[str, str], home: Path) -> None:
    found = program(environment, "search", "Hello", "--json", module="memory.cli")
    ident = json.loads(found.stdout)["hits"][0]["entry"]["id"]
    same = program(environment, "verify", ident, module="memory.cli")
    assert (same.returncode, same.stderr) == (0, "")
    assert same.stdout.startswith("same: ")
    assert json.loads(program(environment, "verify", ident, "--json").stdout)["verdict"] == "same"
    shutil.rmtree(home / ".claude")
    shutil.rmtree(home / ".codex")
    gone = program(environment, "verify", ident)
    assert (gone.returncode, gone.stdout.partition(":")[0]) == (4, "vanished")
    wrong = program(environment, "verify", "no-id")
    assert wrong.returncode == 1
    assert wrong.stderr.startswith("memory-import: An id has")
    assert program(environment, "verify").returncode == 2


@pytest.mark.usefixtures("home")
def test_rescan_finds_nothing_in_what_was_imported(environment: dict[str, str]) -> None:
    done = program(environment, "rescan", module="memory.cli")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("0 hold a credential.\n")
    part = json.loads(program(environment, "rescan", "--limit", "3", "--json").stdout)
    assert part["scanned"] == 3
    assert part["cursor"].startswith("entry/")


def test_the_retention_of_every_scope_counts_in_the_clients_order(tmp_path: Path) -> None:
    root, here = tmp_path / "root", tmp_path / "here"
    (here / ".claude").mkdir(parents=True)
    root.mkdir()
    assert (retention(root, here=here).days, retention(root, here=here).file) == (30, None)
    places = [
        (root / "settings.json", 90),
        (here / ".claude" / "settings.json", 20),
        (here / ".claude" / "settings.local.json", 10),
    ]
    for path, days in places:
        path.write_text(json.dumps({"cleanupPeriodDays": days}))
        found = retention(root, here=here)
        assert (found.days, found.file) == (days, path)
    assert retention(root).days == 90, "outside of the project"
    assert settings_files(root, here=here)[0].name == "managed-settings.json"


def test_transcripts_that_will_be_deleted_soon_are_named_with_their_days(tmp_path: Path) -> None:
    now = time.time()
    files = []
    for name, age in (("old", 40), ("soon", 28), ("new", 1)):
        path = tmp_path / f"{name}.jsonl"
        path.touch()
        os.utime(path, (now - age * DAY, now - age * DAY))
        files.append(path)
    files.append(tmp_path / "gone.jsonl")
    found = due(files, days=30, within=7, now=now)
    assert [(Path(each.path).stem, round(each.days_left)) for each in found] == [
        ("old", 0),
        ("soon", 2),
    ]
    (told,) = keeping("claude", [tmp_path], files, environment={}, here=tmp_path, now=now)
    assert (told.days, len(told.due), told.is_writing) == (30, 2, True)
    switched = {"CLAUDE_CODE_SKIP_PROMPT_HISTORY": "1"}
    (off,) = keeping("claude", [tmp_path], files, environment=switched, here=tmp_path, now=now)
    assert (off.is_writing, off.due) == (False, ())


def test_the_doctor_says_what_is_due(environment: dict[str, str], home: Path) -> None:
    now = time.time()
    paths = sorted((home / ".claude").rglob("*.jsonl"))
    for path, age in zip(paths, (28.2, 1, 1), strict=True):
        os.utime(path, (now - age * DAY, now - age * DAY))
    done = program(environment, "doctor", "--json", module="memory.cli")
    checks = {each["name"]: each for each in json.loads(done.stdout)["checks"]}
    assert checks["claude keeps"]["detail"] == (
        "Claude Code deletes transcripts after 30 idle days (its default); the ledger does not;"
        " 1 are due within 7 days, the next in 2"
    )


def test_what_is_due_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from importers.findings import ClientProof  # noqa: PLC0415 - used by this test alone

    path = tmp_path / "old.jsonl"
    path.touch()
    os.utime(path, (0, 0))
    told = keeping("claude", [tmp_path], [path], environment={}, here=tmp_path, now=time.time())
    show_coverage([ClientProof(provider="claude", stores=[str(tmp_path)])], told)
    lines = capsys.readouterr().out.splitlines()
    assert "  1 transcripts are due within 7 days:" in lines
    assert f"    when it starts next: {path}" in lines
