"""Opening a client's file without waiting for ever: a pipe or a device in its place is none."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, Final

__all__ = ["NO_FILE", "opened"]

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
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "this is a folder", str(path))
    raise OSError(errno.EINVAL, "this is no regular file", str(path))
