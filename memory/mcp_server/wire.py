"""The client's end of the pipes: private descriptors, whole lines in, whole lines out.

Standard library alone, because it runs before anything else is loaded.
"""

import json
import os
import threading
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, Final, Self

__all__ = ["MAX_LINE_BYTES", "Wire", "encode"]

MAX_LINE_BYTES: Final = 64 * 1024 * 1024  # content of 16 MiB, escaped to four times its size
EDGE_BYTES: Final = 4096  # what is kept of each end of a line that is too long


def encode(message: Mapping[str, Any]) -> bytes:
    """Return a message as one line of JSON.

    Text stays readable; a lone surrogate, which UTF-8 has not, becomes a JSON escape.
    """
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace") + b"\n"


class Wire:
    """The two pipes of one client. Writing is safe from any thread."""

    def __init__(self, source: BinaryIO, target: int) -> None:
        """Read from an open file, write to a descriptor."""
        self._source = source
        self._target = target
        self._lock = threading.Lock()
        self.on_broken: Callable[[], None] = lambda: None

    @classmethod
    def claim(cls) -> Self:
        """Take standard input and output for the protocol alone.

        Whatever else prints, in this process or a child, reaches standard error; whatever else
        reads finds an empty file.
        """
        source, target = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        return cls(os.fdopen(source, "rb"), target)

    def read(self) -> tuple[bytes, bool]:
        """Return the next line, empty at the end, and whether it was cut.

        Of a line longer than MAX_LINE_BYTES only both ends are kept.
        """
        line = self._source.readline(MAX_LINE_BYTES)
        if len(line) < MAX_LINE_BYTES or line.endswith(b"\n"):
            return line, False
        head, tail = line[:EDGE_BYTES], line[-EDGE_BYTES:]
        while line and not line.endswith(b"\n"):
            line = self._source.readline(MAX_LINE_BYTES)
            tail = (tail + line[-EDGE_BYTES:])[-EDGE_BYTES:]
        return head + tail, True

    def send(self, message: Mapping[str, Any]) -> None:
        """Write one message; calls ``on_broken`` when the client no longer reads."""
        line = memoryview(encode(message))
        try:
            with self._lock:
                while line:
                    line = line[os.write(self._target, line) :]
        except OSError:
            self.on_broken()
