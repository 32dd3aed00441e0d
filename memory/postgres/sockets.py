"""The folder of the Unix socket, short enough for the system and closed to everybody else."""

import hashlib
import os
import stat
import sys
from pathlib import Path
from typing import Final

from memory.errors import ServerFailure
from memory.postgres import private
from memory.postgres.account import Account
from memory.postgres.home import Home
from memory.settings import SERVICE_ACCOUNT

__all__ = ["prepare"]

# sizeof(sockaddr_un.sun_path) less its terminator.
_LONGEST_PATH: Final = 103 if sys.platform == "darwin" else 107
_LONGEST_NAME: Final = ".s.PGSQL.65535"
# Fixed: TMPDIR may be long, another one in every process, or closed to the service account.
_SHORT_PARENT: Final = Path("/tmp")  # noqa: S108 - the folder in it is checked to be our own


def prepare(home: Home, account: Account) -> Path:
    """Return the empty socket folder for a server that is about to start.

    It lies in the home folder, or in /tmp when that path is too long.
    Sockets and socket locks that a dead server left are removed: a lock whose process id is
    another program's now would stop the next server. Raises ServerFailure when the folder is
    somebody else's.
    """
    folder = home.path / "s"
    if len(os.fsencode(folder / _LONGEST_NAME)) > _LONGEST_PATH:
        digest = hashlib.sha256(os.fsencode(home.path)).hexdigest()[:12]
        folder = _SHORT_PARENT / f"{SERVICE_ACCOUNT}-{account.uid}-{digest}"
    private.make_folder(folder, account)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != account.uid or found.st_mode & 0o077:
        raise ServerFailure(
            f"{folder}, the folder for PostgreSQL's socket, is not this account's own with mode "
            "0700. Remove it, or set MEMORY_HOME to a shorter path.",
            code="not_writable",
            details={"path": str(folder)},
        )
    for leftover in folder.glob(".s.PGSQL.*"):
        leftover.unlink()
    return folder
