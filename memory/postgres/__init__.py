"""The embedded PostgreSQL: our own launcher over a package's folder of binaries.

Importing this package, and calling ``ensure`` while the server runs, costs the standard library
alone; what starts a server is imported when one must be started.
"""

import os
from collections.abc import Mapping
from typing import Final

from memory.errors import ServerFailure
from memory.postgres.home import APPLICATION, DATABASE, OWNER, Home
from memory.postgres.server import Server, Status, look
from memory.postgres.url import application_url, is_embedded, owner_url
from memory.settings import Settings

__all__ = [
    "APPLICATION",
    "DATABASE",
    "OWNER",
    "Server",
    "application_url",
    "ensure",
    "ensure_database",
    "is_embedded",
    "owner_url",
    "state",
    "stop",
    "was_stopped",
]

_NO_OPTIONS: Final[Mapping[str, str]] = {}


def state(settings: Settings) -> Server | None:
    """Return the server if it is up and set up; takes a millisecond and no lock.

    Raises ServerFailure when the folder belongs to another account.
    """
    home = Home.of(settings)
    if not home.is_complete():
        return None
    status, server = look(home)
    return server if status is Status.UP else None


def ensure(
    settings: Settings, *, timeout: float = 60.0, options: Mapping[str, str] = _NO_OPTIONS
) -> Server:
    """Return the running server, starting and setting it up when it is not.

    Safe to call from any number of processes at once. ``timeout`` is in seconds. ``options`` are
    server settings that hold if this call starts the server; only tests pass them. Raises
    ServerFailure, whose ``code`` and message say what to do and whose details hold the log's end;
    the code is server_stopped when these settings leave a server alone that somebody stopped.
    """
    running = state(settings)
    if running is not None:
        return running
    _check_platform()
    from memory.postgres import launch  # noqa: PLC0415 - see the package's docstring

    return launch.start(settings, timeout=timeout, options=options)


def stop(settings: Settings, *, timeout: float = 30.0, is_lasting: bool = False) -> bool:
    """Stop the server in an orderly way; False when it was not running.

    ``timeout`` is in seconds. ``is_lasting`` is for a person's own wish: what runs in the
    background starts the server no more until somebody has. Raises ServerFailure when it is still
    running then.
    """
    _check_platform()
    from memory.postgres import shutdown  # noqa: PLC0415 - see the package's docstring

    return shutdown.shut_down(settings, timeout=timeout, is_lasting=is_lasting)


def was_stopped(settings: Settings) -> bool:
    """Say whether the server is down because somebody stopped it on purpose.

    Raises ServerFailure when the folder belongs to another account.
    """
    return Home.of(settings).was_stopped()


def ensure_database(settings: Settings, name: str) -> None:
    """Create another database of the owner's, with vector, which the application may use.

    Starts the server when it is down; does nothing when the database exists and is complete.
    Raises InvalidInput for a name that PostgreSQL keeps for itself or cannot take.
    """
    _check_platform()
    from memory.postgres import databases  # noqa: PLC0415 - see the package's docstring

    databases.add(settings, name)


def _check_platform() -> None:
    if os.name != "posix":
        raise ServerFailure(
            "The embedded PostgreSQL runs on Linux and macOS. Here, set DATABASE_URL to a "
            "PostgreSQL 16 or newer with pgvector.",
            code="unsupported_platform",
        )
