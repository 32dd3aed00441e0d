"""A process of our own that does work of the processor on a second core.

It is asked one question at a time and answers before it is asked again. It keeps nothing: whenever
it is killed, what it was asked can be asked anew. It ends when the process that asks ends, however
that comes about, since each end of the line is held by one process alone.
"""

import logging
import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from threading import Lock
from typing import Any, Final

from memory import garbage, log
from memory.errors import LedgerError

__all__ = ["Line", "Worker", "WorkerDied", "answering", "cores", "line_of", "main"]

_SIZE: Final = struct.Struct("!Q")


class WorkerDied(LedgerError):
    """A process that works on a second core died; what it was to do is done again."""

    default_code = "worker_died"


class Line:
    """One end of a line over which Python values go, to and from programs of ours alone.

    A value is taken in one call of the system: each call would wait anew for the interpreter, which
    another thread keeps busy.
    """

    def __init__(self, end: socket.socket) -> None:
        """Talk over this end of a pair of sockets."""
        self._end = end

    def send(self, value: Any) -> None:
        """Send a value. Raises OSError when the other end is gone."""
        packed = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        self._end.sendall(_SIZE.pack(len(packed)))
        self._end.sendall(packed)

    def recv(self) -> Any:
        """Wait for a value. Raises EOFError when the other end is closed, and OSError."""
        (size,) = _SIZE.unpack(self._take(_SIZE.size))
        return pickle.loads(self._take(size))  # noqa: S301 - from a process of ours, over a line that no other has

    def close(self) -> None:
        """Close this end, upon which the other one ends, and whoever waits here."""
        with suppress(OSError):
            self._end.shutdown(socket.SHUT_RDWR)
        self._end.close()

    def _take(self, size: int) -> bytearray:
        taken = bytearray(size)
        with memoryview(taken) as view:
            place = 0
            while place < size:
                count = self._end.recv_into(view[place:], size - place, socket.MSG_WAITALL)
                if not count:
                    raise EOFError
                place += count
        return taken


@dataclass(slots=True)
class Worker:
    """A process that runs a program of ours, and this end of the line to it. Threads take turns.

    ``program`` are the interpreter's arguments; the number of the line's other end comes last, for
    `line_of`.
    """

    program: tuple[str, ...]
    _line: Line = field(init=False)
    _process: "subprocess.Popen[bytes]" = field(init=False)
    _turn: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        """Start the process; it is not waited for. Raises OSError where that is not possible."""
        own, other = socket.socketpair()
        self._line = Line(own)
        number = other.fileno()
        command = [sys.executable, *self.program, str(number)]
        with other:  # the process alone keeps its end, so that its death is an end of file here
            try:
                self._process = subprocess.Popen(  # noqa: S603 - our own program
                    command, pass_fds=[number], stdin=subprocess.DEVNULL
                )
            except OSError:
                self._line.close()
                raise
        with suppress(OSError):  # of a process that is dead already, which the first question tells
            self._line.send((sys.path, logging.getLogger().getEffectiveLevel()))

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def ask(self, question: Any) -> Any:
        """Send a question and wait for the answer. Raises WorkerDied."""
        with self._turn, _telling_death():
            self._line.send(question)
            return self._line.recv()

    def tell(self, question: Any) -> None:
        """Send a question, whose answer the same thread takes before anything else is asked.

        Raises WorkerDied.
        """
        with self._turn, _telling_death():
            self._line.send(question)

    def take(self) -> Any:
        """Wait for the answer to what was told. Raises WorkerDied."""
        with self._turn, _telling_death():
            return self._line.recv()

    def close(self) -> None:
        """End it, whatever it is doing: nothing that it keeps would be lost."""
        self._line.close()
        self._process.kill()
        self._process.wait()


@contextmanager
def _telling_death() -> Iterator[None]:
    try:
        yield
    except (EOFError, OSError) as error:
        raise WorkerDied(
            "A process that works on a second core died; the work is done again."
        ) from error


def answering(module: str) -> tuple[str, ...]:
    """Return the program that answers with what ``answer`` of a module returns."""
    return ("-P", "-m", __name__, module)


def line_of(number: str) -> Line:
    """Return a new process's end of the line. Raises EOFError when the other is closed already."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)  # the other process is told to stop as well
    line = Line(socket.socket(fileno=int(number)))
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
