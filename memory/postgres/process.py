"""Which processes belong to a data folder: the postmaster, and what it left behind."""

import signal
import sys
import time
from pathlib import Path
from typing import Final

import psutil  # type: ignore[import-untyped]  # it ships no types

from memory.postgres import command
from memory.postgres.account import Account
from memory.postgres.home import Home

__all__ = ["has_ended", "is_postmaster", "reap"]

_NAME: Final = "postgres"
_ENDED: Final = frozenset({psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD})
_GENTLE_SECONDS: Final = 3.0
_REAP_SECONDS: Final = 5.0
_PAUSE: Final = 0.1
_READ_TIMEOUT: Final = 10.0
_LINUX: Final = sys.platform == "linux"


def has_ended(pid: int) -> bool:
    """Say whether a process is gone, or a zombie that its parent never reaps."""
    try:
        return psutil.Process(pid).status() in _ENDED
    except psutil.NoSuchProcess:
        return True
    except psutil.AccessDenied:
        return False


def is_postmaster(pid: int, home: Home, account: Account) -> bool:
    """Say whether a process id stands for a live server of this home.

    False for an id that is gone, a zombie's, or has been given to another program since. A
    PostgreSQL process of the same account that hides its folder counts as the server, because a
    second one must never start beside it.
    """
    try:
        return _uses(psutil.Process(pid), home, account) is not False
    except psutil.NoSuchProcess:
        return False


def reap(home: Home, account: Account) -> list[int]:
    """End the server processes that outlived a killed postmaster; return those that would not.

    They run on while a long query lasts and hold the shared memory, so that no server can start.
    They are told to quit at once, as the postmaster would have told them, and killed after 3 s.
    """
    begun = time.monotonic()
    while True:
        orphans = [one for one in psutil.process_iter() if _surely_uses(one, home, account)]
        waited = time.monotonic() - begun
        if not orphans or waited > _REAP_SECONDS:
            return [orphan.pid for orphan in orphans]
        for orphan in orphans:
            try:
                orphan.send_signal(signal.SIGQUIT if waited < _GENTLE_SECONDS else signal.SIGKILL)
            except psutil.NoSuchProcess:
                continue
        time.sleep(_PAUSE)


def _uses(process: psutil.Process, home: Home, account: Account) -> bool | None:
    """Say whether a process is PostgreSQL's and works in this home; None when it hides that.

    All processes of a server work in its data folder.
    """
    try:
        if process.status() in _ENDED or _NAME not in process.name():
            return False
        if process.uids().real != account.uid:
            return False
    except psutil.AccessDenied:  # some systems hide all of another account's processes
        return False
    folder = _folder(process, home, account)
    if folder is None:
        return None
    try:
        return Path(folder).samefile(home.data)
    except FileNotFoundError:  # a deleted folder, hence not this one
        return False


def _surely_uses(process: psutil.Process, home: Home, account: Account) -> bool:
    try:
        return _uses(process, home, account) is True
    except psutil.Error:
        return False


def _folder(process: psutil.Process, home: Home, account: Account) -> str | None:
    try:
        return str(process.cwd())
    except psutil.AccessDenied:
        if not (account.drop and _LINUX):
            return None
    # Root without CAP_SYS_PTRACE, as in a container, may not see it; the account itself may.
    link = f"/proc/{process.pid}/cwd"
    code, said = command.run(["readlink", link], home, account, timeout=_READ_TIMEOUT)
    return said.rstrip("\n") if code == 0 else None
