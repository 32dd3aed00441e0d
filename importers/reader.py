"""A process of its own that reads ahead: what is large is read and redacted on a second core.

It is asked for one batch at a time and answers before it is asked again, so that the order stays
that of the pass and no more than one batch is on the line. It stores nothing: whenever it is
killed, what it read is read again. Small passes start none.
"""

import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from importers.base import Importer, Source
from importers.ready import Read, Unread, read
from memory import garbage, log
from memory.errors import LedgerError
from memory.worker import Worker, WorkerDied, cores, line_of

__all__ = ["PROGRAM", "SMALL_BYTES", "START_BYTES", "Reader", "ReaderDied", "main"]

_log = log.get(__name__)

START_BYTES: Final = 8 * 1024 * 1024
"""What a pass reads by itself before it starts a reader, which takes half a second of work.

It reads as much again by itself while the reader gets ready.
"""

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
    _starting: "_Child | None" = None
    _child: "_Child | None" = None
    _is_possible: bool = field(default_factory=lambda: cores() > 1)

    def read(
        self, importer: Importer, source: Source, stored: Mapping[str, Any] | None
    ) -> Read | Unread | None:
        """Read a batch after a checkpoint; None when there is nothing that is to be stored.

        Raises ReaderDied; another process reads the next one then.
        """
        child = None if self._is_for_here(source) else self._ready()
        if child is not None:
            found = self._ask(child, importer, source, stored)
        else:
            found = read(
                importer, source, stored, machine=self.machine, is_elsewhere=self.is_elsewhere
            )
        if isinstance(found, Read):
            self._size += found.size
        return found

    def _is_for_here(self, source: Source) -> bool:
        """Tell whether this process is to read a source."""
        return self._size < START_BYTES or not self._is_possible or _is_small(source.path)

    def _ready(self) -> "_Child | None":
        """Return the process that reads ahead; it is started some time before it is asked."""
        if self._child is None and self._starting is None:
            try:
                self._starting = _Child(machine=self.machine, is_elsewhere=self.is_elsewhere)
            except OSError:
                self._give_up()
                return None
        if self._child is None and self._starting is not None and self._size >= 2 * START_BYTES:
            starting, self._starting = self._starting, None
            if not starting.begin():
                starting.close()
                self._give_up()
                return None
            self._child = starting
        return self._child

    def _give_up(self) -> None:
        self._is_possible = False
        _log.warning("no process that reads ahead can be started; this pass goes on without one")

    def _ask(
        self, child: "_Child", importer: Importer, source: Source, stored: Mapping[str, Any] | None
    ) -> Read | Unread | None:
        try:
            return child.read(importer, source, stored)
        except WorkerDied as error:
            self.close()
            raise ReaderDied from error

    def close(self) -> None:
        """End the process, if there is one."""
        for child in (self._starting, self._child):
            if child is not None:
                child.close()
        self._starting = self._child = None


@dataclass(slots=True, kw_only=True)
class _Child:
    """The process, and this end of the line to it."""

    machine: str
    is_elsewhere: bool
    worker: Worker = field(default_factory=lambda: Worker(PROGRAM))
    _known: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Tell it what it has to know; it answers when it can be asked."""
        with suppress(WorkerDied):  # it answers nothing then, which tells
            self.worker.tell((self.machine, self.is_elsewhere))

    def begin(self) -> bool:
        """Wait until it can be asked; return whether it can."""
        try:
            self.worker.take()
        except WorkerDied:
            return False
        return True

    def read(
        self, importer: Importer, source: Source, stored: Mapping[str, Any] | None
    ) -> Read | Unread | None:
        """Ask for a batch. Raises WorkerDied."""
        name = importer.provider
        known = None if name in self._known else importer
        answer: Read | Unread | None = self.worker.ask((name, known, source, stored))
        self._known.add(name)
        return answer

    def close(self) -> None:
        """Let it end, and wait for that."""
        self.worker.close()


def main(number: str) -> None:
    """Read what is asked for until the line ends, as it does when the other process dies."""
    with suppress(EOFError, OSError):
        line = line_of(number)
        garbage.rarely()
        machine, is_elsewhere = line.recv()
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


if __name__ == "__main__":
    main(*sys.argv[1:])
