"""A server that somebody stopped: what runs in the background leaves it alone, and says so."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from homes import NewHome, environment, kill, postmasters, until
from hook_calls import call, claude_says, payload

from importers import spool
from memory import postgres
from memory.errors import ServerFailure
from memory.postgres import cli
from memory.postgres.home import Home
from memory.settings import Settings

pytest_plugins = ("home_fixtures",)


def background(settings: Settings) -> Settings:
    return replace(settings, leaves_stopped=True)


def pg(command: str, settings: Settings) -> int:
    return cli.carry_out(command, settings, timeout=60, as_json=False)


def test_a_stopped_server_is_started_by_people_and_not_in_the_background(
    home: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    postgres.ensure(background(home))
    assert pg("stop", home) == 0
    for _ in range(2):
        with pytest.raises(ServerFailure) as refused:
            postgres.ensure(background(home))
        assert refused.value.code == "server_stopped"
        assert "pg start" in str(refused.value)
    assert postmasters(home) == []
    capsys.readouterr()
    assert pg("status", home) == 3
    assert "was stopped" in capsys.readouterr().out

    postgres.ensure(home)
    kill(postmasters(home)[0])
    postgres.ensure(background(home))
    assert len(postmasters(home)) == 1


def test_a_server_that_was_down_when_it_was_stopped_stays_down(home: Settings) -> None:
    assert pg("stop", home) == 0
    with pytest.raises(ServerFailure, match="was stopped"):
        postgres.ensure(background(home))


@pytest.mark.parametrize("command", ["restart", "bootstrap"])
def test_what_stops_the_server_in_passing_leaves_no_mark(home: Settings, command: str) -> None:
    assert pg(command, home) == 0
    assert not postgres.was_stopped(home)


def test_a_home_without_a_server_keeps_no_mark(new_home: NewHome) -> None:
    settings = new_home()
    assert pg("stop", settings) == 0
    assert not settings.home.exists()


def test_a_disk_without_room_for_the_mark_stops_the_server_all_the_same(
    home: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    postgres.ensure(home)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("memory.postgres.private.write", full)
    assert pg("stop", home) == 0
    assert postmasters(home) == []
    assert "may start the server again" in caplog.text


@contextmanager
def watching(environment: dict[str, str]) -> Iterator["subprocess.Popen[str]"]:
    """Watch Claude Code's store as a service does, until the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-m", "importers", "--watch", "--client", "claude", "--poll", "0.2"],
        env=environment,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=60)
    assert process.returncode == 0


def heard(process: "subprocess.Popen[str]", words: str) -> None:
    """Read what the watch says until it says this."""
    assert process.stderr is not None
    assert any(words in line for line in process.stderr), f"it ended without: {words}"


def of(settings: Settings, home: Path) -> dict[str, str]:
    home.mkdir(exist_ok=True)
    return {**environment(settings), "HOME": str(home)}


def test_the_watch_waits_for_a_stopped_server_and_goes_on(home: Settings, tmp_path: Path) -> None:
    told = of(home, tmp_path / "user")
    claude_says(tmp_path / "user", "first")
    assert pg("stop", home) == 0
    with watching(told) as process:
        heard(process, "was stopped")
        assert postmasters(home) == []
        (round_,) = (home.home / "rounds").iterdir()
        assert "server_stopped" in json.loads(round_.read_text())["reason"]
        postgres.ensure(home)
        heard(process, "is back")
        assert pg("stop", home) == 0
        claude_says(tmp_path / "user", "second")
        heard(process, "was stopped")
        assert postmasters(home) == []


def test_a_hook_starts_no_stopped_server_and_its_signal_waits(
    home: Settings, tmp_path: Path
) -> None:
    told = of(home, tmp_path / "user")
    path = claude_says(tmp_path / "user", "first")
    assert pg("stop", home) == 0
    assert call(told, "--hook", "claude", stdin=payload(path)).returncode == 0
    folder = spool.folder_of(str(home.home))
    until(lambda: bool(spool.noted(folder, "claude", spool.FAILED)), seconds=60)
    until(lambda: "was stopped" in Path(folder, "claude.log").read_text(), seconds=60)
    assert postmasters(home) == []
    assert len(list(spool.waiting(folder))) == 1

    done = subprocess.run(
        [sys.executable, "-m", "importers", "--client", "claude"],
        env=told,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert list(spool.waiting(folder)) == []
    assert Home.of(home).was_stopped() is False
    assert len(postmasters(home)) == 1
