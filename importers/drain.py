"""Single runs: over all that is new, and over what the clients' hooks have named."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final

from importers import spool
from importers.base import Importer
from importers.report import Report
from importers.rounds import rounds_of
from importers.run import Runner
from importers.signals import Signals, signals_of
from importers.standby import wait
from importers.watch import index_all
from memory import log
from memory.errors import LedgerError

__all__ = ["drain", "read_all"]

_log = log.get(__name__)

_FIRST_PAUSE: Final = 0.25
"""Seconds that a client is given to write what its hook named; doubled each time."""


async def drain(
    runner: Runner, *, told: Callable[[Report], None], descriptor: int | None = None
) -> bool:
    """Read what the signals name, until none is left; return whether all could be read.

    A client whose signals another process reads is left to it. ``descriptor`` is the lock that a
    hook has got for the one client of this run. ``told`` gets the report of each pass. Raises
    LedgerError when the database is away; then every signal waits where it is. Raises OSError.
    """
    everyone = tuple(runner.importers)
    clients = [each.provider for each in everyone]
    signals, rounds = signals_of(runner), rounds_of(runner)
    if descriptor is not None:
        _inherit(signals, clients[0], descriptor)
    runner.choose = signals.named_only
    folder = str(signals.folder)
    is_whole = True
    try:
        spool.make(folder)
        spool.sync(folder)  # for the hook that started this, whose client waited
        is_new = True
        while is_new and not runner.stop.is_set():
            signals.hold(clients)
            async for report in _passes(runner, signals, everyone):
                rounds.note(report)
                is_whole = is_whole and not report.has_failed
                told(report)
            # A hook that finds the lock held relies on its holder. So what came before the lock
            # was let go is looked for after it.
            signals.release()
            is_new = spool.is_any_new(folder, clients)
    except LedgerError as error:
        rounds.fail(clients, error)
        for client in clients:
            spool.touch(folder, client, spool.FAILED)
        raise
    finally:
        signals.release()
    for client in clients:
        spool.forget(folder, client, spool.FAILED)
    return is_whole


async def read_all(runner: Runner) -> Report:
    """Read everything once, with what the signals name first, and index it.

    Raises LedgerError when the database is away.
    """
    clients = [each.provider for each in runner.importers]
    signals, rounds = signals_of(runner), rounds_of(runner)
    runner.choose = signals.named_first
    try:
        signals.look(clients if runner.root is None else ())
        report = await runner.run()
        signals.let_go(report)
        report.indexed = await index_all(runner.database, stop=runner.stop)
    except LedgerError as error:
        rounds.fail(clients, error)
        raise
    finally:
        signals.release()
    rounds.note(report)
    return report


async def _passes(
    runner: Runner, signals: Signals, everyone: Sequence[Importer]
) -> AsyncIterator[Report]:
    """Yield the reports of passes over what the signals name, until those that are left must wait."""
    pause = _FIRST_PAUSE
    while (clients := signals.take()) and not runner.stop.is_set():
        runner.importers = [each for each in everyone if each.provider in clients]
        report = await runner.run()
        signals.let_go(report)
        report.indexed = await index_all(runner.database, stop=runner.stop)
        yield report
        if signals.is_waiting:
            await wait(runner.stop, seconds=pause)
            pause *= 2
        elif signals.has_left:
            return


def _inherit(signals: Signals, client: str, descriptor: int) -> None:
    try:
        signals.inherit(client, descriptor)
    except OSError as error:
        _log.warning("the lock of %s was not inherited (%s)", client, error)
