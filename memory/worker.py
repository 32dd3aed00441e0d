"""A process of our own that does work of the processor on a second core.

It is asked one question at a time and answers before it is asked again. It keeps nothing: whenever
it is killed, what it was asked can be asked anew. It ends when the process that asks ends, however
that comes about, since each end of the line is held by one process alone.
"""

import logging
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from threading import Lock
from typing import Any

from memory import garbage, log
from memory.errors import LedgerError

__all__ = ["Worker", "WorkerDied", "answering", "cores", "line_of", "main"]


class WorkerDied(LedgerError):
    """A process that works on a second core died; what it was to do is done again."""

    default_code = "worker_died"


@dataclass(slots=True)
class Worker:
    """A process that runs a program of ours, and this end of the line to it. Threads take turns.

    ``program`` are the interpreter's arguments; the number of the line's other end comes last, for
    `line_of`.
    """

    program: tuple[str, ...]
    _line: Connection = field(init=False)
    _process: "subprocess.Popen[bytes]" = field(init=False)
    _turn: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        """Start the process; it is not waited for."""
        self._line, other = Pipe()
        number = other.fileno()
        command = [sys.executable, *self.program, str(number)]
        with other:  # the process alone keeps its end, so that its death is an end of file here
            self._process = subprocess.Popen(command, pass_fds=[number], stdin=subprocess.DEVNULL)  # noqa: S603 - our own program
        with suppress(OSError):  # of a process that is dead already, which the first question tells
            self._line.send((sys.path, logging.getLogger().getEffectiveLevel()))

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

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


def answering(module: str) -> tuple[str, ...]:
    """Return the program that answers with what ``answer`` of a module returns."""
    return ("-P", "-m", __name__, module)


def line_of(number: str) -> Connection:
    """Return a new process's end of the line. Raises EOFError when the other is closed already."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)  # the other process is told to stop as well
    line = Connection(int(number))
    sys.path[:], level = line.recv()
    log.configure(level)
    return line


def main(module: str, number: str) -> None:
    """Answer what is asked until the line ends, as it does when the other process dies."""
    with suppress(EOFError, OSError):
        line = line_of(number)
        answer = import_module(module).answer
        garbage.rarely()
        while True:
            line.send(answer(line.recv()))


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


if __name__ == "__main__":
    main(*sys.argv[1:])
