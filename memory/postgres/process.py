"""Which processes belong to a data folder: the postmaster, and what it left behind."""

import os
import signal
import time
from pathlib import Path
from typing import Final

import psutil  # type: ignore[import-untyped]  # it ships no types

__all__ = ["has_ended", "is_postmaster", "reap"]

_NAME: Final = "postgres"
_ENDED: Final = frozenset({psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD})
_GENTLE_SECONDS: Final = 3.0
_REAP_SECONDS: Final = 5.0
_PAUSE: Final = 0.1


def has_ended(pid: int) -> bool:
    """Say whether a process is gone, or a zombie that its parent never reaps."""
    try:
        return psutil.Process(pid).status() in _ENDED
    except psutil.NoSuchProcess:
        return True


def is_postmaster(pid: int, data: Path) -> bool:
    """Say whether a process id stands for a live server of this data folder.

    False for an id that is gone, a zombie's, or has been given to another program since.
    """
    try:
        return _uses(psutil.Process(pid), data)
    except psutil.NoSuchProcess:
        return False


def reap(data: Path) -> bool:
    """End the server processes that outlived a killed postmaster; True when none is left.

    They run on while a long query lasts and hold the shared memory, so no server can start. They
    are asked to quit at once, as the postmaster would have told them, and killed after 3 s.
    """
    begun = time.monotonic()
    while time.monotonic() - begun < _REAP_SECONDS:
        orphans = [one for one in psutil.process_iter() if _uses_or_gone(one, data)]
        if not orphans:
            return True
        gentle = time.monotonic() - begun < _GENTLE_SECONDS
        for orphan in orphans:
            try:
                orphan.send_signal(signal.SIGQUIT if gentle else signal.SIGKILL)
            except psutil.NoSuchProcess:
                continue
        time.sleep(_PAUSE)
    return False


def _uses(process: psutil.Process, data: Path) -> bool:
    """Say whether a process is PostgreSQL's and works in this folder, as all of a server's do."""
    if process.status() in _ENDED or _NAME not in process.name():
        return False
    if process.uids().real != data.stat().st_uid:
        return False
    try:
        return os.path.samefile(process.cwd(), data)
    except (psutil.AccessDenied, FileNotFoundError):
        return True  # it hides its folder: never start a second server beside it


def _uses_or_gone(process: psutil.Process, data: Path) -> bool:
    try:
        return _uses(process, data)
    except psutil.NoSuchProcess:
        return False
