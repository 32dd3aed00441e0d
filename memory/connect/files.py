"""A client's file: read as it is, written whole or not at all, never over somebody else's change."""

import codecs
import contextlib
import os
import re
import stat
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from memory.errors import LedgerError

__all__ = ["Changed", "Content", "Unwritable", "clear", "read", "remove", "write"]

NEW_MODE: Final = 0o600  # as Claude Code 2.1.332 and Codex 0.171.0 make theirs
LARGEST: Final = 64 * 1024 * 1024  # bytes; no settings file has as many
_COPY: Final = "shared-memory"  # in the names of our temporary copies, before the process id
_OLDEST_COPY: Final = 3600  # seconds; writing one takes a fraction of one


class Unwritable(LedgerError):
    """A client's file cannot be changed."""

    default_code = "config_unwritable"


class Changed(Exception):
    """Somebody else has written the file meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a file holds, None when it is not there.

    ``path`` is the file itself, where a symlink leads. ``text`` has LF for newlines and no byte
    order mark; `encoded` gives both back.
    """

    path: Path
    data: bytes | None

    @property
    def text(self) -> str:
        """The text to be edited; empty for a file that is not there. Raises Unwritable."""
        try:
            text = (self.data or b"").removeprefix(codecs.BOM_UTF8).decode("utf-8")
        except UnicodeDecodeError as error:
            raise Unwritable(
                f"{self.path} is not UTF-8 at byte {error.start}, so it is left alone; mend it,"
                " then run this again.",
                code="config_unreadable",
            ) from None
        return text.replace("\r\n", "\n") if self._has_crlf else text

    def encoded(self, text: str) -> bytes:
        """Return a text as this file would hold it."""
        mark = codecs.BOM_UTF8 if (self.data or b"").startswith(codecs.BOM_UTF8) else b""
        return mark + (text.replace("\n", "\r\n") if self._has_crlf else text).encode("utf-8")

    @property
    def _has_crlf(self) -> bool:
        """Whether every line ends with CRLF; where only some do, all are left as they are."""
        data = self.data or b""
        return 0 < data.count(b"\n") == data.count(b"\r\n")


def read(path: Path) -> Content:
    """Return what a file holds; a symlink is followed. Raises Unwritable."""
    try:
        real = path.resolve()
        if real.exists() and not real.is_file():
            raise Unwritable(f"{path} is no file; take it away, then run this again.")
        if real.exists() and real.stat().st_size > LARGEST:
            raise Unwritable(f"{path} has more than {LARGEST >> 20} MiB, so it is left alone.")
        return Content(path=real, data=real.read_bytes())
    except FileNotFoundError:
        return Content(path=real, data=None)
    except (OSError, RuntimeError) as error:  # a loop of symlinks is a RuntimeError in Python 3.11
        raise Unwritable(f"{path} cannot be read: {_reason(error)}.") from error


def write(content: Content, data: bytes) -> list[Path]:
    """Put other bytes in the place of a file and return the folders that were made for it.

    The file is replaced in one step, by one of the same owner and mode. Raises Changed when it no
    longer holds what was read, and Unwritable.
    """
    path = content.path
    _check_writable(content)
    made = [folder for folder in (path.parent, *path.parent.parents) if not folder.exists()]
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Only this account may read it: that is how mkstemp makes it.
        prefix = f"{_copies_of(path)}{os.getpid()}-"
        descriptor, temporary = tempfile.mkstemp(prefix=prefix, dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            _like(file.fileno(), path)
            file.flush()
            os.fsync(file.fileno())
        _replace(temporary, content)
    except OSError as error:
        raise Unwritable(
            f"{path} cannot be written: {_reason(error)}; nothing was changed."
        ) from error
    finally:
        if temporary:
            with contextlib.suppress(OSError):  # it has the file's name by now, or never had any
                os.unlink(temporary)  # noqa: PTH108 - mkstemp gives a str
    return made


def clear(path: Path) -> None:
    """Remove the copies of a file that writers who were killed have left beside it.

    What cannot be removed stays: it is nobody's hindrance.
    """
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(path.parent)):
            found = re.fullmatch(rf"{re.escape(_copies_of(path))}(\d+)-\w+", entry.name)
            if found and entry.is_file(follow_symlinks=False) and _is_left(entry, int(found[1])):
                with contextlib.suppress(OSError):
                    Path(entry.path).unlink()


def remove(content: Content) -> None:
    """Remove a file. Raises Changed when it no longer holds what was read, and Unwritable."""
    _check_writable(content)
    if read(content.path).data != content.data:
        raise Changed
    try:
        content.path.unlink(missing_ok=True)
    except OSError as error:
        message = f"{content.path} cannot be removed: {_reason(error)}; nothing was changed."
        raise Unwritable(message) from error


def _copies_of(path: Path) -> str:
    """Return what the names of a file's temporary copies begin with."""
    return f".{path.name}.{_COPY}-"


def _is_left(copy: os.DirEntry[str], writer: int) -> bool:
    """Return whether nobody is writing a copy any more."""
    if time.time() - copy.stat(follow_symlinks=False).st_mtime > _OLDEST_COPY:
        return True
    try:
        os.kill(writer, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:  # another account's
        return False
    return False


def _check_writable(content: Content) -> None:
    """Refuse a file that its owner has made read-only, although replacing it would be allowed."""
    if content.data is None:
        return
    mode = content.path.stat().st_mode
    if not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(
        content.path, os.W_OK
    ):
        raise Unwritable(
            f"{content.path} is read-only, so nothing was changed; make it writable"
            " (chmod u+w), or put in by hand what --print shows.",
            code="config_read_only",
        )


def _like(descriptor: int, path: Path) -> None:
    """Give a new file the owner and the mode of the one that it replaces."""
    try:
        found = path.stat()
    except FileNotFoundError:
        os.fchmod(descriptor, NEW_MODE)
        return
    own = os.fstat(descriptor)
    if (own.st_uid, own.st_gid) != (found.st_uid, found.st_gid):
        os.fchown(descriptor, found.st_uid, found.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(found.st_mode))


def _replace(temporary: str, content: Content) -> None:
    if read(content.path).data != content.data:
        raise Changed
    os.replace(temporary, content.path)  # noqa: PTH105 - mkstemp gives a str


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()
