"""The TCP port: the one that was named, or else the remembered, the default or a free one."""

import socket
import time
from collections.abc import Iterator
from typing import Final

from memory.errors import ServerFailure
from memory.postgres.home import Home
from memory.postgres.server import HOST, read_pid_file
from memory.settings import Settings

__all__ = ["candidates", "check"]

_NEIGHBOURS: Final = 100
_HIGHEST: Final = 65535
_LOOKS: Final = 10
_BETWEEN_LOOKS: Final = 0.05  # seconds


def check(home: Home, settings: Settings) -> None:
    """Raise ServerFailure (``port_taken``) when another program has the port that was named.

    For before anything is made: a port that a server of this home may have is nobody else's here.
    """
    if settings.port_is_pinned and _stays_taken(settings.port, home):
        raise _taken(settings.port)


def candidates(home: Home, wanted: int, *, pinned: bool) -> Iterator[int]:
    """Yield ports that are free when they are asked for, the best first, without end.

    A ``pinned`` one is the only one: the user has named it, and may have written it down for
    programs that never ask us. Raises ServerFailure (``port_taken``) when it is not free.

    The last one comes first, so that addresses people have written down stay right; but not when
    another port was wanted then, because the wish has changed since. The neighbours of the wanted
    one come before any other, because the system gives those to passing connections too.
    """
    while pinned:
        if _stays_taken(wanted):
            raise _taken(wanted)
        yield wanted
    remembered = home.remembered_ports()
    first = [remembered[0]] if remembered and remembered[1] == wanted else []
    near = range(wanted, min(wanted + _NEIGHBOURS, _HIGHEST) + 1)
    yield from (port for port in dict.fromkeys((*first, *near)) if _is_free(port))
    while True:
        yield _free_port()


def _taken(port: int) -> ServerFailure:
    return ServerFailure(
        f"Port {port}, which MEMORY_PG_PORT names, is taken by another program: end that program, "
        "set MEMORY_PG_PORT to a free port, or unset it to have one found.",
        code="port_taken",
        details={"port": port},
    )


def _stays_taken(port: int, home: Home | None = None) -> bool:
    """Tell whether a port is taken at every one of several looks, and by no server of this home.

    One look is not enough: another start that looks at the same moment holds the port while it
    does (not on Linux, see ``_is_free``), and a server that is starting has the port a moment
    before its pid file names it.
    """
    for look in range(_LOOKS):
        if look:
            time.sleep(_BETWEEN_LOOKS)
        if _is_free(port) or (home is not None and read_pid_file(home) is not None):
            return False
    return True


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As PostgreSQL does: the last server's connections that linger are no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            # Bound and no more: on Linux two that listen exclude each other, two that look do not.
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
