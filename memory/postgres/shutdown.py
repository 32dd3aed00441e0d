"""Stopping the server in an orderly way."""

import os
import signal
import time
from typing import Final

from memory import log
from memory.errors import ServerFailure
from memory.postgres import account, lock, private, process
from memory.postgres.failure import from_system
from memory.postgres.home import Home
from memory.postgres.server import read_pid_file
from memory.settings import Settings

__all__ = ["end", "shut_down"]

_LOG: Final = log.get(__name__)
_PAUSE: Final = 0.05


def shut_down(settings: Settings, *, timeout: float, is_lasting: bool = False) -> bool:
    """Stop the server under the lock, so that no start meets it half-way; see ``stop``.

    The mark of a lasting stop comes first: what loses its connection looks for it.
    """
    deadline = time.monotonic() + timeout
    home = Home.of(settings)
    try:
        if not home.was_used():
            return False
        runner = account.for_home(home.path)
        with lock.held(home, runner, deadline=deadline):
            if is_lasting:
                _mark(home, runner)
            return end(home, runner, deadline=deadline)
    except OSError as error:
        raise from_system(error, home) from error


def _mark(home: Home, runner: account.Account) -> None:
    """Say that the server is to stay down; a full disk is no reason not to stop it."""
    try:
        private.write(home.stopped, "", runner)
    except OSError as error:
        _LOG.warning("What runs in the background may start the server again (%s)", error)


def end(home: Home, runner: account.Account, *, deadline: float) -> bool:
    """Ask the postmaster for a fast shutdown and wait for its end; the caller holds the lock.

    False when none runs. Connections are closed, open transactions rolled back, and everything
    acknowledged is on disk. Raises ServerFailure with the code still_stopping.
    """
    file = read_pid_file(home)
    if file is None or not process.is_postmaster(file.pid, home, runner):
        return False
    os.kill(file.pid, signal.SIGINT)
    while not process.has_ended(file.pid):
        if time.monotonic() >= deadline:
            raise ServerFailure(
                f"PostgreSQL (process {file.pid}) is still shutting down; it may be writing its "
                "last checkpoint. Look again in a moment.",
                code="still_stopping",
                details={"pid": file.pid, "path": str(home.path)},
            )
        time.sleep(_PAUSE)
    return True
