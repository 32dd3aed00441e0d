"""`memory doctor` looks for itself; each test breaks one thing and reads what the doctor says."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from conftest import Cluster
from sqlalchemy import make_url
from test_cli import run

from memory.cli import client_checks, skew
from memory.connect import Places
from memory.database import Database
from memory.program import typed
from memory.settings import Settings


def checks(environment: dict[str, str]) -> dict[str, dict[str, Any]]:
    done = run(environment, "doctor", "--json")
    answer = json.loads(done.stdout)
    assert answer["is_error"] is False, answer
    assert done.returncode == (0 if answer["ok"] else 1)
    assert answer["ok"] is all(each["ok"] for each in answer["checks"])
    return {each["name"]: each for each in answer["checks"]}


async def as_owner(settings: Settings, *statements: str) -> None:
    url = make_url(settings.owner_url).set(drivername="postgresql")
    connection = await asyncpg.connect(url.render_as_string(hide_password=False))
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


def test_a_sound_ledger_passes_every_check(environment: dict[str, str]) -> None:
    found = checks(environment)
    ours = ["python", "disk", "database", "schema", "pgvector", "append-only", "rights", "index"]
    assert [name for name in found if name in ours] == ours
    assert all(found[name]["ok"] for name in ours)
    assert found["rights"]["detail"] == "UPDATE, DELETE: this role has no right to"
    text = run(environment, "doctor").stdout
    assert "✓ rights " in text


async def test_trying_to_change_an_entry_leaves_none_behind(
    environment: dict[str, str], settings: Settings, database: Database
) -> None:
    checks(environment)
    await database.ping()
    url = make_url(settings.owner_url).set(drivername="postgresql")
    connection = await asyncpg.connect(url.render_as_string(hide_password=False))
    assert await connection.fetchval("SELECT count(*) FROM entries") == 0
    await connection.close()


async def test_a_trigger_that_was_switched_off_is_found(
    environment: dict[str, str], settings: Settings
) -> None:
    await as_owner(settings, "ALTER TABLE entries DISABLE TRIGGER append_only_rows")
    found = checks(environment)["append-only"]
    assert not found["ok"]
    assert found["detail"] == "no trigger that fires always on entries"
    assert "ENABLE ALWAYS" in found["remedy"]


async def test_a_role_that_may_change_entries_is_found_by_trying(
    environment: dict[str, str], settings: Settings
) -> None:
    owner = {**environment, "DATABASE_URL": settings.owner_url}
    assert checks(owner)["rights"]["detail"] == "UPDATE, DELETE: refused by the trigger alone"
    await as_owner(settings, "ALTER TABLE entries DISABLE TRIGGER ALL")
    found = checks(owner)["rights"]
    assert not found["ok"]
    assert found["detail"] == "UPDATE and DELETE went through"


def test_a_database_without_schema_is_found_and_not_built(
    empty_environment: dict[str, str],
) -> None:
    for _ in range(2):
        found = checks(empty_environment)
        assert found["schema"]["detail"] == "public: empty"
        assert found["schema"]["remedy"] == typed("memory setup --no-import")
        assert "rights" not in found


def test_a_server_that_is_down_is_found_and_not_started(tmp_path: Path) -> None:
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "MEMORY_HOME": str(tmp_path / "home"),
    }
    found = checks(environment)
    assert found["python"]["ok"]
    assert not found["database"]["ok"]
    assert found["database"]["remedy"] == typed("memory pg start")
    assert not (tmp_path / "home" / "pg").exists()
    text = run(environment, "doctor").stdout
    assert "✗ database " in text
    assert f"  → {typed('memory pg start')}\n" in text


@pytest.fixture
def connected(environment: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """Return an environment whose home has the three clients, connected to this ledger."""
    for name in (".claude", ".codex", ".config/opencode"):
        (tmp_path / name).mkdir(parents=True)
    mine = {**environment, "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = run(mine, "connect", "all", "--yes")
    assert done.returncode == 0, done.stderr
    return mine


def test_each_entry_is_tried_as_its_client_would_start_it(connected: dict[str, str]) -> None:
    # The address holds a password, so the files only name it, and this shell has it.
    found = checks(connected)
    assert "OpenCode: only " in found["clients"]["detail"]
    for client in ("claude", "codex", "opencode"):
        assert found[f"{client} entry"]["ok"], found
        assert "tools, and status answers" in found[f"{client} entry"]["detail"]
        assert found[f"{client} hook"]["ok"]
    assert "needs no trust" in found["codex hook"]["detail"]
    assert "SessionEnd" in found["claude hook"]["detail"]


def test_an_entry_that_does_not_start_is_found_with_the_command_that_mends_it(
    connected: dict[str, str],
) -> None:
    home = Path(connected["HOME"])
    path = home / ".codex" / "config.toml"
    path.write_text(path.read_text("utf-8").replace(sys.executable, "/moved/python"), "utf-8")
    file = home / ".claude.json"
    file.write_text(file.read_text("utf-8").replace("memory.mcp_server", "memory.moved"), "utf-8")
    found = checks(connected)
    assert "cannot be started" in found["codex entry"]["detail"]
    assert found["codex entry"]["remedy"].endswith("connect codex")
    assert "/moved/python" in found["codex hook"]["detail"]
    assert "No module named" in found["claude entry"]["detail"]
    assert found["opencode entry"]["ok"]


def test_an_entry_whose_address_is_not_set_where_the_client_starts_is_found(
    connected: dict[str, str],
) -> None:
    found = checks({name: each for name, each in connected.items() if name != "DATABASE_URL"})
    for client in ("claude", "codex", "opencode"):
        entry = found[f"{client} entry"]
        assert not entry["ok"]
        assert "DATABASE_URL is not set here" in entry["detail"]
        assert entry["remedy"].startswith("Set DATABASE_URL where you start")


def test_a_client_that_is_not_connected_is_told_and_no_failure(
    environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / ".codex").mkdir()
    found = checks({**environment, "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})
    assert found["codex entry"]["ok"]
    assert "connect codex`" in found["codex entry"]["detail"]
    assert "claude entry" not in found


def test_an_entry_whose_embedded_server_sleeps_is_not_asked_and_nothing_is_started(
    tmp_path: Path,
) -> None:
    for name in (".codex", ".claude"):
        (tmp_path / name).mkdir()
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "MEMORY_HOME": str(tmp_path / "ledger"),
    }
    assert run(environment, "connect", "codex", "--yes").returncode == 0
    (tmp_path / ".claude.json").write_text("{", "utf-8")
    found = checks(environment)
    assert found["codex entry"]["ok"], found
    assert "would start the embedded server" in found["codex entry"]["detail"]
    assert not (tmp_path / "ledger" / "postgres").exists()
    broken = found["claude entry"]
    assert (broken["ok"], broken["detail"]) == (False, "config_unreadable")


def test_an_untrusted_hook_of_codex_is_found(tmp_path: Path) -> None:
    places = Places(home=tmp_path, environment={})
    folder = tmp_path / ".codex"
    folder.mkdir()
    assert list(client_checks.codex_trust(places)) == []
    hook = {"type": "command", "command": f"{sys.executable} -P -m importers --hook codex"}
    text = json.dumps({"hooks": {"Stop": [{"hooks": [hook]}]}})
    (folder / "hooks.json").write_text(text, "utf-8")
    (found,) = client_checks.codex_trust(places)
    assert not found.ok
    assert "/hooks" in found.remedy
    (folder / "config.toml").write_text(
        f'[hooks.state."{folder}/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:1"\n', "utf-8"
    )
    (found,) = client_checks.codex_trust(places)
    assert found.ok


def test_an_importer_from_before_an_update_is_found(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = [sys.executable, "-c", "input()", "importers", "--watch"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        (now,) = skew.skew_checks(cluster.settings)
        monkeypatch.setattr(skew, "_changed_at", lambda: float("inf"))
        (later,) = skew.skew_checks(cluster.settings)
        process.stdin.close()
    assert str(process.pid) not in now.detail
    assert not later.ok
    assert str(process.pid) in later.detail
    assert "watch" in later.remedy
