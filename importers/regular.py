"""Opening a client's file without waiting for ever: a pipe or a device in its place is none."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, Final

__all__ = ["NO_FILE", "opened", "status_of"]

NO_FILE: Final = frozenset(
    {
        errno.EACCES,
        errno.EINVAL,
        errno.EISDIR,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.ENOTDIR,
        errno.ENXIO,
        errno.EPERM,
    }
)
"""The numbers of errors that concern one path alone, and not the disk or this process."""


def opened(path: Path) -> BinaryIO:
    """Open a file for reading as bytes.

    Raises OSError, with EINVAL or EISDIR for what is no regular file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _check(path, os.fstat(descriptor))
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def status_of(path: Path) -> os.stat_result:
    """Return what the system says of a file, without opening what lies in its place.

    Raises FileNotFoundError when nothing is there, and OSError with EINVAL or EISDIR for what is
    no regular file: a link to nothing did not just go, and is worth a word.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        if path.is_symlink():
            raise OSError(errno.EINVAL, "this is a link to nothing", str(path)) from None
        raise
    _check(path, status)
    return status


def _check(path: Path, status: os.stat_result) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "this is a folder", str(path))
    raise OSError(errno.EINVAL, "this is no regular file", str(path))
