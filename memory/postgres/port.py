"""The TCP port: the remembered one, the wanted one, or a free one."""

import socket
from collections.abc import Iterator
from typing import Final

from memory.postgres.home import Home
from memory.postgres.server import HOST

__all__ = ["candidates"]

_NEIGHBOURS: Final = 100
_HIGHEST: Final = 65535


def candidates(home: Home, wanted: int) -> Iterator[int]:
    """Yield ports that are free when they are asked for, the best first, without end.

    The last one comes first, so that addresses people have written down stay right; but not when
    another port was wanted then, because the wish has changed since. The neighbours of the wanted
    one come before any other, because the system gives those to passing connections too.
    """
    remembered = home.remembered_ports()
    first = [remembered[0]] if remembered and remembered[1] == wanted else []
    near = range(wanted, min(wanted + _NEIGHBOURS, _HIGHEST) + 1)
    yield from (port for port in dict.fromkeys((*first, *near)) if _is_free(port))
    while True:
        yield _free_port()


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As PostgreSQL does: the last server's connections that linger are no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
            probe.listen(1)
        except OSError:
            return False
    return True


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
