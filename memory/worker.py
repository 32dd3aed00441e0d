"""A process of our own that does work of the processor on a second core.

It is asked one question at a time and answers before it is asked again. It keeps nothing: whenever
it is killed, what it was asked can be asked anew. It ends when the process that asks ends, however
that comes about, since each end of the line is held by one process alone.
"""

import gc
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from threading import Lock
from typing import Any, Final

from memory import log
from memory.errors import LedgerError

__all__ = ["Worker", "WorkerDied", "cores", "main"]

_GARBAGE: Final = 100_000
"""Objects that are made between two searches for cycles, of which an answer has none."""


class WorkerDied(LedgerError):
    """A process that works on a second core died; what it was to do is done again."""

    default_code = "worker_died"


@dataclass(slots=True)
class Worker:
    """A process that answers with a module's ``answer``, and this end of the line to it.

    Threads take turns.
    """

    module: str
    _line: Connection = field(init=False)
    _process: "subprocess.Popen[bytes]" = field(init=False)
    _turn: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        """Start the process; it is not waited for."""
        self._line, other = Pipe()
        number = other.fileno()
        command = [sys.executable, "-P", "-m", __name__, str(number), self.module]
        with other:  # the process alone keeps its end, so that its death is an end of file here
            self._process = subprocess.Popen(command, pass_fds=[number], stdin=subprocess.DEVNULL)  # noqa: S603 - our own program
        with suppress(OSError):  # of a process that is dead already, which the first question tells
            self._line.send((sys.path, logging.getLogger().getEffectiveLevel()))

    def ask(self, question: Any) -> Any:
        """Send a question and wait for the answer. Raises WorkerDied."""
        with self._turn:
            try:
                self._line.send(question)
                return self._line.recv()
            except (EOFError, OSError) as error:
                raise WorkerDied(
                    "A process that works on a second core died; the work is done again."
                ) from error

    def close(self) -> None:
        """Let it end, and wait for that."""
        self._line.close()
        self._process.wait()


def main(arguments: Sequence[str]) -> None:
    """Answer what is asked until the line ends, as it does when the other process dies."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the other process is told to stop as well
    line = Connection(int(arguments[0]))
    with suppress(EOFError, OSError):
        sys.path[:], level = line.recv()
        log.configure(level)
        answer = import_module(arguments[1]).answer
        gc.freeze()
        gc.set_threshold(_GARBAGE)
        while True:
            line.send(answer(line.recv()))


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


if __name__ == "__main__":
    main(sys.argv[1:])
