"""How the last pass over each client's stores ended, where `memory status` finds it.

``MEMORY_HOME/rounds`` holds one small file a client, because the reason is most wanted when the
database cannot be asked. The files say nothing that the ledger needs: they may be removed.
"""

import errno
import json
import os
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from importers import spool
from importers.report import ClientReport, Report
from importers.run import Runner
from memory import log
from memory.errors import LedgerError
from memory.settings import Settings

__all__ = ["FOLDER", "Round", "Rounds", "rounds", "rounds_in", "rounds_of"]

_log = log.get(__name__)

FOLDER: Final = "rounds"
SUFFIX: Final = ".json"

_FRESH_SECONDS: Final = 60.0
"""How old the time of the last good pass may become before it is written again."""

_FULL: Final = frozenset({errno.EDQUOT, errno.ENOSPC})
_MAX_REASON: Final = 500
_MAX_FILE_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """The last pass of one client; ``root`` is set for a store that was named by hand.

    ``good_at`` and ``failed_at`` are times in seconds, 0 for never; ``reason`` is that of the last
    failure, and ``is_failing`` says whether it still holds.
    """

    client: str
    root: str = ""
    good_at: float = 0.0
    failed_at: float = 0.0
    reason: str = ""
    is_failing: bool = False


@dataclass(slots=True, kw_only=True)
class Rounds:
    """Writes down how passes end, whenever that changes and once a minute.

    That it cannot be written is logged once and hinders no import.
    """

    folder: Path
    root: Path | None = None
    _written: dict[str, tuple[Round, float]] = field(default_factory=dict)
    _is_told: bool = False

    def note(self, report: Report) -> None:
        """Write down a pass that came to its end."""
        for client in report.clients:
            self._note(client.provider, _reason(client))

    def fail(self, clients: Iterable[str], error: LedgerError) -> None:
        """Write down a pass that the database, or the ledger, did not let through."""
        for client in clients:
            self._note(client, f"{error.code}: {error}")

    def _note(self, client: str, reason: str) -> None:
        name = _name(client, self.root)
        before, written = self._written.get(name) or (self._read(name), 0.0)
        now = time.time()
        is_failing = bool(reason)
        reason = " ".join(reason.split())[:_MAX_REASON]
        found = Round(
            client=client,
            root=str(self.root or ""),
            good_at=before.good_at if is_failing else now,
            failed_at=now if is_failing else before.failed_at,
            reason=reason or before.reason,
            is_failing=is_failing,
        )
        changed = (before.is_failing, before.reason) != (is_failing, found.reason)
        if not changed and abs(time.monotonic() - written) < _FRESH_SECONDS and written:
            return
        try:
            _write(self.folder, name, found)
        except OSError as error:
            if not self._is_told:
                _log.warning("how the passes end cannot be written to %s (%s)", self.folder, error)
            self._is_told = True
        self._written[name] = (found, time.monotonic())

    def _read(self, name: str) -> Round:
        with suppress(OSError, RecursionError, TypeError, ValueError):
            return _parsed(self.folder / name)
        return Round(client="")


def rounds_of(runner: Runner) -> Rounds:
    """Return what writes down how the passes of a runner end."""
    return rounds_in(runner.database.settings, runner.root)


def rounds_in(settings: Settings, root: Path | None) -> Rounds:
    """Return what writes down how the passes over a store end, in the home of the ledger."""
    return Rounds(folder=settings.home / FOLDER, root=root.absolute() if root else None)


def rounds(folder: Path) -> Iterator[Round]:
    """Yield the last pass of each client that had one; a file that is damaged is left out."""
    if not folder.is_dir():
        return
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        with suppress(OSError, RecursionError, TypeError, ValueError):
            yield _parsed(path)


def _reason(client: ClientReport) -> str:
    """Return why a pass over a client's stores did not do all it should; empty when it did."""
    said = []
    if failed := len(client.failed) + client.more_failed:
        first = client.failed[0]
        said.append(f"{failed} could not be read or stored, the first {first.path}: {first.reason}")
    if client.refused:
        said.append(f"{client.refused} records were refused by the ledger")
    return "; ".join(said)


def _name(client: str, root: Path | None) -> str:
    return (
        f"{client}{SUFFIX}"
        if root is None
        else f"{client}-{zlib.crc32(os.fsencode(root)):08x}{SUFFIX}"
    )


def _parsed(path: Path) -> Round:
    with path.open("rb") as file:
        found = Round(**json.loads(file.read(_MAX_FILE_BYTES)))
    texts = (found.client, found.root, found.reason)
    times = (found.good_at, found.failed_at)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("not the texts of a pass")
    if not all(isinstance(each, int | float) for each in times):
        raise TypeError("not the times of a pass")
    return found


def _write(folder: Path, name: str, found: Round) -> None:
    spool.make(str(folder))
    said = json.dumps(asdict(found)).encode()
    draft = folder / f"{name}.{os.getpid()}.draft"
    try:
        _write_to(draft, said, os.O_CREAT | os.O_TRUNC)
        draft.replace(folder / name)
    except OSError as error:
        draft.unlink(missing_ok=True)
        if error.errno not in _FULL:
            raise
        # The reason is that the disk is full: there is room where the last pass stands.
        path = folder / name
        _write_to(path, said.ljust(path.stat().st_size), 0)


def _write_to(path: Path, said: bytes, flags: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC | flags, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(said)
