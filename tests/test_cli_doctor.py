"""`memory doctor` looks for itself; each test breaks one thing and reads what the doctor says."""

import json
from pathlib import Path
from typing import Any

import asyncpg
from sqlalchemy import make_url
from test_cli import run

from memory.database import Database
from memory.program import typed
from memory.settings import Settings


def checks(environment: dict[str, str]) -> dict[str, dict[str, Any]]:
    done = run(environment, "doctor", "--json")
    answer = json.loads(done.stdout)
    assert answer["is_error"] is False
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
    assert not (tmp_path / "home").exists()
    text = run(environment, "doctor").stdout
    assert "✗ database " in text
    assert f"  → {typed('memory pg start')}\n" in text
