"""Whether the embedded server is up, told in a millisecond without a driver."""

import os
import socket
import struct
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final
from urllib.parse import quote

from memory.postgres.home import APPLICATION, DATABASE, Home

__all__ = ["HOST", "PidFile", "Server", "Status", "look", "read_pid_file", "status_of"]

HOST: Final = "127.0.0.1"

_PROBE_TIMEOUT: Final = 2.0
_PROTOCOL_3: Final = 196608
_CANNOT_CONNECT_NOW: Final = b"C57P03\0"


class Status(Enum):
    """What the server answers."""

    UP = "up"
    BUSY = "busy"  # starting, recovering or shutting down
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Server:
    """A running embedded server."""

    host: str
    port: int
    socket_dir: Path | None
    home: Path
    pid: int

    def url(
        self,
        *,
        role: str,
        password: str,
        database: str = DATABASE,
        driver: str = "postgresql+asyncpg",
    ) -> str:
        """Return the address of one of its databases for one role."""
        return (
            f"{driver}://{quote(role, safe='')}:{quote(password, safe='')}"
            f"@{self.host}:{self.port}/{quote(database, safe='')}"
        )


@dataclass(frozen=True, slots=True)
class PidFile:
    """What postmaster.pid says; its lines are described in PostgreSQL's miscadmin.h."""

    pid: int
    port: int
    socket_dir: Path | None


def read_pid_file(home: Home) -> PidFile | None:
    """Read postmaster.pid; None when there is none or it is still being written."""
    try:
        lines = home.pid_file.read_text("utf-8", "surrogateescape").split("\n")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        raise home.refused(error) from error
    try:
        pid, port = int(lines[0]), int(lines[3])
    except (IndexError, ValueError):
        return None
    folder = lines[4] if len(lines) > 4 else ""
    return PidFile(pid=abs(pid), port=port, socket_dir=Path(folder) if folder else None)


def status_of(address: str | tuple[str, int]) -> Status:
    """Ask a server for its state by a start-up packet, without a password.

    ``address`` is the path of a Unix socket, or host and port. An authentication request means
    up, SQLSTATE 57P03 means not yet or no more, and any other error (too many connections) is
    the answer of a server that is up.
    """
    body = b"".join(
        part + b"\0"
        for part in (b"user", APPLICATION.encode(), b"database", DATABASE.encode(), b"")
    )
    packet = struct.pack("!II", len(body) + 8, _PROTOCOL_3) + body
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as connection:
            connection.settimeout(_PROBE_TIMEOUT)
            connection.connect(address)
            connection.sendall(packet)
            answer = connection.recv(4096)
    except OSError:
        return Status.DOWN
    if answer[:1] == b"R":
        return Status.UP
    if answer[:1] == b"E":
        return Status.BUSY if _CANNOT_CONNECT_NOW in answer else Status.UP
    return Status.DOWN


def look(home: Home) -> tuple[Status, Server | None]:
    """Say whether the server is up, and where; takes no lock and waits for nobody."""
    file = read_pid_file(home)
    if file is None or file.socket_dir is None:
        return Status.DOWN, None
    status = status_of(os.fspath(file.socket_dir / f".s.PGSQL.{file.port}"))
    if status is Status.DOWN:
        return status, None
    server = Server(
        host=HOST, port=file.port, socket_dir=file.socket_dir, home=home.path, pid=file.pid
    )
    return status, server
