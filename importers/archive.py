"""Compressed files of lines, read on from any place without unpacking them anew each time."""

import sys
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, Final

from importers.lines import MARK_BYTES
from importers.regular import opened

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdError, ZstdFile
else:
    from backports.zstd import ZstdError, ZstdFile

__all__ = ["OPEN_ARCHIVES", "Archive", "Damaged", "open_archive"]

OPEN_ARCHIVES: Final = 16
"""Compressed files that stay open between batches; each holds a window of a few MB."""

_CHUNK: Final = 1 << 20


class Damaged(Exception):
    """A compressed file ends early, or holds what is no zstd."""


class Archive:
    """One compressed file, open at a known place of its text.

    A batch ends between two lines and zstd cannot seek: without this, each batch of a large file
    would unpack everything before it once more.
    """

    def __init__(self, path: str) -> None:
        """Remember the path; the file is opened when it is first read."""
        self._path = path
        self._file: ZstdFile | None = None
        self._packed: BinaryIO | None = None
        self.close()

    def __del__(self) -> None:
        """Close the file when this archive is no longer among the open ones."""
        self.close()

    def close(self) -> None:
        """Close the file; reading on opens it again."""
        if self._file is not None:
            self._file.close()
        if self._packed is not None:
            self._packed.close()  # a ZstdFile closes only what it opened itself
        self._file = self._packed = None
        self._place = self._chunk_at = 0
        self._chunk = self._head = self._before = b""

    def around(self, offset: int) -> tuple[bytes, bytes]:
        """Go to ``offset`` and return the first and the last MARK_BYTES before it.

        Going back beyond the chunk read last starts over. Raises OSError, and Damaged when the
        text ends before that place.
        """
        if offset < self._chunk_at:
            self.close()
        while offset > self._chunk_at + len(self._chunk):
            self._next()
            if not self._chunk:
                raise Damaged(f"the compressed text ends at {self._chunk_at}")
        self._place = offset
        tail = self._before + self._chunk[: offset - self._chunk_at]
        return self._head[:offset], tail[-MARK_BYTES:]

    def read(self, size: int) -> bytes:
        """Return up to ``size`` bytes from the present place; none at the end.

        Raises OSError and Damaged.
        """
        if self._place == self._chunk_at + len(self._chunk):
            self._next()
        start = self._place - self._chunk_at
        data = self._chunk[start : start + size]
        self._place += len(data)
        return data

    def _next(self) -> None:
        if self._file is None:
            self._packed = opened(Path(self._path))
            self._file = ZstdFile(self._packed)
        try:
            data = self._file.read(_CHUNK)
        except (ZstdError, EOFError) as error:
            raise Damaged(str(error)) from error
        self._chunk_at += len(self._chunk)
        self._before = (self._before + self._chunk)[-MARK_BYTES:]
        self._head += data[: MARK_BYTES - len(self._head)]
        self._chunk = data


@lru_cache(maxsize=OPEN_ARCHIVES)
def open_archive(path: str, *identity: int) -> Archive:  # noqa: ARG001 - a changed file is another
    """Return the archive at this path that was opened for this identity (inode, size, time)."""
    return Archive(path)
