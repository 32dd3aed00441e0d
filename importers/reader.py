"""A process of its own that reads ahead: what is large is read and redacted on a second core.

It is asked for one batch at a time and answers before it is asked again, so that the order stays
that of the pass and no more than one batch is under way. It stores nothing: whenever it is killed,
what it read is read again. Small passes start none.
"""

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from importers import garbage
from importers.base import Importer, Source
from importers.ready import Read, Unread, read
from memory import log
from memory.errors import LedgerError

__all__ = ["PROGRAM", "SMALL_BYTES", "START_BYTES", "Reader", "ReaderDied", "main"]

_log = log.get(__name__)

START_BYTES: Final = 16 * 1024 * 1024
"""What a pass reads by itself before it starts a reader, which takes half a second of work."""

SMALL_BYTES: Final = 128 * 1024
"""A file below this is read sooner than it is handed over."""

PROGRAM: tuple[str, ...] = ("-P", "-m", "importers.reader")


class ReaderDied(LedgerError):
    """The process that reads ahead died over this source; the next pass reads it again."""

    default_code = "reader_died"


@dataclass(slots=True, kw_only=True)
class Reader:
    """Reads sources for one pass, in this process first, and in one of its own when it is much.

    To be closed after the pass. Not for two threads at once.
    """

    machine: str
    is_elsewhere: bool = False
    _size: int = 0
    _child: "_Child | None" = None
    _is_possible: bool = field(default_factory=lambda: _cores() > 1)

    def read(
        self, importer: Importer, source: Source, stored: Mapping[str, Any] | None
    ) -> Read | Unread | None:
        """Read a batch after a checkpoint; None when there is nothing that is to be stored.

        Raises ReaderDied; another process reads the next one then.
        """
        is_here = self._size < START_BYTES or not self._is_possible or _is_small(source.path)
        if not is_here and self._child is None:
            self._start()
        if is_here or self._child is None:
            found = read(
                importer, source, stored, machine=self.machine, is_elsewhere=self.is_elsewhere
            )
        else:
            found = self._ask(self._child, importer, source, stored)
        if isinstance(found, Read):
            self._size += found.size
        return found

    def _start(self) -> None:
        child = _Child(machine=self.machine, is_elsewhere=self.is_elsewhere)
        if child.begin():
            self._child = child
            return
        child.close()
        self._is_possible = False
        _log.warning("no process that reads ahead can be started; this pass goes on without one")

    def _ask(
        self, child: "_Child", importer: Importer, source: Source, stored: Mapping[str, Any] | None
    ) -> Read | Unread | None:
        try:
            return child.read(importer, source, stored)
        except (EOFError, OSError) as error:
            self.close()
            raise ReaderDied from error

    def close(self) -> None:
        """End the process, if there is one."""
        if self._child is not None:
            self._child.close()
        self._child = None


@dataclass(slots=True, kw_only=True)
class _Child:
    """The process, and this end of the line to it."""

    machine: str
    is_elsewhere: bool
    _line: Connection = field(init=False)
    _process: "subprocess.Popen[bytes]" = field(init=False)
    _known: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._line, other = Pipe()
        number = other.fileno()
        command = [sys.executable, *PROGRAM, str(number)]
        with other:  # the process alone keeps its end, so that its death is an end of file here
            self._process = subprocess.Popen(command, pass_fds=[number], stdin=subprocess.DEVNULL)  # noqa: S603 - our own program

    def begin(self) -> bool:
        """Wait until it can be asked; return whether it can."""
        level = logging.getLogger().getEffectiveLevel()
        try:
            self._line.send((sys.path, level, self.machine, self.is_elsewhere))
            self._line.recv()
        except (EOFError, OSError):
            return False
        return True

    def read(
        self, importer: Importer, source: Source, stored: Mapping[str, Any] | None
    ) -> Read | Unread | None:
        """Ask for a batch. Raises EOFError or OSError when the process died."""
        name = importer.provider
        self._line.send((name, None if name in self._known else importer, source, stored))
        self._known.add(name)
        answer: Read | Unread | None = self._line.recv()
        return answer

    def close(self) -> None:
        """Let it end, and wait for that."""
        self._line.close()
        self._process.wait()


def main(arguments: Sequence[str]) -> None:
    """Read what is asked for until the line ends, as it does when the other process dies."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the other process is told to stop as well
    line = Connection(int(arguments[0]))
    with suppress(EOFError, OSError):
        sys.path[:], level, machine, is_elsewhere = line.recv()
        log.configure(level)
        garbage.rarely()
        line.send(True)
        importers: dict[str, Importer] = {}
        while True:
            name, importer, source, stored = line.recv()
            if importer is not None:
                importers[name] = importer
            options = {"machine": machine, "is_elsewhere": is_elsewhere}
            line.send(read(importers[name], source, stored, **options))


def _is_small(path: Path) -> bool:
    try:
        return path.stat().st_size < SMALL_BYTES
    except OSError:
        return True  # reading it says what is wrong


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


if __name__ == "__main__":
    main(sys.argv[1:])
