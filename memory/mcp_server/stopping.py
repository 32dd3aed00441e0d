"""When to stop: the client closed the pipe, somebody asked, or the parent process is gone.

Standard library alone.
"""

import os
import signal
import threading
import time
from types import FrameType
from typing import Final, NoReturn

__all__ = ["Stopped", "disarm", "stop", "watch"]

PARENT_SECONDS: Final = 1.0

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Stopped(BaseException):
    """The main thread is to leave off; no Exception, so that nothing on the way catches it."""


def watch() -> None:
    """Raise Stopped in the main thread on a signal, and when the parent process dies.

    A client that is killed cannot close the pipe when another process holds its end as well.
    """
    for number in _SIGNALS:
        signal.signal(number, _raise)
    threading.Thread(target=_watch_parent, args=(os.getppid(),), daemon=True).start()


def stop() -> None:
    """Raise Stopped in the main thread; safe from any thread."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)


def disarm() -> None:
    """From now on a signal ends the process at once."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_DFL)


def _raise(_number: int, _frame: FrameType | None) -> NoReturn:
    raise Stopped


def _watch_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_SECONDS)
    stop()
