"""Starting and stopping: once, at once, half done, and under another name."""

import contextlib
import fcntl
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import asyncpg
import pytest
from homes import (
    FAST,
    START,
    NewHome,
    copy_of,
    environment,
    free_port,
    kill,
    let_go,
    postmasters,
    processes,
    sql,
    start_at_once,
    until,
)

from memory import postgres
from memory.errors import ServerFailure
from memory.postgres import roles
from memory.postgres.home import Home
from memory.settings import Settings

pytest_plugins = ("home_fixtures",)

AT_ONCE = 20


async def test_the_first_start_makes_cluster_roles_and_databases(new_home: NewHome) -> None:
    settings = new_home()
    assert postgres.state(settings) is None

    server = postgres.ensure(settings, options=FAST)

    assert (server.host, server.port) == ("127.0.0.1", settings.port)
    assert postgres.state(settings) == server
    url = postgres.application_url(settings)
    assert url.startswith("postgresql+asyncpg://memory:")
    assert url.endswith(f"@127.0.0.1:{settings.port}/memory")
    connection = await asyncpg.connect(url.replace("+asyncpg", ""))
    try:
        assert await connection.fetchval("SELECT current_user") == "memory"
        assert await connection.fetchval("SELECT '[1,2]'::vector <-> '[1,4]'::vector") == 2
    finally:
        await connection.close()
    assert sql(postgres.owner_url(settings), "SELECT current_user") == [["memory_owner"]]


def test_a_second_start_changes_nothing(home: Settings) -> None:
    first = postgres.ensure(home, options=FAST)
    before = _times(home)
    assert postgres.ensure(home) == first
    assert _times(home) == before
    postgres.stop(home)
    passwords = _passwords(home)
    again = postgres.ensure(home, options=FAST)
    assert (again.port, _passwords(home)) == (first.port, passwords)


def test_twenty_starts_at_once_make_one_server(new_home: NewHome) -> None:
    settings = new_home()
    pids = start_at_once(settings, AT_ONCE, FAST)
    assert len(set(pids)) == 1
    assert postmasters(settings) == pids[:1]
    assert _leftovers(settings) == []

    again = start_at_once(settings, AT_ONCE, FAST)

    assert set(again) == set(pids)
    assert postmasters(settings) == pids[:1]


def test_stop_ends_every_process_and_a_second_stop_says_so(home: Settings) -> None:
    postgres.ensure(home, options=FAST)
    assert postgres.stop(home) is True
    until(lambda: processes(home) == [])
    assert postgres.state(home) is None
    assert postgres.stop(home) is False


def test_stop_says_so_where_nothing_was_ever_started(new_home: NewHome) -> None:
    settings = new_home()
    assert postgres.stop(settings) is False
    assert not settings.home.exists()


def test_stop_and_start_wait_for_whoever_holds_the_lock(home: Settings) -> None:
    server = postgres.ensure(home, options=FAST)
    with Home.of(home).lock.open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(ServerFailure) as refused:
            postgres.stop(home, timeout=0.2)
        assert refused.value.code == "still_starting"
        assert postgres.state(home) == server
        Home.of(home).mark.unlink()  # so that ensure cannot answer without the lock
        with pytest.raises(ServerFailure) as refused:
            postgres.ensure(home, timeout=0.2)
        assert refused.value.code == "still_starting"
    assert postgres.ensure(home) == server


def test_an_initdb_killed_half_way_is_made_again(new_home: NewHome) -> None:
    settings = new_home()
    folder = Home.of(settings).path
    starter = _starter(settings)
    until(lambda: any(folder.glob("data.init-*/base/1")))
    kill(starter.pid)
    starter.communicate()
    assert not Home.of(settings).data.exists()

    server = postgres.ensure(settings, options=FAST)

    assert postmasters(settings) == [server.pid]
    until(lambda: _leftovers(settings) == [])


def test_a_set_up_killed_before_the_roles_is_finished_by_the_next_start(
    new_home: NewHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = new_home()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(roles, "set_up", killed)
        with pytest.raises(KeyboardInterrupt):
            postgres.ensure(settings, options=FAST)
    assert postgres.state(settings) is None
    pid = postmasters(settings)

    server = postgres.ensure(settings, options=FAST)

    assert [server.pid] == pid
    assert sql(postgres.application_url(settings), "SELECT 1") == [[1]]


def test_a_set_up_killed_between_role_and_database_is_finished(home: Settings) -> None:
    postgres.ensure(home, options=FAST)
    sql(postgres.owner_url(home, database="postgres"), "DROP DATABASE memory")
    Home.of(home).mark.unlink()
    postgres.ensure(home)
    assert sql(postgres.application_url(home), "SELECT '[1]'::vector::text") == [["[1]"]]


def test_the_server_outlives_its_starter_and_its_process_group(home: Settings) -> None:
    starter = _starter(home, start_new_session=True)
    assert starter.stdout is not None
    pid = int(starter.stdout.readline())
    with contextlib.suppress(ProcessLookupError):
        os.killpg(starter.pid, 9)
    starter.communicate()
    server = postgres.state(home)
    assert server is not None
    assert server.pid == pid
    assert os.getsid(pid) != starter.pid


@pytest.mark.parametrize(
    "name", ["mit Leerzeichen und Ümläuten", "日本語 ' \" $HOME ; # ,", "l" * 120]
)
def test_a_home_may_have_any_name(pattern: Settings, new_home: NewHome, name: str) -> None:
    settings = copy_of(pattern, new_home(name))
    server = postgres.ensure(settings, options=FAST)
    assert server.socket_dir is not None
    assert server.socket_dir.stat().st_mode & 0o777 == 0o700
    assert postgres.ensure(settings) == server
    assert sql(postgres.application_url(settings), "SELECT 1") == [[1]]
    postgres.stop(settings)
    assert postgres.ensure(settings, options=FAST).socket_dir == server.socket_dir


def test_a_first_start_on_a_path_with_blanks_and_letters(new_home: NewHome) -> None:
    settings = new_home("Größe 1", "ещё один")
    postgres.ensure(settings, options=FAST)
    assert sql(postgres.application_url(settings), "SELECT 1") == [[1]]


def test_a_home_that_was_moved_starts_at_its_new_place(home: Settings, new_home: NewHome) -> None:
    postgres.ensure(home, options=FAST)
    sql(postgres.owner_url(home), "CREATE TABLE kept AS SELECT 7 AS n")
    postgres.stop(home)
    moved = new_home()
    home.home.rename(moved.home)
    server = postgres.ensure(moved, options=FAST)
    assert server.home.parent == moved.home
    assert sql(postgres.owner_url(moved), "SELECT n FROM kept") == [[7]]


def test_a_folder_with_other_things_is_never_touched(new_home: NewHome) -> None:
    settings = new_home()
    Home.of(settings).path.mkdir(parents=True, mode=0o755)
    letter = Home.of(settings).path / "letter.txt"
    letter.write_text("mine")
    with pytest.raises(ServerFailure, match=r"not this program's|belongs to another account"):
        postgres.ensure(settings)
    assert letter.read_text() == "mine"
    assert Home.of(settings).path.stat().st_mode & 0o777 == 0o755


def test_nothing_beside_the_servers_folder_is_touched(new_home: NewHome) -> None:
    settings = new_home()
    settings.home.mkdir(mode=0o755)
    (settings.home / "notes").write_text("mine")
    before = settings.home.stat()
    postgres.ensure(settings, options=FAST)
    after = settings.home.stat()
    assert (after.st_mode, after.st_uid) == (before.st_mode, before.st_uid)
    assert sorted(path.name for path in settings.home.iterdir()) == ["notes", "pg"]


def test_addresses_are_refused_where_no_server_ever_was(new_home: NewHome) -> None:
    settings = new_home()
    for address in (postgres.application_url, postgres.owner_url):
        with pytest.raises(ServerFailure, match="memory pg start`") as refused:
            address(settings)
        assert refused.value.code == "never_started"
    assert not postgres.is_embedded(settings, "postgresql://memory@127.0.0.1:5433/memory")


def test_the_address_of_a_stopped_server_is_still_known(home: Settings) -> None:
    postgres.ensure(home, options=FAST)
    running = postgres.application_url(home)
    postgres.stop(home)
    assert postgres.application_url(home) == running


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgresql+asyncpg://memory:x@127.0.0.1:{port}/memory", True),
        ("postgresql://other@localhost:{port}/anything?ssl=disable", True),
        ("postgresql://memory@127.0.0.1/memory", False),
        ("postgresql://memory@127.0.0.1:1/memory", False),
        ("postgresql://memory@db.example.org:{port}/memory", False),
        ("postgresql://memory@127.0.0.1:no-port/memory", False),
        ("", False),
    ],
)
def test_an_address_is_known_by_host_and_port(running: Settings, url: str, expected: bool) -> None:
    assert postgres.is_embedded(running, url.format(port=running.port)) is expected


def test_options_reach_the_server_and_the_defaults_suit_a_laptop(home: Settings) -> None:
    postgres.ensure(home, options={**FAST, "work_mem": "5MB"})
    names = ("fsync", "work_mem", "listen_addresses", "shared_buffers", "jit", "max_connections")
    names += ("dynamic_shared_memory_type", "idle_in_transaction_session_timeout")
    names += ("unix_socket_permissions", "password_encryption", "log_truncate_on_rotation")
    rows = sql(
        postgres.owner_url(home),
        "SELECT name, current_setting(name) FROM pg_settings WHERE name = ANY(:names)",
        names=list(names),
    )
    assert dict(map(tuple, rows)) == {
        "fsync": "off",
        "work_mem": "5MB",
        "listen_addresses": "127.0.0.1",
        "shared_buffers": "128MB",
        "jit": "off",
        "max_connections": "100",
        "dynamic_shared_memory_type": "mmap",
        "idle_in_transaction_session_timeout": "5min",
        "unix_socket_permissions": "0700",
        "password_encryption": "scram-sha-256",
        "log_truncate_on_rotation": "on",
    }


def test_case_and_order_are_right_beyond_ascii(running: Settings) -> None:
    statement = "SELECT lower('ПРИ'), to_tsvector('simple', 'ÉCOLE')::text, datlocprovider::text"
    assert sql(postgres.application_url(running), f"{statement} FROM pg_database LIMIT 1") == [
        ["при", "'école':1", "b"]
    ]


def test_looking_at_a_running_server_loads_no_driver(running: Settings) -> None:
    program = (
        "import sys\n"
        "from memory import postgres\n"
        "from memory.settings import Settings\n"
        "settings = Settings.from_environment()\n"
        "postgres.ensure(settings), postgres.application_url(settings)\n"
        "heavy = {'psutil', 'pg8000', 'asyncpg', 'sqlalchemy', 'subprocess', 'logging', 'asyncio'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(running),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"


def test_data_that_are_no_cluster_are_never_overwritten(home: Settings) -> None:
    data = Home.of(home).data
    (data / "PG_VERSION").unlink()
    with pytest.raises(ServerFailure, match="is no PostgreSQL cluster"):
        postgres.ensure(home)
    assert (data / "base").is_dir()


def test_the_log_file_of_an_earlier_failure_does_not_mislead(home: Settings) -> None:
    server_log = Home.of(home).server_log
    with server_log.open("a") as file:
        file.write("FATAL: could not create any TCP/IP sockets\nNo space left on device\n")
    with pytest.raises(ServerFailure) as failed:
        postgres.ensure(home, options={"no_such_setting": "1"})
    assert failed.value.code == "server_failed"
    assert any("no_such_setting" in line for line in failed.value.details["log"])


def test_another_port_is_used_when_another_one_is_wanted(home: Settings) -> None:
    postgres.ensure(home, options=FAST)
    postgres.stop(home)
    wanted = free_port()
    assert postgres.ensure(replace(home, port=wanted), options=FAST).port == wanted


def _starter(settings: Settings, *, start_new_session: bool = False) -> subprocess.Popen[str]:
    starter = subprocess.Popen(
        [sys.executable, "-c", START.format(options=FAST)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(settings),
        start_new_session=start_new_session,
    )
    let_go([starter])
    return starter


def _leftovers(settings: Settings) -> list[Path]:
    home = Home.of(settings)
    return [*home.path.glob("data.init-*"), *home.path.glob("**/*.tmp")]


def _passwords(settings: Settings) -> list[str]:
    return [path.read_text() for path in sorted(Home.of(settings).path.glob("*.password"))]


def _times(settings: Settings) -> dict[str, int]:
    """Return when each file of ours was written, those of the server itself aside."""
    home = Home.of(settings)
    files = [path for path in home.path.iterdir() if path.is_file()]
    return {path.name: path.stat().st_mtime_ns for path in (*files, home.mark, home.staged)}
