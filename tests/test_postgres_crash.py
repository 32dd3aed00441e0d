"""What a killed server leaves behind, and what other programs do, never stops the next start."""

import contextlib
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import psutil
import pytest
from homes import (
    FAST,
    NewHome,
    connected,
    copy_of,
    environment,
    kill,
    name_in_pid_file,
    needs_root,
    postmasters,
    processes,
    sql,
    start_at_once,
    until,
)
from pg8000 import native

from memory import postgres
from memory.errors import ServerFailure
from memory.postgres import cluster
from memory.postgres.home import Home
from memory.settings import Settings

pytest_plugins = ("home_fixtures",)

WRITERS = 4
GONE = (native.DatabaseError, native.InterfaceError, OSError)
ROWS_BEFORE_THE_KILL = 200
LONG_QUERY = "SELECT sum(a * b) FROM generate_series(1, 100000) a, generate_series(1, 100000) b"


def test_no_acknowledged_row_is_lost_when_the_postmaster_is_killed_under_load(
    home: Settings,
) -> None:
    server = postgres.ensure(home)  # with fsync, as for users
    url = postgres.owner_url(home)
    sql(url, "CREATE TABLE written (writer int, number int)")
    acknowledged: list[list[int]] = [[] for _ in range(WRITERS)]
    threads = [
        threading.Thread(target=_write, args=(url, writer, acknowledged[writer]))
        for writer in range(WRITERS)
    ]
    threads.append(threading.Thread(target=_burn, args=(url,)))
    for thread in threads:
        thread.start()
    until(lambda: sum(map(len, acknowledged)) > ROWS_BEFORE_THE_KILL)

    kill(server.pid)
    pids = start_at_once(home, 6, {})

    for thread in threads:
        thread.join(timeout=30)
        assert not thread.is_alive()
    assert len(set(pids)) == 1
    assert postmasters(home) == pids[:1]
    stored = {tuple(row) for row in sql(url, "SELECT writer, number FROM written")}
    promised = {(writer, n) for writer, numbers in enumerate(acknowledged) for n in numbers}
    assert promised <= stored
    assert len(stored) <= len(promised) + WRITERS  # at most the row each was just writing


@needs_root
def test_root_in_a_container_ends_the_backends_that_a_killed_postmaster_left(
    home: Settings,
) -> None:
    """There root lacks CAP_SYS_PTRACE and cannot see where another account's process works."""
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("setpriv, which takes rights from root, is not installed")
    server = postgres.ensure(home, options=FAST)
    thread = threading.Thread(target=_burn, args=(postgres.owner_url(home),))
    thread.start()
    query = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE :text AND state = 'active'"
    until(lambda: sql(postgres.owner_url(home), query, text="SELECT sum%") == [[1]])
    kill(server.pid)
    assert processes(home) != []
    done = subprocess.run(
        [
            *(setpriv, "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"),
            *(sys.executable, "-m", "memory.postgres", "start"),
        ],
        env=environment(home),
        capture_output=True,
        text=True,
        check=False,
    )
    thread.join(timeout=30)
    assert done.returncode == 0, done.stderr
    again = postgres.state(home)
    assert again is not None
    assert postmasters(home) == [again.pid]


def test_a_start_follows_the_death_of_every_process(home: Settings) -> None:
    postgres.ensure(home, options=FAST)
    for process in processes(home):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    until(lambda: processes(home) == [])
    server = postgres.ensure(home, options=FAST)
    assert postmasters(home) == [server.pid]


def test_a_pid_that_is_another_programs_now_stops_nothing(home: Settings) -> None:
    server = postgres.ensure(home, options=FAST)
    kill(server.pid)
    with _program(home, "sleep", "60") as other:
        name_in_pid_file(home, other)
        lock = Home.of(home).path / "s" / f".s.PGSQL.{server.port}.lock"
        lock.write_text(str(other) + "\n" + "\n".join(lock.read_text().split("\n")[1:]))
        again = postgres.ensure(home, options=FAST)
        assert again.pid not in {other, server.pid}
        assert psutil.pid_exists(other)
    assert postmasters(home) == [again.pid]


def test_a_pid_that_is_another_clusters_now_stops_nothing(
    home: Settings, running: Settings
) -> None:
    server = postgres.ensure(home, options=FAST)
    other = postgres.ensure(running)
    kill(server.pid)
    name_in_pid_file(home, other.pid)
    again = postgres.ensure(home, options=FAST)
    assert again.pid != other.pid
    assert postgres.state(running) == other


def test_a_pid_that_is_a_zombies_stops_nothing(home: Settings) -> None:
    server = postgres.ensure(home, options=FAST)
    kill(server.pid)
    owner = Home.of(home).data.stat().st_uid
    zombie = subprocess.Popen(["true"], user=owner if os.geteuid() == 0 else None)
    try:
        until(lambda: psutil.Process(zombie.pid).status() == psutil.STATUS_ZOMBIE)
        name_in_pid_file(home, zombie.pid)
        again = postgres.ensure(home, options=FAST)
        assert postmasters(home) == [again.pid]
    finally:
        zombie.wait()


@pytest.mark.parametrize("rest", ["", "12", "12\n/somewhere\n"])
def test_a_pid_file_cut_short_stops_nothing(home: Settings, rest: str) -> None:
    server = postgres.ensure(home, options=FAST)
    kill(server.pid)
    until(lambda: processes(home) == [])
    Home.of(home).pid_file.write_text(rest)
    assert postmasters(home) == []
    again = postgres.ensure(home, options=FAST)
    assert postmasters(home) == [again.pid]


def test_a_live_server_whose_pid_file_was_deleted_is_replaced(home: Settings) -> None:
    server = postgres.ensure(home, options=FAST)
    sql(postgres.owner_url(home), "CREATE TABLE kept AS SELECT 7 AS n")
    Home.of(home).pid_file.unlink()
    again = postgres.ensure(home, options=FAST)
    assert postmasters(home) == [again.pid]
    assert again.pid != server.pid
    assert again.port == server.port
    assert sql(postgres.owner_url(home), "SELECT n FROM kept") == [[7]]


def test_a_server_that_hangs_is_waited_for_and_never_doubled(home: Settings) -> None:
    server = postgres.ensure(home, options=FAST)
    os.kill(server.pid, signal.SIGSTOP)
    try:
        with pytest.raises(ServerFailure, match=r"still starting.*try again") as failed:
            postgres.ensure(home, timeout=0.5)
        assert failed.value.code == "still_starting"
        assert postmasters(home) == [server.pid]
    finally:
        os.kill(server.pid, signal.SIGCONT)
    assert postgres.ensure(home) == server


def test_a_server_that_does_not_stop_in_time_is_never_killed(home: Settings) -> None:
    server = postgres.ensure(home, options=FAST)
    os.kill(server.pid, signal.SIGSTOP)
    try:
        with pytest.raises(ServerFailure) as failed:
            postgres.stop(home, timeout=0.5)
        assert failed.value.code == "still_stopping"
    finally:
        os.kill(server.pid, signal.SIGCONT)
    until(lambda: processes(home) == [])


def test_a_deleted_socket_leaves_the_server_in_use(home: Settings) -> None:
    server = postgres.ensure(home, options=FAST)
    assert server.socket_dir is not None
    for path in server.socket_dir.iterdir():
        path.unlink()
    again = postgres.ensure(home)
    assert (again.pid, again.port, again.socket_dir) == (server.pid, server.port, None)
    postgres.ensure_database(home, "over_tcp")
    assert sql(postgres.application_url(home, database="over_tcp"), "SELECT 1") == [[1]]


def test_a_port_that_another_program_has_is_left_to_it_and_said_so(
    home: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", home.port)), caplog.at_level(logging.WARNING):
        server = postgres.ensure(home, options=FAST)
        assert home.port < server.port <= home.port + 100
        assert f"Port {home.port} is taken" in caplog.text
        assert f"port {server.port}" in caplog.text
        assert postgres.is_embedded(home, postgres.application_url(home))
    postgres.stop(home)
    # The address people may have written down stays right.
    assert postgres.ensure(home, options=FAST).port == server.port


def test_a_remembered_port_that_was_taken_meanwhile_is_given_up(home: Settings) -> None:
    postgres.ensure(home, options=FAST)
    postgres.stop(home)
    with socket.create_server(("127.0.0.1", home.port)):
        server = postgres.ensure(home, options=FAST)
        assert server.port != home.port
        assert postgres.application_url(home).endswith(f":{server.port}/memory")
        assert sql(postgres.application_url(home), "SELECT 1") == [[1]]


def test_a_port_lost_between_look_and_start_is_replaced(
    home: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", home.port)):
        monkeypatch.setattr("memory.postgres.port._is_free", lambda _: True)
        server = postgres.ensure(home, options=FAST)
    assert server.port != home.port
    assert postmasters(home) == [server.pid]


def test_another_postgresql_on_the_port_is_never_taken_for_ours(
    running: Settings, pattern: Settings, new_home: NewHome
) -> None:
    foreign = postgres.ensure(running)
    settings = Settings(home=new_home().home, port=foreign.port)
    copy_of(pattern, settings)
    assert postgres.state(settings) is None
    server = postgres.ensure(settings, options=FAST)
    assert server.port != foreign.port
    assert server.pid != foreign.pid


def test_connections_that_linger_on_the_port_are_no_obstacle(home: Settings) -> None:
    server = postgres.ensure(home, options=FAST)
    with connected(postgres.application_url(home)):
        postgres.stop(home)
        assert postgres.ensure(home, options=FAST).port == server.port


def test_a_lost_password_of_the_application_is_replaced(home: Settings) -> None:
    server = postgres.ensure(home, options=FAST)
    before = postgres.application_url(home)
    Home.of(home).password_file("memory").unlink()
    assert postgres.ensure(home) == server
    assert postgres.application_url(home) != before
    assert sql(postgres.application_url(home), "SELECT 1") == [[1]]
    with pytest.raises(native.DatabaseError):
        sql(before, "SELECT 1")


def test_a_replacement_of_a_password_that_was_killed_half_way_is_done_again(
    home: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.ensure(home, options=FAST)
    for role in ("memory", "memory_owner"):
        Home.of(home).password_file(role).unlink()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    for step in ("cluster.replace_owner_password", "postmaster.bring_up", "roles.set_up"):
        with monkeypatch.context() as patch:
            patch.setattr(f"memory.postgres.{step}", lambda *_, **__: killed())
            with pytest.raises(KeyboardInterrupt):
                postgres.ensure(home, options=FAST)
        assert postgres.state(home) is None
    postgres.ensure(home, options=FAST)
    for url in (postgres.application_url(home), postgres.owner_url(home)):
        assert sql(url, "SELECT 1") == [[1]]


@pytest.mark.parametrize("killed", [False, True])
def test_a_lost_password_of_the_owner_is_replaced(home: Settings, killed: bool) -> None:
    server = postgres.ensure(home, options=FAST)
    before = postgres.owner_url(home)
    if killed:
        kill(server.pid)
    Home.of(home).password_file("memory_owner").unlink()
    postgres.ensure(home, options=FAST)
    assert postgres.owner_url(home) != before
    assert sql(postgres.owner_url(home), "SELECT current_user") == [["memory_owner"]]
    assert sql(postgres.application_url(home), "SELECT 1") == [[1]]


def test_a_wrong_password_of_the_owner_is_said_and_mended_as_told(home: Settings) -> None:
    file = Home.of(home).password_file("memory_owner")
    file.write_text("not the password")
    Home.of(home).mark.unlink()
    with pytest.raises(ServerFailure, match="remove it and start again") as failed:
        postgres.ensure(home, options=FAST)
    assert failed.value.code == "auth_failed"
    file.unlink()
    postgres.ensure(home, options=FAST)
    assert sql(postgres.owner_url(home), "SELECT 1") == [[1]]


def test_an_initdb_that_fails_leaves_nothing_and_shows_its_words(
    new_home: NewHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = new_home()
    monkeypatch.setattr(cluster, "_CHARACTER_CLASSES", ("xx_XX.none",))
    with pytest.raises(ServerFailure) as failed:
        postgres.ensure(settings, options=FAST)
    assert any("invalid locale name" in line for line in failed.value.details["log"])
    assert not Home.of(settings).data.exists()
    assert list(Home.of(settings).path.glob("data*")) == []
    monkeypatch.setattr(cluster, "_CHARACTER_CLASSES", ("xx_XX.none", "C"))
    postgres.ensure(settings, options=FAST)
    assert sql(postgres.application_url(settings), "SELECT lower('ПРИ')") == [["при"]]


def _write(url: str, writer: int, acknowledged: list[int]) -> None:
    """Write rows, one commit each, until the server goes away."""
    with contextlib.suppress(*GONE), connected(url) as one:
        for number in range(1_000_000):
            one.run("INSERT INTO written VALUES (:w, :n)", w=writer, n=number)
            acknowledged.append(number)


def _burn(url: str) -> None:
    """Keep a backend busy, which then outlives its postmaster."""
    with contextlib.suppress(*GONE), connected(url) as one:
        one.run(LONG_QUERY)


@contextlib.contextmanager
def _program(settings: Settings, *arguments: str) -> Iterator[int]:
    """Run another program as the account that the server has."""
    owner = Home.of(settings).data.stat().st_uid
    program = subprocess.Popen(arguments, user=owner if os.geteuid() == 0 else None)
    try:
        yield program.pid
    finally:
        program.kill()
        program.wait()
