"""Starting the server and setting it up, under the lock."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from memory import log
from memory.errors import ServerFailure
from memory.postgres import account, binaries, cluster, lock, port, postmaster, private, shutdown
from memory.postgres.account import Account
from memory.postgres.failure import from_system
from memory.postgres.home import APPLICATION, OWNER, Home
from memory.postgres.server import Server, Status, look
from memory.settings import Settings

__all__ = ["locked", "start", "start_locked"]

_LOG: Final = log.get(__name__)


def start(settings: Settings, *, timeout: float, options: Mapping[str, str]) -> Server:
    """Start the server and set it up, unless another process has done so; see ``ensure``."""
    deadline = time.monotonic() + timeout
    home = Home.of(settings)
    port.check(home, settings)
    with locked(home, deadline=deadline) as runner:
        return start_locked(settings, home, runner, options=options, deadline=deadline)


@contextmanager
def locked(home: Home, *, deadline: float) -> Iterator[Account]:
    """Make the folder, hold its lock and give the account to work as.

    Raises ServerFailure, also for what the system refuses meanwhile.
    """
    try:
        runner = account.for_home(home.path)
        private.prepare(home, runner)
        with lock.held(home, runner, deadline=deadline):
            yield runner
    except OSError as error:
        raise from_system(error, home) from error


def start_locked(
    settings: Settings,
    home: Home,
    runner: Account,
    *,
    options: Mapping[str, str],
    deadline: float,
) -> Server:
    """Do what is missing, step by step, so that a start that was killed anywhere is mended."""
    status, running = look(home)
    if status is Status.UP and running is not None and home.is_complete():
        return running
    _end_stop(settings, home)
    _clear(home)
    major = cluster.major_version(home)
    programs = binaries.find(home, runner, chosen=settings.pg_bin, major=major)
    plan = postmaster.Plan(
        home=home,
        account=runner,
        binaries=programs,
        wanted_port=settings.port,
        port_is_pinned=settings.port_is_pinned,
        options=options,
        deadline=deadline,
    )
    if major is None:
        sync = options.get("fsync") != "off"
        cluster.create(home, runner, programs, deadline=deadline, sync=sync)
    elif not home.password_file(OWNER).exists():
        _replace_owner_password(plan)
    cluster.make_password(home, runner, APPLICATION)
    server = postmaster.bring_up(plan)
    if not home.mark.exists() or home.mark.read_text("utf-8") != programs.name:
        _set_up(home, server)
        private.write(home.mark, programs.name, runner)
    return server


def _end_stop(settings: Settings, home: Home) -> None:
    """Forget that somebody stopped the server; what runs in the background has no right to."""
    if settings.leaves_stopped and home.was_stopped():
        raise ServerFailure(
            "The embedded PostgreSQL was stopped by `memory pg stop`; `memory pg start` starts it.",
            code="server_stopped",
        )
    home.stopped.unlink(missing_ok=True)


def _clear(home: Home) -> None:
    """Remove half-written files, and the mark of a set-up that is no longer whole.

    The mark goes first, so that what follows is done again if it is cut short.
    """
    if not home.is_complete():
        home.mark.unlink(missing_ok=True)
    for leftover in home.path.glob("*.tmp"):
        leftover.unlink()


def _set_up(home: Home, server: Server) -> None:
    from memory.postgres.roles import set_up  # noqa: PLC0415 - a driver, for the first start only

    set_up(home, server)


def _replace_owner_password(plan: postmaster.Plan) -> None:
    _LOG.warning("The owner's password file was missing; the owner gets a new password.")
    shutdown.end(plan.home, plan.account, deadline=plan.deadline)
    cluster.replace_owner_password(
        plan.home,
        plan.account,
        plan.binaries,
        environment=postmaster.over_the_dead(plan.home, plan.account),
        deadline=plan.deadline,
    )
