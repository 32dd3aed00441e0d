"""The command line and the two scripts."""

import json
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from homes import ROOT, NewHome, environment, kill, postmasters, sql

from memory import postgres
from memory.postgres import cli
from memory.postgres.home import Home
from memory.settings import Settings

pytest_plugins = ("home_fixtures",)

START_PG = ROOT / "scripts" / "start-pg.sh"
BOOTSTRAP_PG = ROOT / "scripts" / "bootstrap-pg.sh"


def test_start_is_idempotent_and_exits_when_connections_are_accepted(
    home: Settings, tmp_path: Path
) -> None:
    first = _script(START_PG, home, "start", folder=tmp_path)
    assert first.returncode == 0, first.stderr
    assert f"accepts connections on 127.0.0.1:{home.port}" in first.stdout
    assert sql(postgres.application_url(home), "SELECT 1") == [[1]]
    (pid,) = postmasters(home)

    second = _script(START_PG, home, "start", folder=tmp_path)

    assert (second.returncode, second.stdout) == (0, first.stdout)
    assert postmasters(home) == [pid]
    status = _script(START_PG, home, "status", "--json", folder=tmp_path)
    assert status.returncode == 0
    assert json.loads(status.stdout) == {
        "is_error": False,
        "running": True,
        "host": "127.0.0.1",
        "port": home.port,
        "pid": pid,
        "home": str(home.home / "pg"),
        "socket_dir": str(home.home / "pg" / "s"),
    }


def test_status_stop_and_restart_tell_what_they_found(home: Settings) -> None:
    status = _script(START_PG, home, "status")
    assert (status.returncode, status.stdout) == (3, "PostgreSQL is not running.\n")
    assert json.loads(_script(START_PG, home, "status", "--json").stdout) == {
        "is_error": False,
        "running": False,
    }
    assert _script(START_PG, home, "stop").stdout == "PostgreSQL was not running.\n"

    assert _script(START_PG, home, "restart").returncode == 0
    (first,) = postmasters(home)
    assert _script(START_PG, home, "restart").returncode == 0
    (second,) = postmasters(home)
    assert first != second

    stopped = _script(START_PG, home, "stop")
    assert (stopped.returncode, stopped.stdout) == (0, "PostgreSQL stopped.\n")
    assert postmasters(home) == []


def test_start_prints_the_port_in_use_when_the_default_one_is_taken(
    home: Settings, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", home.port)):
        assert cli.carry_out("start", home, timeout=60, as_json=False) == 0
    server = postgres.state(home)
    assert server is not None
    assert f"127.0.0.1:{server.port}, not on port {home.port}" in capsys.readouterr().out
    assert f"Port {home.port} is taken by another program" in caplog.text


def test_a_named_port_that_is_taken_is_one_sentence_and_changes_nothing(
    new_home: NewHome, home: Settings
) -> None:
    for settings in (new_home(), home):
        before = _tree(settings.home)
        with socket.create_server(("127.0.0.1", settings.port)):
            started = _script(START_PG, settings, "start")
        assert (started.returncode, started.stdout) == (1, "")
        assert started.stderr == (
            f"port_taken: Port {settings.port}, which MEMORY_PG_PORT names, is taken by another"
            " program: end that program, set MEMORY_PG_PORT to a free port, or unset it to have one"
            " found.\n"
        )
        assert _tree(settings.home) == before
    assert _script(START_PG, home, "start").returncode == 0


def test_a_named_port_that_our_own_server_has_is_not_taken(home: Settings) -> None:
    assert _script(START_PG, home, "start").returncode == 0
    assert _script(START_PG, home, "start").returncode == 0
    (pid,) = postmasters(home)
    kill(pid)  # its lock file stays, and names the port
    with socket.create_server(("127.0.0.1", home.port)):
        taken = _script(START_PG, home, "start")
    assert taken.returncode == 1
    assert taken.stderr.startswith("port_taken: ")
    assert _script(START_PG, home, "start").returncode == 0
    assert f":{home.port}" in _script(START_PG, home, "status").stdout


def _tree(folder: Path) -> list[tuple[str, int]]:
    """Return what lies in a folder and when it was written."""
    return sorted((str(path), path.lstat().st_mtime_ns) for path in folder.glob("**/*"))


def test_bootstrap_sets_up_and_leaves_nothing_running(new_home: NewHome) -> None:
    settings = new_home()
    for _ in range(2):
        done = _script(BOOTSTRAP_PG, settings)
        assert done.returncode == 0, done.stderr
        assert postmasters(settings) == []
        assert Home.of(settings).is_complete()


def test_bootstrap_leaves_a_running_server_running(home: Settings) -> None:
    server = postgres.ensure(home)
    assert _script(BOOTSTRAP_PG, home).returncode == 0
    assert postgres.state(home) == server


def test_a_script_reached_by_a_link_finds_its_repository(home: Settings, tmp_path: Path) -> None:
    link = tmp_path / "pg"
    link.symlink_to(BOOTSTRAP_PG)
    assert _script(link, home, folder=tmp_path).returncode == 0


def test_a_folder_named_memory_in_the_callers_directory_is_not_taken_for_ours(
    home: Settings, tmp_path: Path
) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "__init__.py").write_text("raise SystemExit(99)")
    assert _script(START_PG, home, "status", folder=tmp_path).returncode == 3


def test_without_an_environment_the_script_says_what_to_run(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    script = tmp_path / "scripts" / "start-pg.sh"
    shutil.copy(START_PG, script)
    done = subprocess.run(
        [script, "start"],
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"{tmp_path}/scripts/up" in done.stderr


def test_a_failure_is_told_with_its_code_and_the_end_of_the_log(
    home: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(home).items():
        monkeypatch.setenv(name, value)
    with (Home.of(home).data / "postgresql.conf").open("a") as file:
        file.write("no_such_setting = 1\n")
    assert cli.main(["start"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("server_failed: ")
    assert "no_such_setting" in told
    assert cli.main(["start", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["is_error"], answer["code"]) == (True, "server_failed")
    assert "no_such_setting" in "".join(answer["details"]["log"])


def test_a_bad_setting_is_told_without_a_trace(home: Settings) -> None:
    bad = {**environment(home), "MEMORY_PG_PORT": "many"}
    done = subprocess.run(
        [sys.executable, "-m", "memory.postgres", "start"],
        env=bad,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("invalid_argument: MEMORY_PG_PORT")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [[], ["dance"], ["start", "--timeout", "soon"]])
def test_a_wrong_command_line_shows_the_right_one(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        cli.main(arguments)
    assert left.value.code == 2
    assert "{start,stop,status,restart,bootstrap}" in capsys.readouterr().err


def _script(
    script: Path, settings: Settings, *arguments: str, folder: Path = Path("/")
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [script, *arguments],
        env=environment(settings),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
