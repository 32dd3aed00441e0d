"""Passing again and again: each pass looks at everything, whatever made it begin.

Events of files and signals make one begin at once, the clock at the latest after LONGEST_POLL.
"""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

import watchfiles

from importers.base import Importer
from importers.pace import Pace
from importers.patience import Patience
from importers.progress import plain
from importers.report import ClientReport, Failed, Report
from importers.rounds import Rounds, rounds_of
from importers.run import Choose, Runner
from importers.signals import Signals, signals_of
from importers.standby import RETRY_SECONDS, Standby, wait
from memory import log, search
from memory.database import Database
from memory.embeddings import load
from memory.errors import LedgerError

__all__ = ["BEGIN", "POLL_SECONDS", "Watch", "index_all"]

_log = log.get(__name__)

BEGIN: Final = "Reading what is new; then watching."

POLL_SECONDS: Final = 5.0
"""Time between two passes: after one that did something, and while events cannot be relied on."""

SHORTEST_PAUSE: Final = 0.5
"""Seconds between two passes at least, however busy the files are."""

LOOK_AGAIN_SECONDS: Final = 60.0
"""How often clients that were not installed before are looked for."""

_INDEX_BATCH: Final = 2000
# Clients write logs and caches into the same folders all the time.
_SUFFIXES: Final = (".jsonl", ".zst", ".db", ".db-wal", ".json")
_DEBOUNCE_MS: Final = 200
_PATIENT_SECONDS: Final = 1.0  # between passes while a client has not written what its hook named
_STEP_MS: Final = 100  # each is a wake-up, whether or not there is an event


async def index_all(
    database: Database,
    *,
    stop: asyncio.Event,
    interrupt: Callable[[], bool] = bool,
    embedded: Callable[[int], object] = bool,
) -> int:
    """Index for search what is not indexed yet, in bounded steps; return how many entries.

    Leaves off when another process indexes, what remains is not yet settled in the feed, or
    ``interrupt`` says so. With embeddings on, their vectors follow; ``embedded`` gets how many
    after each step. Raises Unavailable when the model is missing.
    """
    cutters = search.Cutters()
    try:
        count = await _index(database, cutters, lambda: stop.is_set() or interrupt())
    finally:
        cutters.close()
    embedder = await asyncio.to_thread(load, database.settings)
    while embedder is not None and not stop.is_set() and not interrupt():
        made = await database.transact(partial(search.embed, embedder=embedder))
        embedded(made.count)
        if not made.remaining or made.is_busy:
            break
    return count


async def _index(database: Database, cutters: search.Cutters, interrupt: Callable[[], bool]) -> int:
    count = 0
    while not interrupt():
        step = await database.transact(partial(search.index, limit=_INDEX_BATCH, cutters=cutters))
        count += step.count
        if not step.remaining or not step.count:
            break
        cutters.prepare(step.remaining)
    return count


@dataclass(slots=True, kw_only=True)
class Watch:
    """Runs passes until told to stop; stands by for clients that another process watches.

    ``say`` tells people what changes; ``told`` gets the report of the first pass, and of each later
    one that did something about the clients for which it did. A source that cannot be read is told
    once, until it fails otherwise.
    """

    runner: Runner
    say: Callable[[str], None]
    told: Callable[[Report], None]
    poll_seconds: float = POLL_SECONDS
    retry_seconds: float = RETRY_SECONDS
    _is_new: bool = True
    _failures: dict[str, set[Failed]] = field(default_factory=dict)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _taken: set[str] = field(default_factory=set)
    _signals: Signals = field(init=False)
    _rounds: Rounds = field(init=False)
    _pace: Pace = field(init=False)

    def __post_init__(self) -> None:
        """Read signals, and write down how passes end, in the home of the runner's ledger."""
        self._signals = signals_of(self.runner)
        self._rounds = rounds_of(self.runner)
        self._pace = Pace(poll_seconds=self.poll_seconds)

    async def run(self) -> None:
        """Watch until ``runner.stop`` is set; outlives the database's absence."""
        stop = self.runner.stop
        everyone = tuple(self.runner.importers)
        standby = Standby(
            settings=self.runner.database.settings,
            providers=tuple(each.provider for each in everyone),
            stop=stop,
            news=self._wake,
            root=self.runner.root,
            retry_seconds=self.retry_seconds,
        )
        holding = asyncio.create_task(standby.run())
        events = asyncio.create_task(self._watch_files(everyone))
        try:
            await self._passes(everyone, standby)
        finally:
            stop.set()
            self._signals.release()
            await asyncio.gather(holding, events)

    async def _passes(self, everyone: Sequence[Importer], standby: Standby) -> None:
        stop = self.runner.stop
        fail = partial(self._rounds.fail, [each.provider for each in everyone])
        patience = Patience(say=self.say, note=fail, stop=stop)
        self.say(BEGIN)
        self.runner.progress = plain(self.say)
        by_clock = False  # whether nothing but the time made this pass begin
        while not stop.is_set():
            self._wake.clear()
            spent, self._pace.has_worked = time.process_time(), False
            held = [each for each in everyone if each.provider in standby.held]
            self._tell_taken(standby.taken)
            try:
                await self._read_named(held, standby)
                report = await self._read_all(held)
            except Exception as error:  # noqa: BLE001 - the edge of a round: it is told, and the next one comes
                await patience.wait(_failure(error))
                by_clock = False
                continue
            patience.end()
            is_whole = not report.interrupted  # else a signal came, which is to be read first
            by_clock = is_whole and await self._rest(report, spent, by_clock=by_clock)

    async def _rest(self, report: Report, spent: float, *, by_clock: bool) -> bool:
        """Wait until the next pass; return whether nothing but the time makes it begin.

        ``spent`` is what this process had used of CPU before the pass.
        """
        stop = self.runner.stop
        await wait(stop, seconds=SHORTEST_PAUSE)
        # An event of what was written just before or during the pass has come by now.
        if by_clock and _is_work(report) and not self._wake.is_set():
            self._pace.doubt()
        pause = self._pace.pause(time.process_time() - spent)
        if self._signals.is_waiting:
            pause = min(_PATIENT_SECONDS, self.poll_seconds)
        await wait(stop, self._wake, seconds=pause)
        return not self._wake.is_set()

    async def _read_named(self, held: Sequence[Importer], standby: Standby) -> None:
        """Read what signals name: of the clients watched here, where they keep their stores.

        While the database is away its locks are lost; the signals go on waiting for this process.
        """
        if self.runner.root is not None:
            return
        clients = self._signals.look((standby.held | self._signals.clients) - standby.taken)
        named = [each for each in held if each.provider in clients]
        if named:
            report = await self._pass(named, choose=self._signals.named_only, interrupt=None)
            self._signals.let_go(report)
            self._tell(report)

    async def _read_all(self, held: Sequence[Importer]) -> Report:
        interrupt = self._signals.is_any_new
        report = await self._pass(held, choose=None, interrupt=interrupt)
        database, stop = self.runner.database, self.runner.stop
        made: list[int] = []
        report.indexed = await index_all(
            database, stop=stop, interrupt=interrupt, embedded=made.append
        )
        self._pace.has_worked |= bool(report.indexed or any(made))
        self._tell(report)
        return report

    async def _pass(
        self,
        importers: Sequence[Importer],
        *,
        choose: Choose | None,
        interrupt: Callable[[], bool] | None,
    ) -> Report:
        self.runner.importers, self.runner.choose = importers, choose
        self.runner.interrupt = interrupt
        report = await self.runner.run()
        self._rounds.note(report)
        self._pace.has_worked |= _is_work(report)
        return report

    def _tell(self, report: Report) -> None:
        news = [client for client in report.clients if self._is_told(client)]
        if self._is_new and report.clients:
            self._is_new = False
            self.runner.progress = None
            news = report.clients
        if news:
            self.told(replace(report, clients=news))

    def _is_told(self, client: ClientReport) -> bool:
        failures = set(client.failed)
        others = failures - self._failures.get(client.provider, set())
        self._failures[client.provider] = failures
        return bool(client.records or client.events or others)

    def _tell_taken(self, taken: set[str]) -> None:
        for provider in sorted(taken - self._taken):
            self.say(f"{provider}: another importer watches this on this machine; standing by.")
        for provider in sorted(self._taken - taken):
            self.say(f"{provider}: the other importer is gone; taking over.")
        self._taken = set(taken)

    async def _watch_files(self, everyone: Sequence[Importer]) -> None:
        """Wake the passes whenever a client writes; without file events polling does it alone."""
        stop = self.runner.stop
        while not stop.is_set():
            roots = self._roots(everyone)
            if not roots:
                await wait(stop, seconds=LOOK_AGAIN_SECONDS)
                continue
            try:
                # Once events are there, a pass reads what was written before.
                self._wake.set()
                async for changes in watchfiles.awatch(
                    *roots,
                    watch_filter=self._is_news,
                    debounce=_DEBOUNCE_MS,
                    step=_STEP_MS,
                    stop_event=stop,
                    rust_timeout=int(LOOK_AGAIN_SECONDS * 1000),
                    yield_on_timeout=True,
                    ignore_permission_denied=True,
                ):
                    self._pace.has_failed = False
                    if changes:
                        self._wake.set()
                    if self._roots(everyone) != roots:
                        break
            except (OSError, RuntimeError) as error:
                if not self._pace.has_failed:
                    _log.warning("no file events (%s); polling alone until there are", error)
                self._pace.has_failed = True
                await wait(stop, seconds=LOOK_AGAIN_SECONDS)

    def _is_news(self, change: watchfiles.Change, path: str) -> bool:
        """Tell whether a file event is one of a store, or a new signal: not our own taking it."""
        if not path.endswith(_SUFFIXES):
            # Of what is in a folder when it comes no event tells.
            is_added = change == watchfiles.Change.added
            return is_added and os.path.isdir(path)  # noqa: PTH112 - unlike Path.is_dir it never raises
        is_removed = change == watchfiles.Change.deleted
        return not (is_removed and Path(path).parent == self._signals.folder)

    def _roots(self, everyone: Sequence[Importer]) -> list[Path]:
        found = {store.root for each in everyone for store in self.runner.stores(each)}
        if self._signals.folder.is_dir():
            found.add(self._signals.folder)
        return sorted(found)


def _is_work(report: Report) -> bool:
    """Tell whether a pass read something new; what can never be stored is read each time."""
    return any(each.appended or (each.records and not each.failed) for each in report.clients)


def _failure(error: Exception) -> LedgerError:
    """Return what a round ended with as an error of the ledger; a fault of ours is logged."""
    if isinstance(error, LedgerError):
        return error
    log.unexpected(_log, "a pass", error)
    return LedgerError(f"a pass failed with {type(error).__name__}; the log says where")
