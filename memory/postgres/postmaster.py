"""Bringing up the one postmaster of a cluster, whatever the last one left behind."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from memory import log
from memory.errors import ServerFailure
from memory.postgres import command, port, private, process, sockets
from memory.postgres.account import Account
from memory.postgres.binaries import Binaries
from memory.postgres.failure import diagnose, log_since, log_sizes
from memory.postgres.home import Home
from memory.postgres.server import HOST, PidFile, Server, Status, look, read_pid_file, status_of

__all__ = ["Plan", "bring_up", "over_the_dead"]

_LOG: Final = log.get(__name__)
_ATTEMPTS: Final = 8
_PAUSE: Final = 0.05
_LAST_WORDS: Final = 3.0  # seconds that an unknown reason is waited for in the log
_LONGEST_LOG: Final = 1_000_000  # bytes of server.log before it is emptied


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Who is to run what where, and until when (``deadline``, of ``time.monotonic``).

    ``port_is_pinned`` forbids any port but the wanted one.
    """

    home: Home
    account: Account
    binaries: Binaries
    wanted_port: int
    port_is_pinned: bool
    options: Mapping[str, str]
    deadline: float


def bring_up(plan: Plan) -> Server:
    """Return the running server: the one that is coming up already, else a new one.

    The caller holds the lock. There is never a second one: a postmaster that lives is waited for,
    and one that was killed is replaced only when no process of it is left. Raises ServerFailure.
    """
    failure = ServerFailure(f"No port could be kept for {plan.home.path}.", code="port_taken")
    ports = port.candidates(plan.home, plan.wanted_port, pinned=plan.port_is_pinned)
    chosen = 0
    for _ in range(_ATTEMPTS):
        server = _await_running(plan)
        if server is not None:
            return server
        environment = over_the_dead(plan.home, plan.account)
        chosen = chosen or next(ports)  # only now: what was just ended may have held it
        sizes = log_sizes(plan.home)
        server = _await_started(plan, _spawn(plan, chosen, environment))
        if server is not None:
            _remember(plan, chosen)
            return server
        failure = _diagnosed(plan, sizes)
        if failure.code == "port_taken":
            chosen = 0  # another program was quicker
        elif failure.code != "still_running":
            break
    raise failure


def _diagnosed(plan: Plan, sizes: Mapping[Path, int]) -> ServerFailure:
    """Return why a start failed; the log's own process may write the reason after the server ended."""
    patience = time.monotonic() + _LAST_WORDS
    while True:
        failure = diagnose(log_since(plan.home, sizes), plan.home)
        if failure.code != ServerFailure.default_code or time.monotonic() > patience:
            return failure
        time.sleep(_PAUSE)


def over_the_dead(home: Home, account: Account) -> dict[str, str]:
    """End what a dead postmaster left, and return the environment that starts over its lock file.

    PostgreSQL takes a lock file for stale when it names its grandparent. So a process id that is
    a zombie's, or another program's by now, stops nothing, while the file stays in place and its
    shared-memory check goes on protecting the data. (The idea is Patroni's, pull request 681.)
    """
    left = process.reap(home, account)
    if left:
        raise ServerFailure(
            f"Processes of an earlier server still use {home.data} and would not end: "
            f"{', '.join(map(str, left))}. End them, then try again.",
            code="still_running",
            details={"pids": left},
        )
    file = read_pid_file(home)
    if file is not None:
        return {"PG_GRANDPARENT_PID": str(file.pid)}
    # A file cut short, on a full disk say, names no process, and PostgreSQL refuses it for ever.
    home.pid_file.unlink(missing_ok=True)
    return {}


def _await_running(plan: Plan) -> Server | None:
    """Return the running server once it is up; None when none runs, or none any more."""
    while True:
        status, server = look(plan.home)
        if status is Status.UP:
            return server
        file = read_pid_file(plan.home)
        if file is None or not process.is_postmaster(file.pid, plan.home, plan.account):
            return None
        if _lost_its_socket(file):
            return Server(
                host=HOST, port=file.port, socket_dir=None, home=plan.home.path, pid=file.pid
            )
        _pause(plan, file.pid)


def _lost_its_socket(file: PidFile) -> bool:
    """Say whether a live server is up but its socket was deleted, by a cleaner of /tmp say."""
    if file.socket_dir is None or (file.socket_dir / f".s.PGSQL.{file.port}").exists():
        return False
    return status_of((HOST, file.port)) is Status.UP


def _await_started(plan: Plan, pid: int) -> Server | None:
    """Return the server just started once it is up; None when it ended instead."""
    while True:
        status, server = look(plan.home)
        if status is Status.UP and server is not None and server.pid == pid:
            return server
        if process.has_ended(pid):
            return None
        _pause(plan, pid)


def _pause(plan: Plan, pid: int) -> None:
    if time.monotonic() >= plan.deadline:
        raise ServerFailure(
            f"PostgreSQL (process {pid}) is still starting; after a crash it first replays its "
            "log. Nothing is lost: try again in a moment.",
            code="still_starting",
            details={"pid": pid, "path": str(plan.home.path)},
        )
    time.sleep(_PAUSE)


def _spawn(plan: Plan, chosen: int, environment: Mapping[str, str]) -> int:
    home = plan.home
    folder = sockets.prepare(home, plan.account)
    if home.server_log.exists() and home.server_log.stat().st_size > _LONGEST_LOG:
        home.server_log.unlink()
    # On the command line, because it depends on where the home folder lies today.
    settings = {
        "port": str(chosen),
        "unix_socket_directories": '"{}"'.format(str(folder).replace('"', '""')),
        **plan.options,
    }
    arguments = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    return command.detach(
        [plan.binaries.bin / "postgres", "-D", home.data, *arguments],
        home,
        plan.account,
        environment=environment,
    )


def _remember(plan: Plan, chosen: int) -> None:
    remembered = (chosen, plan.wanted_port)
    if plan.home.remembered_ports() == remembered:
        return
    private.write(plan.home.port_file, f"{chosen}\n{plan.wanted_port}\n", plan.account)
    if chosen != plan.wanted_port:
        _LOG.warning(
            "Port %d is taken by another program, so PostgreSQL listens on port %d; every command and"
            " client follows it.",
            plan.wanted_port,
            chosen,
        )
