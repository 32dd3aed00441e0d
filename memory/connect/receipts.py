"""What was changed, and what stood there before: backups, and one receipt for each changed file."""

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from memory.connect.files import Content, Unwritable

__all__ = ["Receipt", "Receipts", "digest"]

_FOLDER_MODE: Final = 0o700  # a client's file may hold keys, and so do its backups
_FILE_MODE: Final = 0o600


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What one file held when this program left it, and what it had held before.

    ``backup`` is the file's first content, empty when there was no file; ``is_whole`` says that
    nobody else changed the file in between, so that the first content can be given back.
    ``folders`` were made for the file.
    """

    after: str
    backup: str
    is_whole: bool
    folders: tuple[str, ...] = ()


class Receipts:
    """The folder of receipts and backups of this account."""

    def __init__(self, folder: Path) -> None:
        """Keep them in a folder, which is made when the first is written."""
        self._folder = folder

    @classmethod
    def of(cls, environment: Mapping[str, str], home: Path) -> "Receipts":
        """Return the account's own, in XDG_STATE_HOME."""
        state = environment.get("XDG_STATE_HOME", "")
        return cls(
            (Path(state) if state else home / ".local" / "state") / "shared-memory" / "connect"
        )

    def find(self, path: Path) -> Receipt | None:
        """Return the receipt for a file, None when there is none, or none that can be read."""
        try:
            found = json.loads(self._place(path).read_text("utf-8"))
            return Receipt(**{**found, "folders": tuple(found["folders"])})
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def keep(self, path: Path, receipt: Receipt) -> None:
        """Write the receipt for a file. Raises Unwritable."""
        self._write(self._place(path), json.dumps(asdict(receipt)).encode())

    def forget(self, path: Path) -> None:
        """Remove the receipt for a file."""
        with contextlib.suppress(OSError):
            self._place(path).unlink()

    def back_up(self, content: Content) -> Path | None:
        """Keep a copy of a file under the day and time; None when there is no file."""
        if content.data is None:
            return None
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H%M%S.%fZ")
        place = self._folder / "backups" / f"{at}-{content.path.name.lstrip('.')}"
        self._write(place, content.data)
        return place

    def original(self, receipt: Receipt) -> bytes | None:
        """Return the first content of a receipt's file, None when there was no file.

        Raises Unwritable when the backup is gone.
        """
        if not receipt.backup:
            return None
        try:
            return Path(receipt.backup).read_bytes()
        except OSError as error:
            raise Unwritable(f"The backup {receipt.backup} is gone.") from error

    def _place(self, path: Path) -> Path:
        return (
            self._folder / "receipts" / f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:32]}.json"
        )

    def _write(self, place: Path, data: bytes) -> None:
        try:
            place.parent.mkdir(parents=True, exist_ok=True, mode=_FOLDER_MODE)
            self._folder.chmod(_FOLDER_MODE)
            descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _FILE_MODE)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
        except OSError as error:
            message = (
                f"No backup can be kept in {place.parent} ({error.strerror}); nothing was changed."
            )
            raise Unwritable(message) from error


def digest(data: bytes | None) -> str:
    """Return what tells one content of a file from another."""
    return hashlib.sha256(data).hexdigest() if data is not None else ""
