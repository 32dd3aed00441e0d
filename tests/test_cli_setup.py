"""`memory setup`: from an empty database to a filled ledger and the clients' commands."""

import json
import shlex
from pathlib import Path
from typing import Any

from test_cli import run

from memory.cli.connect import connections

ROW = {
    "uuid": "7d1c2a54-6f0f-4d0e-9a37-0a1f6b3c5e01",
    "parentUuid": None,
    "sessionId": "0b0f7f4e-55c1-4b0e-8f4c-2f6d1f1f7a10",
    "type": "user",
    "timestamp": "2026-03-01T09:00:00.000Z",
    "cwd": "/srv/lighthouse",
    "version": "2.1.197",
    "message": {"role": "user", "content": "Why does the lamp stall?"},
}


# How each client names a variable that it hands on; Codex has no option for it.
REFERENCES = {
    "Claude Code": ["DATABASE_URL=${DATABASE_URL}"],
    "Codex": [],
    "OpenCode": ["DATABASE_URL={env:DATABASE_URL}"],
}


def answer(environment: dict[str, str], *arguments: str) -> dict[str, Any]:
    done = run(environment, *arguments, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert next(iter(found.items())) == ("is_error", False)
    return found


def test_setup_builds_the_schema_once(empty_environment: dict[str, str]) -> None:
    first = answer(empty_environment, "setup", "--no-import")
    second = answer(empty_environment, "setup", "--no-import")
    assert (first["schema"], second["schema"]) == ("empty", "current")
    assert (first["imported"], first["totals"]) == (None, [])
    assert [each["client"] for each in first["connections"]] == ["Claude Code", "Codex", "OpenCode"]


def test_setup_imports_what_is_there_and_says_how_to_go_on(
    empty_environment: dict[str, str], tmp_path: Path
) -> None:
    store = tmp_path / ".claude" / "projects" / "-srv-lighthouse"
    store.mkdir(parents=True)
    (store / f"{ROW['sessionId']}.jsonl").write_text(json.dumps(ROW) + "\n", "utf-8")
    environment = {**empty_environment, "HOME": str(tmp_path)}
    done = run(environment, "setup")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("PostgreSQL accepts connections: postgresql://memory:***@")
    assert lines[1] == "Schema     built"
    assert any(line.split()[:2] == ["claude", "1"] for line in lines)
    assert any(line.startswith("  claude mcp add -s user shared-memory ") for line in lines)
    again = answer(environment, "setup")
    assert again["imported"] is True
    assert [each["sessions"] for each in again["totals"] if each["source_client"] == "claude"] == [
        1
    ]


def test_the_clients_are_told_the_same_ledger_and_never_its_password() -> None:
    environment = {
        "HOME": "/home/ada",
        "DATABASE_URL": "postgresql://memory:planted@db.example/ledger",
        "MEMORY_HOME": "/srv/my memory",
        "MEMORY_LEDGER": "team",
    }
    for each in connections(environment, python="/opt/py thon"):
        assert "planted" not in each.command
        words = shlex.split(each.command)
        told = [word for word in words if word.startswith("DATABASE_URL=")]
        assert told == REFERENCES[each.client]
        assert "MEMORY_HOME=/srv/my memory" in words
        assert "MEMORY_LEDGER=team" in words
        assert words[words.index("--") + 1 :] == ["/opt/py thon", "-P", "-m", "memory.mcp_server"]
        assert ("env_vars" in each.about) is (each.client == "Codex")


def test_the_embedded_ledger_is_pinned_against_a_shell_with_another_database() -> None:
    for each in connections({"HOME": "/home/ada"}, python="python"):
        words = shlex.split(each.command)
        assert [word for word in words if "=" in word] == ["DATABASE_URL="]


def test_connect_prints_what_setup_prints(environment: dict[str, str]) -> None:
    printed = run(environment, "connect", "--print").stdout.partition("Any other client")[0]
    assert printed
    assert printed in run(environment, "setup", "--no-import").stdout
