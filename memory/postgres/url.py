"""Addresses of the embedded server's databases."""

from typing import Final
from urllib.parse import urlsplit

from memory.errors import ServerFailure
from memory.postgres.home import APPLICATION, DATABASE, OWNER, Home
from memory.postgres.server import HOST, Server, read_pid_file
from memory.settings import Settings

__all__ = ["application_url", "is_embedded", "owner_url"]

_LOCAL_HOSTS: Final = frozenset({HOST, "localhost"})


def application_url(settings: Settings, *, database: str = DATABASE) -> str:
    """Return the address for the application's role, which owns nothing.

    The server need not run; raises ServerFailure when it was never started here.
    """
    return _url(settings, role=APPLICATION, database=database)


def owner_url(settings: Settings, *, database: str = DATABASE) -> str:
    """Return the address for the cluster's superuser: migrations only.

    The server need not run; raises ServerFailure when it was never started here.
    """
    return _url(settings, role=OWNER, database=database)


def is_embedded(settings: Settings, url: str) -> bool:
    """Say whether a URL names the embedded server, running or remembered."""
    port = _port(Home.of(settings))
    try:
        parts = urlsplit(url)
        named = parts.port
    except ValueError:
        return False
    return port is not None and named == port and (parts.hostname or "") in _LOCAL_HOSTS


def _port(home: Home) -> int | None:
    file = read_pid_file(home)
    if file is not None:
        return file.port
    remembered = home.remembered_ports()
    return remembered[0] if remembered else None


def _url(settings: Settings, *, role: str, database: str) -> str:
    home = Home.of(settings)
    password = home.password(role)
    port = _port(home)
    if port is None:
        raise ServerFailure(
            f"The embedded PostgreSQL in {home.path} has no port yet. "
            "Start it with `memory pg start`.",
            code="never_started",
        )
    server = Server(host=HOST, port=port, socket_dir=None, home=home.path, pid=0)
    return server.url(role=role, password=password, database=database)
