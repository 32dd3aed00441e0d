"""The account the server runs as: this one, or a service account when this one is root."""

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from memory import log
from memory.errors import ServerFailure
from memory.settings import SERVICE_ACCOUNT

__all__ = ["Account", "for_home"]

_LOG: Final = log.get(__name__)
_NOBODY: Final = "nobody"
_CREATE_TIMEOUT: Final = 30.0
_CREATORS: Final = (
    "useradd --system --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin",
    "adduser -S -D -H -h /nonexistent -s /sbin/nologin",  # BusyBox
)


@dataclass(frozen=True, slots=True)
class Account:
    """An operating-system account; ``drop`` says that children must change to it."""

    name: str
    uid: int
    gid: int
    drop: bool


def for_home(path: Path) -> Account:
    """Return the account for the server of this folder.

    PostgreSQL refuses to run as root, so root uses the account that owns the folder, or the one
    it is to be made in, else the service account, which is created when it is missing. Raises
    ServerFailure when there is none.
    """
    uid = os.geteuid()
    if uid != 0:
        return Account(name=str(uid), uid=uid, gid=os.getegid(), drop=False)
    owner = _owner(path)
    if owner == 0:
        return _of(_owner(path.parent)) or _named(SERVICE_ACCOUNT) or _create() or _nobody()
    account = _of(owner)
    if account is None:
        raise ServerFailure(
            f"{path} belongs to the user id {owner}, which has no account, and PostgreSQL needs "
            "one. Create the account, or set MEMORY_HOME to another folder.",
            code="no_account",
        )
    return account


def _owner(path: Path) -> int:
    """Return whose a folder is, or 0 when it is root's to make."""
    try:
        return path.stat().st_uid
    except (FileNotFoundError, NotADirectoryError):
        return 0


def _of(uid: int) -> Account | None:
    if uid == 0:
        return None
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        return None
    return Account(name=entry.pw_name, uid=uid, gid=entry.pw_gid, drop=True)


def _named(name: str) -> Account | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    if entry.pw_uid == 0:
        return None
    return Account(name=name, uid=entry.pw_uid, gid=entry.pw_gid, drop=True)


def _create() -> Account | None:
    """Create the service account with what the system has for that; None when that fails."""
    for line in _CREATORS:
        command = (*line.split(), SERVICE_ACCOUNT)
        program = shutil.which(command[0], path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
        if program is None:
            continue
        done = subprocess.run(  # noqa: S603 - a fixed command line
            (program, *command[1:]),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_CREATE_TIMEOUT,
            check=False,
        )
        account = _named(SERVICE_ACCOUNT)  # another process may have won: look, whatever it said
        if account is not None:
            return account
        _LOG.warning("%s failed: %s", command[0], done.stderr.strip()[-300:])
    return None


def _nobody() -> Account:
    account = _named(_NOBODY)
    if account is None:
        raise ServerFailure(
            f"PostgreSQL cannot run as root, and the account {SERVICE_ACCOUNT} could not be "
            f"created. Create it (useradd --system {SERVICE_ACCOUNT}), or set DATABASE_URL to a "
            "PostgreSQL 16 or newer with pgvector.",
            code="no_account",
        )
    _LOG.warning(
        "The account %s could not be created; PostgreSQL runs as nobody, which other programs "
        "share. Create the account and give it the folder.",
        SERVICE_ACCOUNT,
    )
    return account
