"""A stopwatch at the importers' own functions, which tells where the time of an import goes."""

import inspect
import threading
import time
from collections.abc import Callable
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
        self._inner: ContextVar[list[float] | None] = ContextVar("inner")
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
                started = self._start()
                try:
                    return await function(*arguments, **options)
                finally:
                    self._stop(part, *started)

            return timed_coroutine

        @wraps(function)
        def timed(*arguments: Any, **options: Any) -> Any:
            started = self._start()
            try:
                return function(*arguments, **options)
            finally:
                self._stop(part, *started)

        return timed

    # Two functions: as a context manager the stopwatch would take as long as what it measures.
    def _start(self) -> tuple[list[float] | None, list[float], float]:
        outer = self._inner.get(None)
        inner = [0.0]
        self._inner.set(inner)
        return outer, inner, time.thread_time()

    def _stop(self, part: str, outer: list[float] | None, inner: list[float], began: float) -> None:
        taken = time.thread_time() - began
        self._inner.set(outer)
        if outer is not None:
            outer[0] += taken
        with self._lock:
            self.seconds[part] += taken - inner[0]
