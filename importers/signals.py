"""Reading the spool: what the clients' signals name is read, and only then is the signal let go."""

import os
import stat
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from importers import spool
from importers.base import Source
from importers.named import is_database, named_by, names_of
from importers.report import Report
from importers.run import Runner
from importers.said import is_said
from importers.spool import DAMAGED, DRAFT, MAX_FILE_BYTES, TAKEN, Signal
from memory import log

__all__ = ["PATIENCE_SECONDS", "Signals", "Taken", "signals_of"]

_log = log.get(__name__)

PATIENCE_SECONDS: Final = 10.0
"""How long a signal waits for what it names: a client may call before it has written."""

_LOOKED_INTO: Final = 8  # sources of one signal in which its text is looked for
_CUT_OFF_SECONDS: Final = 60.0


@dataclass(slots=True, kw_only=True)
class Taken:
    """A signal that is being read; ``since`` is when, on this process' clock.

    ``paths`` are the sources that it names, ``is_there`` whether they hold what it says.
    """

    signal: Signal
    path: Path
    since: float
    paths: list[str] = field(default_factory=list)
    is_there: bool = False


@dataclass(slots=True, kw_only=True)
class Signals:
    """The signals of some clients, as one process reads them.

    It reads those of a client while it holds that client's lock. Of what it cannot understand it
    says so, and sets it aside; it removes a signal only after what it names was stored.
    """

    folder: Path
    patience: float = PATIENCE_SECONDS
    unmatched: int = 0
    damaged: int = 0
    _locks: dict[str, int] = field(default_factory=dict)
    _taken: dict[str, Taken] = field(default_factory=dict)
    _is_blind: bool = False

    @property
    def clients(self) -> set[str]:
        """The clients whose signals are read here."""
        return set(self._locks)

    @property
    def is_waiting(self) -> bool:
        """Whether a client has not written yet what a signal of it names."""
        return any(not each.is_there for each in self._taken.values())

    @property
    def has_left(self) -> bool:
        """Whether a signal is left after a pass."""
        return bool(self._taken)

    def hold(self, clients: Iterable[str]) -> None:
        """Ask for the locks of these clients, and let go of those of others. Raises OSError."""
        wanted = set(clients)
        for client in self.clients - wanted:
            self.release(client)
        for client in sorted(wanted - self.clients):
            descriptor = spool.lock(str(self.folder), client)
            if descriptor is not None:
                self._locks[client] = descriptor

    def inherit(self, client: str, descriptor: int) -> None:
        """Take over the lock that the hook which started this process got for it.

        Raises OSError when the descriptor is none, or of another file.
        """
        path = spool.lock_path(str(self.folder), client)
        if not os.path.samestat(os.fstat(descriptor), Path(path).stat()):
            raise OSError(f"descriptor {descriptor} is not the lock {path}")
        os.set_inheritable(descriptor, False)
        self._locks[client] = descriptor

    def release(self, *clients: str) -> None:
        """Let go of these clients, of all when none is named."""
        for client in clients or tuple(self._locks):
            os.close(self._locks.pop(client))
            for name in [
                name for name, each in self._taken.items() if each.signal.client == client
            ]:
                del self._taken[name]

    def look(self, clients: Iterable[str]) -> set[str]:
        """Hold these clients and take their signals; that this cannot be done is logged once.

        For an importer that reads everything anyway: without a signal it only reads later.
        """
        try:
            self.hold(clients)
            found = self.take()
        except OSError as error:
            self._tell(error)
            return set()
        self._is_blind = False
        return found

    def is_any_new(self) -> bool:
        """Tell whether a signal came since the last look; no, when that look could not be done."""
        if self._is_blind:
            return False
        try:
            return spool.is_any_new(str(self.folder), self._locks)
        except OSError as error:
            self._tell(error)
            return False

    def _tell(self, error: OSError) -> None:
        if not self._is_blind:
            _log.warning("signals cannot be read in %s (%s)", self.folder, error)
        self._is_blind = True

    def take(self) -> set[str]:
        """Take the signals of the clients held here, and return the clients that have some.

        Raises OSError.
        """
        for entry in sorted(spool.waiting(str(self.folder)), key=lambda each: each.name):
            path = Path(entry.path)
            if path.name.partition(".")[0] not in self._locks:
                continue
            if path.suffix == DRAFT:
                self._set_aside_if_cut_off(path)
                continue
            self._take(path)
        return {each.signal.client for each in self._taken.values()}

    def named_first(self, client: str, sources: Sequence[Source]) -> list[Source]:
        """Return the sources, those that a signal names before the others."""
        named = {source.key for source in self._match(client, sources)}
        first = [source for source in sources if source.key in named]
        return first + [source for source in sources if source.key not in named]

    def named_only(self, client: str, sources: Sequence[Source]) -> list[Source]:
        """Return the sources that a signal names, and those they may hold copies of."""
        by_key = {source.key: source for source in sources}
        wanted: dict[str, Source] = {}
        left = self._match(client, sources)
        while left:
            source = left.pop()
            if source.key not in wanted:
                wanted[source.key] = source
                left += [by_key[key] for key in source.after if key in by_key]
        return [source for source in sources if source.key in wanted]

    def let_go(self, report: Report) -> None:
        """Remove the signals whose sources this pass stored; that one cannot be is logged."""
        if report.stopped:
            return
        for client in report.clients:
            failed = {each.path for each in client.failed}
            for name, taken in list(self._taken.items()):
                if taken.signal.client != client.provider:
                    continue
                if client.more_failed or not failed.isdisjoint(taken.paths):
                    taken.is_there = (
                        True  # that it cannot be read is told; it waits for a later pass
                    )
                    continue
                if self._is_over(taken):
                    self._remove(taken)
                    del self._taken[name]

    def _is_over(self, taken: Taken) -> bool:
        return taken.is_there or time.monotonic() - taken.since >= self.patience

    def _remove(self, taken: Taken) -> None:
        signal = taken.signal
        try:
            if not taken.paths:
                self.unmatched += 1
                where = signal.path or signal.session
                _log.warning("a hook of %s named %s, which is in no store", signal.client, where)
                spool.touch(str(self.folder), signal.client, spool.UNMATCHED)
            taken.path.unlink(missing_ok=True)
        except OSError as error:
            _log.warning("a signal stays, and will be read again (%s)", error)

    def _match(self, client: str, sources: Sequence[Source]) -> list[Source]:
        """Find the sources that each signal of a client names, and what is said there."""
        by_name: dict[str, list[Taken]] = {}
        every: list[Taken] = []
        for taken in self._taken.values():
            if taken.signal.client == client:
                taken.paths.clear()
                every.append(taken)
                for name in names_of(taken.signal):
                    by_name.setdefault(name, []).append(taken)
        if not every:
            return []
        named: list[Source] = []
        for source in sources:
            found = every if is_database(source) else named_by(source, by_name)
            if found:
                named.append(source)
            for taken in found:
                taken.paths.append(str(source.path))
        for taken in every:
            taken.is_there = _is_there(taken)
        return named

    def _take(self, path: Path) -> None:
        mine = path.with_suffix(TAKEN)
        if path == mine and mine.stem in self._taken:
            return
        try:
            path.replace(mine)  # what the client says from now on is another signal
            path = mine
            signal = spool.parsed(_content(mine))
            if signal.name != mine.stem:
                raise ValueError("it has another signal's name")  # noqa: TRY301 - one way for all that is wrong
        except (OSError, ValueError) as error:
            self._set_aside(path, error)
            return
        self._taken[mine.stem] = Taken(signal=signal, path=mine, since=time.monotonic())

    def _set_aside_if_cut_off(self, path: Path) -> None:
        with suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > _CUT_OFF_SECONDS:
                self._set_aside(path, ValueError("its writer was cut off"))

    def _set_aside(self, path: Path, error: Exception) -> None:
        """Keep what cannot be understood where it is in nobody's way. Raises OSError."""
        folder = self.folder / DAMAGED
        folder.mkdir(mode=0o700, exist_ok=True)
        path.rename(folder / f"{path.name}.{time.time_ns()}")
        self.damaged += 1
        reason = error if isinstance(error, OSError) else type(error).__name__
        _log.warning("a damaged signal was set aside in %s (%s)", folder, reason)


def signals_of(runner: Runner) -> Signals:
    """Return the signals for a runner, in the home of its ledger."""
    home = str(runner.database.settings.home)
    return Signals(folder=Path(spool.folder_of(home)), patience=PATIENCE_SECONDS)


def _is_there(taken: Taken) -> bool:
    told = taken.signal.told
    logs = [path for path in taken.paths if path.endswith(".jsonl")]
    if not told or not logs:
        return bool(taken.paths)
    for path in logs[:_LOOKED_INTO]:
        with suppress(OSError):  # that it cannot be read is told by the pass
            if is_said(Path(path), told):
                return True
    return False


def _content(path: Path) -> bytes:
    """Return a signal's file. Raises ValueError for what is no such file, OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE_BYTES:
            raise ValueError("not a file of a signal's size")
        return file.read(MAX_FILE_BYTES)
