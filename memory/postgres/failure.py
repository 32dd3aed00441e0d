"""What went wrong, told from PostgreSQL's own words and the system's."""

import errno
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from memory.errors import ServerFailure
from memory.postgres.home import Home

__all__ = ["diagnose", "from_system", "log_since", "log_sizes"]

_LINES: Final = 20
_LONGEST: Final = 1_000_000  # bytes read of one log
_FULL: Final = 16 * 1024 * 1024  # bytes: the server needs room for one more WAL file
_DISK_FULL: Final = (
    "The disk that holds {path} is full, so PostgreSQL cannot start. Nothing is lost: free some "
    "space (200 MB are enough to start), or set MEMORY_HOME to a folder on another disk."
)
_NOT_WRITABLE: Final = (
    "PostgreSQL's folder {path} cannot be written. Give it to the account that runs the server, "
    "or set MEMORY_HOME to a folder that this account may write."
)
_UNKNOWN: Final = (
    "The embedded PostgreSQL in {path} did not start; the last lines of its log say why."
)
# What the log says: code, what to do. The most telling first.
_SIGNS: Final[Mapping[str, tuple[str, str]]] = {
    "No space left on device": ("disk_full", _DISK_FULL),
    "Disk quota exceeded": ("disk_full", _DISK_FULL),
    "Read-only file system": ("not_writable", _NOT_WRITABLE),
    "could not create any TCP/IP sockets": (
        "port_taken",
        "No port could be opened on 127.0.0.1. Set MEMORY_PG_PORT to a free one.",
    ),
    "pre-existing shared memory block": (
        "still_running",
        "Processes of an earlier server still use {path}/data. End them, then try again.",
    ),
    "could not create any Unix-domain sockets": (
        "socket_failed",
        "PostgreSQL could not make its socket. Set MEMORY_HOME to a shorter path on a local disk.",
    ),
    "incompatible with server": (
        "wrong_version",
        "The data in {path}/data are of another PostgreSQL. Set MEMORY_PG_BIN to its bin folder.",
    ),
    "has invalid permissions": (
        "not_writable",
        "The folder {path}/data must have mode 0700. Set it: chmod 700 {path}/data",
    ),
    "has wrong ownership": (
        "not_writable",
        "{path}/data belongs to another account than {path}. Give it to that account.",
    ),
    "Permission denied": ("not_writable", _NOT_WRITABLE),
    "error while loading shared libraries": (
        "no_binaries",
        "PostgreSQL lacks a library of this system, named in the log. Install it, or set DATABASE_URL.",
    ),
    "could not look up effective user ID": (
        "no_account",
        "This user id has no account (no line in /etc/passwd). Make one, or set DATABASE_URL.",
    ),
}


def log_sizes(home: Home) -> dict[Path, int]:
    """Return how long each log file of the server is now, in bytes."""
    return {path: path.stat().st_size for path in _logs(home)}


def log_since(home: Home, sizes: Mapping[Path, int]) -> str:
    """Return what the logs say since then, so that an old complaint is not read again."""
    parts: list[bytes] = []
    for path in _logs(home):
        with path.open("rb") as file:
            start = sizes.get(path, 0)
            file.seek(start if start <= path.stat().st_size else 0)
            parts.append(file.read(_LONGEST))
    return b"".join(parts).decode("utf-8", "replace")


def diagnose(said: str, home: Home) -> ServerFailure:
    """Return the failure that a program's output stands for, its last lines in the details."""
    details = {"log": said.splitlines()[-_LINES:], "path": str(home.path)}
    for sign, (code, sentence) in _SIGNS.items():
        if sign in said:
            return ServerFailure(sentence.format(path=home.path), code=code, details=details)
    # A full disk may not even take the line that says so.
    if shutil.disk_usage(home.path).free < _FULL:
        return ServerFailure(_DISK_FULL.format(path=home.path), code="disk_full", details=details)
    return ServerFailure(_UNKNOWN.format(path=home.path), details=details)


def from_system(error: OSError, home: Home) -> ServerFailure:
    """Return the failure that an error of the operating system stands for."""
    path = error.filename2 or error.filename or home.path
    details = {"reason": str(error), "path": str(path)}
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return ServerFailure(_DISK_FULL.format(path=home.path), code="disk_full", details=details)
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return ServerFailure(_NOT_WRITABLE.format(path=path), code="not_writable", details=details)
    return ServerFailure(
        f"The system refused what the embedded PostgreSQL needs: {error}.", details=details
    )


def _logs(home: Home) -> list[Path]:
    """Return the log files, oldest first: the server's own log goes on where server.log ends."""
    files = [home.server_log, *(home.data / "log").glob("*.log")]
    return sorted((file for file in files if file.exists()), key=lambda file: file.stat().st_mtime)
