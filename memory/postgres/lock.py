"""The lock that everything takes that starts, stops or sets up the server."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from memory.errors import ServerFailure
from memory.postgres.account import Account
from memory.postgres.home import Home

__all__ = ["held"]

_PAUSE: Final = 0.03


@contextmanager
def held(home: Home, account: Account, *, deadline: float) -> Iterator[None]:
    """Hold the lock, waiting for it until a deadline of ``time.monotonic``.

    The kernel drops it when its holder dies, however it dies. Raises ServerFailure with the code
    still_starting when another process holds it to the end.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(home.lock, flags, 0o600)
    try:
        if account.drop:
            os.fchown(descriptor, account.uid, account.gid)
        while not _try(descriptor):
            if time.monotonic() >= deadline:
                raise ServerFailure(
                    "Another process is starting or stopping the embedded PostgreSQL in "
                    f"{home.path} and has not finished in time. Try again in a moment.",
                    code="still_starting",
                )
            time.sleep(_PAUSE)
        try:
            yield
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # also for a copy that a forked child has
    finally:
        os.close(descriptor)


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
