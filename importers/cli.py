"""The importers for people: the commands ``memory import`` and ``memory watch``, and checks.

This module is imported to list the commands, so what needs the database's libraries is imported
when it runs.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from importers.hooks import DEPTH, INSIDE
from importers.options import Options
from importers.progress import bar
from importers.registry import importers_in, importers_of
from importers.report import Report
from importers.tell import told
from memory import garbage, log, postgres
from memory.cli.checks import Check, Note
from memory.cli.fault import FAILED, STOPPED, ended
from memory.cli.output import Json, one_line, print_json, say
from memory.errors import InvalidInput
from memory.machine import identify, settle, usual_label
from memory.settings import Settings

if TYPE_CHECKING:
    from importers.run import Runner

__all__ = [
    "Client",
    "Machine",
    "Root",
    "checks",
    "import_command",
    "notes",
    "run",
    "watch_command",
]

Client = Annotated[list[str], typer.Option("--client", help="Only this client; may be repeated.")]
Root = Annotated[
    Path | None,
    typer.Option(
        "--root", help="Another home, or the folder of one client's store.", metavar="DIR"
    ),
]
Machine = Annotated[
    str, typer.Option("--machine", help="The machine that --root was copied from.", metavar="NAME")
]


def import_command(
    *,
    client: Client = [],  # noqa: B006 - typer reads it and never changes it
    watch: Annotated[bool, typer.Option("--watch", help="Go on importing until stopped.")] = False,
    once: Annotated[bool, typer.Option("--once", help="Import and end: the default.")] = False,
    root: Root = None,
    machine: Machine = "",
    as_json: Json = False,
) -> None:
    """Import what the clients have stored; doing it again adds nothing twice."""
    if watch and once:
        raise InvalidInput("--watch and --once exclude one another.")
    options = Options(clients=tuple(client), watch=watch, as_json=as_json, root=root)
    _exit(replace(options, machine=machine))


def watch_command(
    *,
    client: Client = [],  # noqa: B006 - typer reads it and never changes it
    root: Root = None,
    machine: Machine = "",
    as_json: Json = False,
) -> None:
    """Go on importing while the clients work, until stopped."""
    options = Options(clients=tuple(client), watch=True, as_json=as_json, root=root)
    _exit(replace(options, machine=machine))


def run(options: Options) -> int:
    """Run the importers as a program: errors become one line and the exit status."""

    def work() -> int:
        settings = Settings.from_environment()
        log.configure(settings.log_level)
        return asyncio.run(_run(options, settings))

    return ended(work, name="memory-import", as_json=options.as_json)


def checks(settings: Settings) -> Iterator[Check]:
    """Compare each client's store with the ledger, for ``memory doctor``."""
    # The doctor loads this module to look for checks, and the database's libraries to make them.
    from importers.capture import capture_checks  # noqa: PLC0415
    from importers.coverage import covered  # noqa: PLC0415

    yield from capture_checks(settings)
    # Asking must not start the server, and the doctor has told that it is down.
    if settings.database_url or postgres.state(settings) is not None:
        yield from covered(settings)


def notes(settings: Settings) -> Iterator[Note]:
    """Say how capturing goes, for ``memory status``; it needs no database."""
    from importers.capture import capture_notes  # noqa: PLC0415 - see above

    yield from capture_notes(settings)


def _exit(options: Options) -> None:
    """Run a command of the program `memory`, which tells errors itself."""
    settings = Settings.from_environment()
    log.configure(settings.log_level)
    status = asyncio.run(_run(options, settings))
    if status:
        raise typer.Exit(status)


async def _run(options: Options, settings: Settings) -> int:
    if options.machine and options.root is None:
        raise InvalidInput("--machine needs --root: the copied or mounted home of that machine.")
    stop = asyncio.Event()
    _stop_on_signals(stop)
    runner = await _runner(options, settings, stop)
    garbage.rarely()
    os.environ[DEPTH] = str(INSIDE)  # a client that is started from here is our own work
    try:
        if options.watch:
            return await _watch(options, runner)
        return await (_drain if options.drain else _import)(options, runner)
    finally:
        await runner.database.close()


async def _runner(options: Options, settings: Settings, stop: asyncio.Event) -> "Runner":
    # See above: listing the commands must not wait for these.
    from importers.run import Runner  # noqa: PLC0415
    from memory.database import Database  # noqa: PLC0415

    root = options.root.absolute() if options.root else None
    importers = importers_in(root, options.clients) if root else importers_of(options.clients)
    # A server that somebody stopped is started by what people run, and by no program in the background.
    settings = replace(settings, leaves_stopped=options.watch or options.drain)
    if options.machine:
        clients = [each.provider for each in importers]
        settings = await _settings_elsewhere(options, settings, clients=clients, stop=stop)
    elif settings.machine == identify(settings.home):
        settle(settings.home)
    return Runner(
        database=Database(settings),
        importers=importers,
        environment=os.environ,
        home=Path.home(),
        root=root,
        elsewhere=bool(options.machine),
        label="" if options.machine else usual_label(settings.machine, settings.home),
        stop=stop,
    )


async def _settings_elsewhere(
    options: Options, settings: Settings, *, clients: list[str], stop: asyncio.Event
) -> Settings:
    """Return the settings of another machine; the watch waits for the ledger that knows it."""
    from importers.machine import settings_in_time, settings_of  # noqa: PLC0415
    from importers.patience import Patience  # noqa: PLC0415
    from importers.rounds import rounds_in  # noqa: PLC0415

    if not options.watch:
        return await settings_of(options.machine, settings, may_be_new=True)
    fail = partial(rounds_in(settings, options.root).fail, clients)
    patience = Patience(say=_aside, note=fail, stop=stop)
    return await settings_in_time(options.machine, settings, patience=patience)


async def _watch(options: Options, runner: "Runner") -> int:
    from importers.watch import POLL_SECONDS, Watch  # noqa: PLC0415

    show = _show_json if options.as_json else _show
    poll = options.poll or POLL_SECONDS
    await Watch(runner=runner, say=_aside, told=show, poll_seconds=poll).run()
    return 0


async def _drain(options: Options, runner: "Runner") -> int:
    from importers.drain import drain  # noqa: PLC0415

    show = _show_json if options.as_json else _show
    is_whole = await drain(runner, told=show, descriptor=options.lock)
    return 0 if is_whole else FAILED


async def _import(options: Options, runner: "Runner") -> int:
    from importers.drain import read_all  # noqa: PLC0415

    with bar(quiet=options.as_json) as runner.progress:
        report = await read_all(runner)
    (_show_json if options.as_json else _show)(report)
    return FAILED if report.has_failed else STOPPED if report.stopped else 0


def _stop_on_signals(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)


def _show(report: Report) -> None:
    for line in told(report):
        inset = len(line) - len(line.lstrip(" "))
        say(line[:inset] + one_line(line))
    sys.stdout.flush()


def _show_json(report: Report) -> None:
    facts = report.facts()
    if report.has_failed:
        words = "Some sources could not be read, or records not stored; see failed and refused."
        facts = {"is_error": True, "code": "import_failed", "error": words, **facts}
    print_json(facts)
    sys.stdout.flush()


def _aside(words: str) -> None:
    print(words, file=sys.stderr, flush=True)
