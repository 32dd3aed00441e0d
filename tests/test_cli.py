"""The command line as people and programs meet it, run as the installed program."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memory.cli.app import COMMANDS

PROGRAM = Path(sys.executable).parent / "memory"

Memory = Callable[..., subprocess.CompletedProcess[str]]


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def nowhere(tmp_path: Path) -> dict[str, str]:
    """Return an environment whose database does not exist."""
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "MEMORY_HOME": str(tmp_path / "home"),
        "DATABASE_URL": "postgresql://memory:planted@127.0.0.1:1/memory",
    }


def test_help_lists_every_command(nowhere: dict[str, str]) -> None:
    listed = run(nowhere, "--help")
    assert listed.returncode == 0
    for name in COMMANDS:
        assert f"\n  {name} " in listed.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_begins_with_its_line_in_the_list(
    name: str, nowhere: dict[str, str]
) -> None:
    own = run(nowhere, name, "--help")
    assert own.returncode == 0, own.stderr
    assert COMMANDS[name][1].rstrip(".") in " ".join(own.stdout.split())


def test_help_loads_no_database_library(nowhere: dict[str, str]) -> None:
    program = (
        "import sys; from memory.cli.app import run; run(['--help']);"
        "print([name for name in ('alembic', 'asyncpg', 'mcp', 'sqlalchemy')"
        " if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env=nowhere,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_no_arguments_are_a_question_for_help(nowhere: dict[str, str]) -> None:
    assert run(nowhere).stdout == run(nowhere, "--help").stdout


def test_version_is_one_line(nowhere: dict[str, str]) -> None:
    done = run(nowhere, "--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("memory ")
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["search"],
        ["pg"],
        ["sessions", "--limit", "0"],
        ["sessions", "--limit", "many"],
        ["show", "00000000", "--no-such-option"],
    ],
)
def test_wrong_usage_is_one_line_and_status_2(
    nowhere: dict[str, str], arguments: list[str]
) -> None:
    done = run(nowhere, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("memory: ")
    assert done.stderr.endswith("(usage)\n")
    assert done.stderr.count("\n") == 1


def test_an_unreachable_database_is_one_line_without_the_password(
    nowhere: dict[str, str],
) -> None:
    for arguments in (["search", "x"], ["projects"], ["sessions"], ["show", "0" * 8]):
        done = run(nowhere, *arguments)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("memory: The database cannot be reached")
        assert done.stderr.endswith("(unavailable)\n")
        assert "planted" not in done.stderr


def test_status_tells_how_capturing_goes_while_the_database_is_away(
    nowhere: dict[str, str],
) -> None:
    done = run(nowhere, "status")
    assert done.returncode == 1
    assert done.stdout.startswith("capture ")
    assert done.stderr.startswith("memory: The database cannot be reached")
    told = json.loads(run(nowhere, "status", "--json").stdout)
    assert list(told) == ["is_error", "code", "error", "capture"]


def test_an_error_as_json_is_one_object_with_its_code(nowhere: dict[str, str]) -> None:
    done = run(nowhere, "projects", "--json")
    answer = json.loads(done.stdout)
    assert done.returncode == 1
    assert done.stderr == ""
    assert list(answer) == ["is_error", "code", "error"]
    assert (answer["is_error"], answer["code"]) == (True, "unavailable")
    usage = run(nowhere, "sessions", "--json", "--limit", "0")
    assert usage.returncode == 2
    assert json.loads(usage.stdout)["code"] == "usage"


def test_an_error_of_the_system_is_one_line(nowhere: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    inside = {**nowhere, "DATABASE_URL": "", "MEMORY_HOME": str(tmp_path / "file" / "home")}
    done = run(inside, "status")
    assert done.returncode == 1
    assert done.stderr.startswith("memory: ")
    assert done.stderr.count("\n") == 1


def test_a_bad_setting_is_named(nowhere: dict[str, str]) -> None:
    done = run({**nowhere, "MEMORY_PG_PORT": "many"}, "status")
    assert done.returncode == 1
    assert "MEMORY_PG_PORT takes a whole number" in done.stderr


@pytest.mark.parametrize(
    "arguments", [["--help"], ["connect", "--print"], ["connect", "--print", "--json"]]
)
def test_a_reader_that_goes_away_is_no_traceback(
    environment: dict[str, str], arguments: list[str]
) -> None:
    writer = subprocess.Popen(
        [PROGRAM, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert writer.stdout is not None
    assert writer.stderr is not None
    writer.stdout.close()
    with writer.stderr as errors:
        assert errors.read() == b""
    writer.wait(timeout=60)


def test_url_prints_an_address_that_works_as_database_url(environment: dict[str, str]) -> None:
    printed = run(environment, "url").stdout.strip()
    assert printed.startswith("postgresql://memory:")
    again = run({**environment, "DATABASE_URL": printed}, "status", "--json")
    assert json.loads(again.stdout)["role"] == "memory"


def test_url_of_the_owner_is_another_role(environment: dict[str, str]) -> None:
    answer = json.loads(run(environment, "url", "--owner", "--json").stdout)
    assert answer["is_error"] is False
    assert answer["url"].startswith("postgresql://memory_owner:")
    assert answer["role"] == "owner"


def test_url_keeps_what_was_said_about_tls(environment: dict[str, str]) -> None:
    given = "postgresql+asyncpg://me:secret@db.example:6432/ledger?ssl=require"
    done = run({**environment, "DATABASE_URL": given}, "url")
    assert done.stdout.strip() == "postgresql://me:secret@db.example:6432/ledger?sslmode=require"


def test_pg_status_says_where_the_embedded_server_is(environment: dict[str, str]) -> None:
    answer = json.loads(run(environment, "pg", "status", "--json").stdout)
    assert answer["running"] is True
    assert answer["home"].startswith(environment["MEMORY_HOME"])


def test_pg_status_of_a_server_that_is_down_is_status_3(nowhere: dict[str, str]) -> None:
    done = run(nowhere, "pg", "status")
    assert (done.returncode, done.stdout) == (3, "PostgreSQL is not running.\n")
    answer = json.loads(run(nowhere, "pg", "status", "--json").stdout)
    assert answer == {"is_error": False, "running": False}


def test_memory_pg_and_the_module_say_the_same(
    environment: dict[str, str], nowhere: dict[str, str]
) -> None:
    for inside in (environment, nowhere):
        for arguments in (["status"], ["status", "--json"]):
            ours = run(inside, "pg", *arguments)
            module = subprocess.run(
                [sys.executable, "-m", "memory.postgres", *arguments],
                env={**inside, "PYTHONPATH": str(Path(__file__).parents[1])},
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert (ours.stdout, ours.returncode) == (module.stdout, module.returncode)
            assert ours.stdout


def test_stopping_what_does_not_run_is_no_error(nowhere: dict[str, str]) -> None:
    done = run(nowhere, "pg", "stop")
    assert (done.returncode, done.stdout) == (0, "PostgreSQL was not running.\n")
