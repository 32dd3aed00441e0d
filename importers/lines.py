"""Lines of a growing file, as bytes, in bounded memory.

A line ends at a line feed and nowhere else: U+2028 and a lone carriage return stand inside
strings. What follows the last line feed is still being written, and is left alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final, Protocol

__all__ = ["MARK_BYTES", "MAX_LINE_BYTES", "Line", "Plain", "Text", "lines"]

MAX_LINE_BYTES: Final = 128 * 1024 * 1024
"""A longer line is not kept in memory; it is reported as unreadable and the next one is read."""

MARK_BYTES: Final = 4096
"""Bytes at the beginning of a file, and as many before a place, by which both are known again."""

_CHUNK: Final = 1 << 20


class Text(Protocol):
    """What lines are read from."""

    def around(self, offset: int) -> tuple[bytes, bytes]:
        """Go to ``offset`` and return the first and the last MARK_BYTES before it."""

    def read(self, size: int) -> bytes:
        """Return up to ``size`` bytes, none at the end."""

    def close(self) -> None:
        """Close what the text is read from."""


class Plain:
    """An open file, as text to read lines from."""

    def __init__(self, file: BinaryIO) -> None:
        """Read from this file."""
        self._file = file

    def around(self, offset: int) -> tuple[bytes, bytes]:
        """Go to ``offset`` and return the first and the last MARK_BYTES before it."""
        length = min(MARK_BYTES, offset)
        self._file.seek(0)
        head = self._file.read(length)
        self._file.seek(offset - length)
        return head, self._file.read(length)

    def read(self, size: int) -> bytes:
        """Return up to ``size`` bytes, none at the end."""
        return self._file.read(size)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its end; ``raw`` is None when it is longer than MAX_LINE_BYTES.

    ``offset`` is where it begins, ``end`` where the next one does.
    """

    offset: int
    end: int
    raw: bytes | None


def lines(text: Text, *, offset: int, size: int | None, final: bool = False) -> Iterator[Line]:
    """Yield the complete lines from ``offset``, where ``text`` stands, up to ``size``.

    ``size`` is the length of the text when it is known; so a file that grows all the time comes
    to an end. ``final`` says that the text no longer grows: its last line needs no line feed.
    """
    pieces: list[bytes] = []
    held = 0  # bytes of the line that began at offset
    place = offset
    while chunk := text.read(_CHUNK if size is None else min(_CHUNK, size - place)):
        place += len(chunk)
        start = 0
        while (stop := chunk.find(b"\n", start)) >= 0:
            held += stop - start
            raw = _joined(pieces, chunk[start:stop], held)
            yield Line(offset, offset + held + 1, raw)
            offset += held + 1
            pieces, held, start = [], 0, stop + 1
        held += len(chunk) - start
        if held <= MAX_LINE_BYTES:
            pieces.append(chunk[start:])
        else:
            pieces.clear()
    if final and held:
        yield Line(offset, offset + held, _joined(pieces, b"", held))


def _joined(pieces: list[bytes], last: bytes, length: int) -> bytes | None:
    if length > MAX_LINE_BYTES:
        return None
    return b"".join([*pieces, last]) if pieces else last
