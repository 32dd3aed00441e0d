"""A stopwatch at the importers' own functions, which tells where the time of an import goes."""

import inspect
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, Final

from importers import ready, tail
from importers.opencode import database, message, reading

__all__ = ["PARTS", "Stopwatch"]

PARTS: Final = ("read", "parse", "normalise", "redact", "hand over", "append")

# Where the functions are looked up when they are called, and what they do.
_PLACES: Final = (
    (tail, "read", "read"),
    (tail, "decode", "parse"),
    (tail, "_normalised", "normalise"),
    (database, "read_database", "read"),
    (message, "decoded", "parse"),
    (reading.Reading, "add_message", "normalise"),
    (ready, "prepare", "redact"),
)


class Stopwatch:
    """Seconds of CPU in each part, without those in the parts that it calls.

    Other work on the machine does not count, so the split can be compared from run to run.
    """

    def __init__(self) -> None:
        """Begin at zero."""
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self._inner: ContextVar[list[float]] = ContextVar("inner")
        self._lock = threading.Lock()

    def attach(self, *more: tuple[Any, str, str]) -> None:
        """Put the stopwatch at the functions, for the rest of this process.

        ``more`` are others: where they are looked up, their names, and what they do.
        """
        for owner, name, part in (*_PLACES, *more):
            setattr(owner, name, self._timed(getattr(owner, name), part))

    def _timed(self, function: Callable[..., Any], part: str) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(function):

            @wraps(function)
            async def timed_coroutine(*arguments: Any, **options: Any) -> Any:
                with self._running(part):
                    return await function(*arguments, **options)

            return timed_coroutine

        @wraps(function)
        def timed(*arguments: Any, **options: Any) -> Any:
            with self._running(part):
                return function(*arguments, **options)

        return timed

    @contextmanager
    def _running(self, part: str) -> Any:
        inner = [0.0]
        outer = self._inner.get(None)
        token = self._inner.set(inner)
        began = time.thread_time()
        try:
            yield
        finally:
            taken = time.thread_time() - began
            self._inner.reset(token)
            if outer is not None:
                outer[0] += taken
            with self._lock:
                self.seconds[part] += taken - inner[0]
