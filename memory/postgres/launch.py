"""Starting and stopping, safe against every other process that does the same."""

import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from memory import log
from memory.errors import ServerFailure
from memory.postgres import account, binaries, cluster, command, port, private, process, roles
from memory.postgres import lock, sockets
from memory.postgres.account import Account
from memory.postgres.binaries import Binaries
from memory.postgres.failure import diagnose, from_system, log_since, log_sizes
from memory.postgres.home import Home
from memory.postgres.server import Server, Status, look, read_pid_file
from memory.settings import Settings

__all__ = ["add_database", "start", "stop"]

_LOG: Final = log.get(__name__)
_ATTEMPTS: Final = 8
_PAUSE: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """One start: who runs what where, and until when."""

    home: Home
    account: Account
    binaries: Binaries
    wanted_port: int
    options: Mapping[str, str]
    deadline: float


def start(settings: Settings, *, timeout: float, options: Mapping[str, str]) -> Server:
    """Start the server and set it up, unless another process has done so; see ``ensure``."""
    home = Home.of(settings)
    deadline = time.monotonic() + timeout
    try:
        runner = account.for_home(home.path)
        private.prepare(home, runner)
        with lock.held(home, runner, deadline=deadline):
            return _start(settings, home, runner, options=options, deadline=deadline)
    except OSError as error:
        raise from_system(error, home) from error


def stop(settings: Settings, *, timeout: float) -> bool:
    """Stop the server by a fast shutdown; see ``memory.postgres.stop``."""
    home = Home.of(settings)
    deadline = time.monotonic() + timeout
    if not home.path.exists():
        return False
    runner = account.for_home(home.path)
    with lock.held(home, runner, deadline=deadline):
        file = read_pid_file(home)
        if file is None or not process.is_postmaster(file.pid, home.data):
            return False
        os.kill(file.pid, signal.SIGINT)
        while not process.has_ended(file.pid):
            if time.monotonic() >= deadline:
                raise ServerFailure(
                    f"PostgreSQL (process {file.pid}) is still shutting down; it may be writing "
                    "its last checkpoint. Look again in a moment.",
                    code="still_stopping",
                    details={"pid": file.pid},
                )
            time.sleep(_PAUSE)
    return True


def add_database(settings: Settings, name: str, *, timeout: float = 60.0) -> None:
    """Create another database; see ``ensure_database``."""
    roles.check_name(name)
    server = start(settings, timeout=timeout, options={})
    home = Home.of(settings)
    with lock.held(home, account.for_home(home.path), deadline=time.monotonic() + timeout):
        roles.add_database(home, server, name)


def _start(
    settings: Settings,
    home: Home,
    runner: Account,
    *,
    options: Mapping[str, str],
    deadline: float,
) -> Server:
    status, server = look(home)
    if status is Status.UP and server is not None and home.is_complete():
        return server
    programs = binaries.find(
        home, runner, chosen=settings.pg_bin, major=cluster.major_version(home)
    )
    if cluster.major_version(home) is None:
        sync = options.get("fsync") != "off"
        cluster.create(home, runner, programs, deadline=deadline, sync=sync)
    plan = _Start(
        home=home,
        account=runner,
        binaries=programs,
        wanted_port=settings.port,
        options=options,
        deadline=deadline,
    )
    server = _bring_up(plan)
    if not home.mark.exists() or home.mark.read_text("utf-8") != programs.name:
        roles.set_up(home, server)
        private.write(home.mark, programs.name, runner)
    return server


def _bring_up(plan: _Start) -> Server:
    """Wait for a server that is coming up, else start one, as often as the port is lost."""
    said = ""
    ports = port.candidates(plan.home, plan.wanted_port)
    for _ in range(_ATTEMPTS):
        server = _await_running(plan)
        if server is not None:
            return server
        chosen = next(ports)
        sizes = log_sizes(plan.home)
        pid = _spawn(plan, chosen)
        server = _await(plan, pid)
        if server is not None:
            _remember(plan, chosen)
            return server
        said = log_since(plan.home, sizes)
        failure = diagnose(said, plan.home)
        if failure.code == "still_running":
            process.reap(plan.home.data)
        elif failure.code != "port_taken":
            raise failure
    raise diagnose(said, plan.home)


def _await_running(plan: _Start) -> Server | None:
    """Return the running server once it is up; None when none runs (any more)."""
    while True:
        status, server = look(plan.home)
        if status is Status.UP and server is not None:
            return server
        file = read_pid_file(plan.home)
        if file is None or not process.is_postmaster(file.pid, plan.home.data):
            return None
        _check_deadline(plan, file.pid)
        time.sleep(_PAUSE)


def _await(plan: _Start, pid: int) -> Server | None:
    """Return the server just started once it is up; None when it ended instead."""
    while True:
        status, server = look(plan.home)
        if status is Status.UP and server is not None and server.pid == pid:
            return server
        if process.has_ended(pid):
            return None
        _check_deadline(plan, pid)
        time.sleep(_PAUSE)


def _check_deadline(plan: _Start, pid: int) -> None:
    if time.monotonic() >= plan.deadline:
        raise ServerFailure(
            f"PostgreSQL (process {pid}) is still starting; after a crash it first replays its "
            "log. Nothing is lost: try again in a moment.",
            code="still_starting",
            details={"pid": pid, "path": str(plan.home.path)},
        )


def _spawn(plan: _Start, chosen: int) -> int:
    """Start the postmaster, over whatever a dead one left behind."""
    home = plan.home
    folder = sockets.prepare(home, plan.account)
    process.reap(home.data)
    file = read_pid_file(home)
    # PostgreSQL takes a lock file for stale when it names its grandparent. So a process id that
    # is a zombie's or another program's now does not stop it, while the lock file stays in place
    # and its shared-memory check still protects the data. (The idea is Patroni's.)
    environment = {} if file is None else {"PG_GRANDPARENT_PID": str(file.pid)}
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


def _remember(plan: _Start, chosen: int) -> None:
    remembered = (chosen, plan.wanted_port)
    if plan.home.remembered_ports() == remembered:
        return
    private.write(plan.home.port_file, f"{chosen}\n{plan.wanted_port}\n", plan.account)
    if chosen != plan.wanted_port:
        _LOG.warning(
            "Port %d is taken by another program, so PostgreSQL listens on port %d.",
            plan.wanted_port,
            chosen,
        )
