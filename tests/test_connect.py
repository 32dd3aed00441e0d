"""`memory connect` and `disconnect`, run as installed: what they write is what the clients write."""

import io
import json
import os
import pty
import select
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from test_cli import PROGRAM, run

from memory.cli import app
from memory.connect import (
    CLIENTS,
    Change,
    Places,
    Receipts,
    Unwritable,
    carry_out,
    connecting,
    files,
)
from memory.connect import claude as claude_files
from memory.connect.jsonc import parse
from memory.connect.server import server_of
from memory.errors import InvalidInput
from memory.settings import Settings

CODEX = '# mine\nmodel = "x" # why\nnotify = ["say", "done"]\n\n[tui]\nanimations = false\n'
SETTINGS = """{
  "model": "opus",
  "hooks": {
    "Stop": [
      {"hooks": [{"type": "command", "command": "say done"}]}
    ]
  }
}
"""
OPENCODE = '{\n  // mine\n  "model": "a/b", // why\n}\n'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a home where the three clients have been used."""
    place = tmp_path / "home"
    for name, text in {
        ".claude.json": '{\n  "numStartups": 3,\n  "projects": {}\n}',
        ".claude/settings.json": SETTINGS,
        ".codex/config.toml": CODEX,
        ".config/opencode/opencode.jsonc": OPENCODE,
    }.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(text.encode())
    return place


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    """Return the environment of that home; no database is needed."""
    return {"PATH": "/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}


def contents(home: Path) -> dict[str, bytes]:
    """Return every file of a home but the receipts and backups."""
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in home.rglob("*")
        if path.is_file() and ".local/state" not in str(path)
    }


def answer(environment: dict[str, str], *arguments: str, status: int = 0) -> dict[str, Any]:
    """Run a command in this process, which is much quicker, and return what it says."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with mock.patch.dict(os.environ, environment, clear=True), redirect_stdout(out):
        assert app.run([*arguments, "--json"]) == status
    out.seek(0)
    found: dict[str, Any] = json.loads(out.read())
    assert found["is_error"] is bool(status)
    return found


def entries(home: Path, python: str) -> Iterator[tuple[Any, Any]]:
    """Yield each client's entry beside the one that its own `mcp add` wrote when it was run."""
    arguments = ["-P", "-m", "memory.mcp_server"]
    environment = {"DATABASE_URL": ""}
    claude = json.loads((home / ".claude.json").read_text("utf-8"))["mcpServers"]["shared-memory"]
    yield (
        claude,
        {"type": "stdio", "command": python, "args": arguments, "env": environment},
    )
    codex = tomllib.loads((home / ".codex/config.toml").read_text("utf-8"))
    yield (
        codex["mcp_servers"]["shared-memory"],
        {"command": python, "args": arguments, "env": environment},
    )
    opencode = parse((home / ".config/opencode/opencode.jsonc").read_text("utf-8"), comments=True)
    yield (
        opencode.value["mcp"]["shared-memory"],
        {"type": "local", "command": [python, *arguments], "environment": environment},
    )


def test_connecting_writes_what_the_clients_own_commands_write(
    environment: dict[str, str], home: Path
) -> None:
    done = answer(environment, "connect", "all", "--yes")
    assert done["applied"] is True
    assert [each["client"] for each in done["changes"]] == ["claude", "claude", "codex", "opencode"]
    python = str(PROGRAM.with_name("python"))
    for found, expected in entries(home, python):
        assert found == expected
    text = (home / ".config/opencode/opencode.jsonc").read_text("utf-8")
    assert text.startswith('{\n  // mine\n  "model": "a/b", // why\n  "mcp": {\n')
    codex = tomllib.loads((home / ".codex/config.toml").read_text("utf-8"))
    assert codex["notify"][-3:] == ["--then", "say", "done"]
    hooks = json.loads((home / ".claude/settings.json").read_text("utf-8"))["hooks"]
    assert hooks["Stop"][0]["hooks"][0]["command"] == "say done"
    assert set(hooks) == {"Stop", "SubagentStop", "PreCompact", "SessionEnd"}
    command = shlex.split(hooks["SessionEnd"][0]["hooks"][0]["command"])
    assert command[-4:] == ["--hook", "claude", "-e", "DATABASE_URL="]
    assert Path(command[-5]).is_file()


def test_connecting_twice_changes_nothing(environment: dict[str, str], home: Path) -> None:
    answer(environment, "connect", "all", "--yes")
    before = contents(home)
    again = answer(environment, "connect", "all")
    assert {each["change"] for each in again["changes"]} == {"none"}
    assert again["applied"] is False
    assert contents(home) == before


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_disconnecting_gives_every_file_back_to_the_byte(
    environment: dict[str, str], home: Path, newline: str, mark: bytes
) -> None:
    for name, data in contents(home).items():
        (home / name).write_bytes(mark + data.replace(b"\n", newline.encode()))
    before = contents(home)
    answer(environment, "connect", "all", "--yes")
    for name, data in contents(home).items():
        assert data.startswith(mark)
        assert data != before[name]
        if newline == "\r\n":
            assert data.count(b"\n") == data.count(b"\r\n")
    answer(environment, "disconnect", "--yes")
    assert contents(home) == before


def test_files_and_folders_that_connecting_made_go_away(
    environment: dict[str, str], tmp_path: Path
) -> None:
    bare = tmp_path / "bare"
    for name in (".claude", ".codex", ".config/opencode"):
        (bare / name).mkdir(parents=True)
    environment["HOME"] = str(bare)
    environment["CODEX_HOME"] = str(bare / ".codex")
    made = answer(environment, "connect", "--yes")
    assert [each["change"] for each in made["changes"]] == ["create"] * 4
    assert (bare / ".claude.json").stat().st_mode & 0o777 == 0o600
    answer(environment, "disconnect", "--yes")
    assert contents(bare) == {}


def test_what_a_client_changed_meanwhile_stays_when_disconnecting(
    environment: dict[str, str], home: Path
) -> None:
    answer(environment, "connect", "all", "--yes")
    path = home / ".claude.json"
    held = json.loads(path.read_text("utf-8"))
    held["numStartups"] = 4
    path.write_text(json.dumps(held), "utf-8")
    settings = home / ".codex" / "config.toml"
    settings.write_text(settings.read_text("utf-8") + '\n[projects."/srv"]\na = 1\n', "utf-8")
    answer(environment, "disconnect", "--yes")
    assert json.loads(path.read_text("utf-8")) == {"numStartups": 4, "projects": {}}
    assert settings.read_text("utf-8") == CODEX + '\n[projects."/srv"]\na = 1\n'


def test_an_entry_made_by_hand_is_taken_out_too(environment: dict[str, str], home: Path) -> None:
    path = home / ".claude.json"
    entry = '{"command": "/old/python", "args": ["-m", "memory.mcp_server"]}'
    path.write_text(f'{{"mcpServers": {{"shared-memory": {entry}}}}}', "utf-8")
    answer(environment, "connect", "claude", "--yes")
    answer(environment, "disconnect", "claude", "--yes")
    assert path.read_text("utf-8") == '{"mcpServers": {}}'


def test_a_dry_run_shows_the_change_and_makes_none(environment: dict[str, str], home: Path) -> None:
    before = contents(home)
    shown = run(environment, "connect", "--dry-run")
    assert shown.returncode == 0, shown.stderr
    assert '+notify = ["' in shown.stdout
    assert '-notify = ["say", "done"]' in shown.stdout
    assert answer(environment, "connect", "--dry-run")["dry_run"] is True
    assert contents(home) == before
    assert not (home / ".local").exists()


def test_where_nobody_can_be_asked_nothing_is_changed(
    environment: dict[str, str], home: Path
) -> None:
    before = contents(home)
    done = run(environment, "connect", "codex")
    assert done.returncode == 1
    assert "--yes" in done.stderr
    assert answer(environment, "connect", "codex", status=1)["code"] == "not_confirmed"
    assert contents(home) == before


@pytest.mark.parametrize(("reply", "is_changed"), [("y", True), ("n", False)])
def test_on_a_terminal_it_asks(
    environment: dict[str, str], home: Path, reply: str, is_changed: bool
) -> None:
    before = contents(home)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [PROGRAM, "connect"], env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    seen = b""
    while b"Connect Claude Code and Codex and OpenCode?" not in seen:
        assert select.select([ours], [], [], 30)[0], seen
        seen += os.read(ours, 4096)
    os.write(ours, f"{reply}\n".encode())
    while select.select([ours], [], [], 30)[0]:
        try:
            seen += os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
    assert process.wait(30) == (0 if is_changed else 1), seen
    os.close(ours)
    assert (contents(home) != before) is is_changed


@pytest.mark.parametrize(
    ("name", "text", "client"),
    [
        (".claude.json", b'{"a": 1', "claude"),
        (".claude.json", b"[]", "claude"),
        (".claude/settings.json", b'{"hooks": {"Stop": {}}}', "claude"),
        (".codex/config.toml", b"a = = 1", "codex"),
        (".codex/config.toml", b"a = '\xff'", "codex"),
        (".codex/config.toml", b'mcp_servers = {a = {command = "b"}}', "codex"),
        (".codex/config.toml", b"notify = 5", "codex"),
        (".codex/config.toml", b'notify = "say"', "codex"),
        (".codex/config.toml", b"mcp_servers = 5", "codex"),
        (".codex/config.toml", b"a = " + b"[" * 3000 + b"]" * 3000, "codex"),
        (".config/opencode/opencode.jsonc", b'{"mcp": []}', "opencode"),
        (".config/opencode/opencode.jsonc", b'{"a": /* 1}', "opencode"),
    ],
)
def test_a_file_that_cannot_be_read_is_left_alone_and_named_while_the_others_are_connected(
    environment: dict[str, str], home: Path, name: str, text: bytes, client: str
) -> None:
    (home / name).write_bytes(text)
    done = answer(environment, "connect", "all", "--yes", status=1)
    assert (home / name).read_bytes() == text
    assert [each["client"] for each in done["failed"]] == [client]
    assert done["code"] == "config_unreadable"
    assert str(home / name) in done["error"]
    assert {each["client"] for each in done["changes"]} == {"claude", "codex", "opencode"} - {
        client
    }
    assert done["applied"] is True


def test_a_symlink_stays_one_and_its_target_is_written(
    environment: dict[str, str], home: Path, tmp_path: Path
) -> None:
    path, target = home / ".codex" / "config.toml", tmp_path / "dotfiles" / "codex.toml"
    target.parent.mkdir()
    path.rename(target)
    path.symlink_to(target)
    answer(environment, "connect", "codex", "--yes")
    assert path.is_symlink()
    assert "shared-memory" in target.read_text("utf-8")
    answer(environment, "disconnect", "codex", "--yes")
    assert path.is_symlink()
    assert target.read_text("utf-8") == CODEX


def test_a_read_only_file_is_told_and_kept(environment: dict[str, str], home: Path) -> None:
    path = home / ".codex" / "config.toml"
    path.chmod(0o444)
    done = answer(environment, "connect", "codex", "--yes", status=1)
    assert done["code"] == "config_read_only"
    assert path.read_text("utf-8") == CODEX


def test_the_mode_of_a_file_stays(environment: dict[str, str], home: Path) -> None:
    path = home / ".codex" / "config.toml"
    path.chmod(0o640)
    answer(environment, "connect", "codex", "--yes")
    assert path.stat().st_mode & 0o777 == 0o640


def test_backups_are_dated_and_private(environment: dict[str, str], home: Path) -> None:
    done = answer(environment, "connect", "codex", "--yes")
    backup = Path(done["changes"][0]["backup"])
    assert backup.read_text("utf-8") == CODEX
    assert backup.name.startswith("20")
    assert backup.stat().st_mode & 0o777 == 0o600
    assert (home / ".local/state/shared-memory/connect").stat().st_mode & 0o777 == 0o700


def planned(home: Path) -> Change:
    places = Places(home=home, environment={})
    part = claude_files.parts(places, server_of({"HOME": str(home)}))[0]
    return connecting("claude", part)


def test_a_file_that_its_client_wrote_meanwhile_is_read_anew(home: Path) -> None:
    change = planned(home)
    (home / ".claude.json").write_text('{"numStartups": 9}', "utf-8")
    carry_out(change, Receipts(home / "receipts"))
    held = json.loads((home / ".claude.json").read_text("utf-8"))
    assert held["numStartups"] == 9
    assert "shared-memory" in held["mcpServers"]


def test_a_file_that_is_written_to_all_the_time_is_left_alone(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, count = home / ".claude.json", iter(range(100))
    reads = files.read

    def busy(asked: Path) -> files.Content:
        path.write_text(json.dumps({"numStartups": next(count)}), "utf-8")
        return reads(asked)

    change = planned(home)
    monkeypatch.setattr(files, "read", busy)
    with pytest.raises(Unwritable) as caught:
        carry_out(change, Receipts(home / "receipts"))
    assert caught.value.code == "config_busy"
    assert "shared-memory" not in path.read_text("utf-8")
    assert [each.name for each in home.iterdir() if each.name.startswith("..claude")] == []


def test_no_password_is_written_anywhere(environment: dict[str, str], home: Path) -> None:
    secret = "plan" + "ted"
    environment["DATABASE_URL"] = f"postgresql://memory:{secret}@db.example/ledger"
    done = answer(environment, "connect", "all", "--yes")
    assert any("DATABASE_URL" in note for note in done["notes"])
    held = contents(home)
    assert not [name for name, data in held.items() if secret.encode() in data]
    claude = json.loads(held[".claude.json"])["mcpServers"]["shared-memory"]
    required = {"MEMORY_REQUIRE_DATABASE_URL": "1"}
    assert claude["env"] == {"DATABASE_URL": "${DATABASE_URL}", **required}
    codex = tomllib.loads(held[".codex/config.toml"].decode())["mcp_servers"]["shared-memory"]
    assert codex["env_vars"] == ["DATABASE_URL"]
    assert codex["env"] == required
    opencode = parse(held[".config/opencode/opencode.jsonc"].decode(), comments=True).value
    given = opencode["mcp"]["shared-memory"]["environment"]
    assert given == {"DATABASE_URL": "{env:DATABASE_URL}", **required}


@pytest.mark.parametrize("name", CLIENTS)
def test_a_server_whose_client_was_started_without_the_address_says_so(
    environment: dict[str, str], home: Path, name: str
) -> None:
    secret = "plan" + "ted"
    address = f"postgresql://memory:{secret}@db.example/ledger"
    answer(environment | {"DATABASE_URL": address}, "connect", name, "--yes")
    entry = CLIENTS[name].configured(Places(home=home, environment=environment))
    assert entry is not None
    with_it = entry.started_by(name, environment | {"DATABASE_URL": address})
    assert Settings.from_environment(with_it).database_url == address
    with pytest.raises(InvalidInput) as caught:
        Settings.from_environment(entry.started_by(name, environment))
    assert caught.value.code == "database_url_missing"
    answer(environment, "connect", name, "--yes")
    again = CLIENTS[name].configured(Places(home=home, environment=environment))
    assert again is not None
    assert Settings.from_environment(again.started_by(name, environment)).database_url == ""


def test_a_project_gets_files_of_its_own(
    environment: dict[str, str], home: Path, tmp_path: Path
) -> None:
    before, place = contents(home), tmp_path / "project"
    place.mkdir()
    done = subprocess.run(
        [PROGRAM, "connect", "all", "--project", "--yes", "--json"],
        env=environment,
        cwd=place,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["is_error"] is False
    names = {".mcp.json", ".claude/settings.local.json", ".codex/config.toml", "opencode.json"}
    assert set(contents(place)) == names
    assert contents(home) == before
    assert "notify" not in (place / ".codex" / "config.toml").read_text("utf-8")
    subprocess.run(
        [PROGRAM, "disconnect", "--project", "--yes"],
        env=environment,
        cwd=place,
        capture_output=True,
        check=True,
    )
    assert list(place.iterdir()) == []


def test_a_client_that_is_not_there_is_told(tmp_path: Path) -> None:
    environment = {"PATH": "/nowhere", "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    for names in (["codex"], ["all"], []):
        done = answer(environment, "connect", *names, "--yes", status=1)
        assert done["code"] == "client_missing"
        assert ".codex" in done["error"]
    assert answer(environment, "disconnect", "--yes")["applied"] is False
    assert list(tmp_path.iterdir()) == []


def test_a_brief_is_off_until_it_is_asked_for_and_stays_until_it_is_refused(
    environment: dict[str, str], home: Path
) -> None:
    path, before = home / ".claude" / "settings.json", contents(home)

    def starts() -> list[str]:
        groups = json.loads(path.read_text("utf-8"))["hooks"].get("SessionStart", [])
        return [hook["command"] for group in groups for hook in group["hooks"]]

    answer(environment, "connect", "claude", "--yes")
    assert starts() == []
    for options in (["--brief"], []):
        answer(environment, "connect", "claude", "--yes", *options)
        assert [shlex.split(each)[-3:] for each in starts()] == [
            ["-m", "memory.brief", "--client=claude"]
        ]
    answer(environment, "connect", "claude", "--yes", "--no-brief")
    assert starts() == []
    answer(environment, "disconnect", "--yes")
    assert contents(home) == before


def test_opencode_is_told_a_brief_by_the_plugin_until_it_is_refused(
    environment: dict[str, str], home: Path
) -> None:
    path, before = home / ".config" / "opencode" / "opencode.jsonc", contents(home)

    def brief() -> list[str] | None:
        options = parse(path.read_text("utf-8"), comments=True).value["plugin"][0][1]
        found: list[str] | None = options.get("brief")
        return found

    answer(environment, "connect", "opencode", "--yes")
    assert brief() is None
    for options, ledger in ((["--brief"], "one"), ([], "two")):
        answer(environment | {"MEMORY_LEDGER": ledger}, "connect", "opencode", "--yes", *options)
        words = brief()
        assert words
        assert words[:3] == ["env", "DATABASE_URL=", f"MEMORY_LEDGER={ledger}"]
        assert words[-3:] == ["-m", "memory.brief", "--client=opencode"]
    answer(environment, "connect", "opencode", "--yes", "--no-brief")
    assert brief() is None
    done = answer(environment, "connect", "all", "--yes", "--brief", "--no-hooks")
    assert "left out" in "".join(done["notes"])
    answer(environment, "disconnect", "--yes")
    assert contents(home) == before


def test_hooks_can_be_left_out_and_taken_off(environment: dict[str, str], home: Path) -> None:
    before = contents(home)
    for _ in range(2):
        answer(environment, "connect", "all", "--yes", "--no-hooks")
        held = contents(home)
        assert held[".claude/settings.json"] == before[".claude/settings.json"]
        assert tomllib.loads(held[".codex/config.toml"].decode())["notify"] == ["say", "done"]
        assert b'"plugin"' not in held[".config/opencode/opencode.jsonc"]
        answer(environment, "connect", "all", "--yes")
        assert contents(home) != held
    answer(environment, "disconnect", "--yes")
    assert contents(home) == before


def test_a_client_that_nobody_knows_is_wrong_usage(environment: dict[str, str]) -> None:
    done = answer(environment, "connect", "emacs", status=1)
    assert done["code"] == "invalid_argument"
    assert "claude, codex, opencode and all" in done["error"]


def test_the_plain_commands_and_the_json_for_others_are_printed_on_request(
    environment: dict[str, str], home: Path
) -> None:
    before = contents(home)
    printed = run(environment, "connect", "--print").stdout
    assert "  codex mcp add shared-memory " in printed
    other = json.loads(printed[printed.index("\n{") :])
    assert other["mcpServers"]["shared-memory"]["args"] == ["-P", "-m", "memory.mcp_server"]
    assert len(answer(environment, "connect", "--print")["connections"]) == 3
    assert contents(home) == before
