"""The commands that give account: ``coverage``, ``verify`` and ``rescan``.

This module is imported to list the commands, so what needs the database's libraries is imported
when it runs.
"""

import asyncio
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console
from rich.progress import Progress

from importers.cli import Client, Machine, Root
from importers.progress import bar
from importers.registry import importers_in, importers_of
from memory import log
from memory.cli.fault import FAILED, ended
from memory.cli.output import Json, one_line, print_json, say, table
from memory.cli.plugins import as_command
from memory.errors import InvalidInput
from memory.settings import Settings

if TYPE_CHECKING:
    from importers.findings import ClientProof
    from importers.keeping import Keeping
    from importers.rescan import Rescan
    from importers.verify import Verified

__all__ = [
    "coverage",
    "coverage_command",
    "rescan",
    "rescan_command",
    "service",
    "verify",
    "verify_command",
]

_VERDICTS: Final = {"changed": 3, "vanished": 4, "elsewhere": 5, "foreign": 6}
_SHOWN: Final = 20  # entries with findings; the JSON answer has more


def coverage_command(
    *,
    client: Client = [],  # noqa: B006 - typer reads it and never changes it
    root: Root = None,
    machine: Machine = "",
    mend: Annotated[bool, typer.Option("--mend", help="Store what is missing.")] = False,
    as_json: Json = False,
) -> None:
    """Read every store from its beginning and compare it with the ledger.

    Exit status: 0 when the ledger has everything, 1 when something is missing or cannot be read.
    """
    # See above: so do all the others below.
    from importers.tables import show_coverage  # noqa: PLC0415

    if machine and root is None:
        raise InvalidInput("--machine needs --root: the copied or mounted home of that machine.")
    folder = root.absolute() if root else None
    clients, keepings = asyncio.run(
        _cover(tuple(client), folder, machine, mend=mend, quiet=as_json)
    )
    is_whole = all(each.is_whole for each in clients)
    if as_json:
        facts: dict[str, Any] = {
            "is_whole": is_whole,
            "clients": [each.facts() for each in clients],
            "keeping": [each.facts() for each in keepings],
        }
        if not is_whole:
            words = "The ledger lacks something that a store has; see lacking, failed, is_strange."
            facts = {"is_error": True, "code": "incomplete", "error": words, **facts}
        print_json(facts)
    else:
        show_coverage(clients, keepings)
    if not is_whole:
        raise typer.Exit(FAILED)


async def _cover(
    clients: tuple[str, ...], root: Path | None, machine: str, *, mend: bool, quiet: bool
) -> tuple[list["ClientProof"], list["Keeping"]]:
    from importers.keeping import keeping  # noqa: PLC0415
    from importers.machine import settings_of  # noqa: PLC0415
    from importers.proof import Prover  # noqa: PLC0415
    from memory.database import Database  # noqa: PLC0415

    settings = _settings()
    if machine:
        settings = await settings_of(machine, settings)
    prover = Prover(
        database=Database(settings),
        importers=importers_in(root, clients) if root else importers_of(clients),
        environment=os.environ,
        home=Path.home(),
        root=root,
        elsewhere=bool(machine),
        mend=mend,
    )
    try:
        with bar(quiet=quiet) as prover.progress:
            found = await prover.run()
    finally:
        await prover.database.close()
    keepings = [
        each
        for client in found
        for each in keeping(
            client.provider,
            [Path(store) for store in client.stores],
            [Path(file.path) for file in client.files],
            environment=os.environ,
            here=Path.cwd(),
            now=time.time(),
        )
    ]
    return found, keepings


def verify_command(
    ident: Annotated[str, typer.Argument(help="An entry's id, or its first digits.", metavar="ID")],
    *,
    root: Root = None,
    as_json: Json = False,
) -> None:
    """Say whether the client's record still is what was stored as an entry.

    Exit status: 0 it is (same, moved), 3 changed, 4 vanished, 5 on another machine, 6 the entry was
    not taken from a client's record.
    """
    found = asyncio.run(_verify(_settings(), ident, root.absolute() if root else None))
    if as_json:
        print_json(found.facts())
    else:
        say(f"{found.verdict}: {found.verdict.words}")
        rows = [("entry", str(found.entry_id))]
        for name, place in (("stored from", found.stored), ("found at", found.found)):
            if place:
                rows.append((name, _place(place)))
        if found.found and not found.has_same_bytes:
            rows.append(("bytes", "the record's bytes are not those that were stored"))
        for name, value in rows:
            say(f"  {name:11}  {one_line(value)}")
    status = _VERDICTS.get(found.verdict, 0)
    if status:
        raise typer.Exit(status)


async def _verify(settings: Settings, ident: str, root: Path | None) -> "Verified":
    from importers.verify import Verifier  # noqa: PLC0415
    from memory.database import Database  # noqa: PLC0415

    database = Database(settings)
    verifier = Verifier(database=database, environment=os.environ, home=Path.home(), root=root)
    try:
        return await verifier.verify(ident)
    finally:
        await database.close()


def _place(place: Mapping[str, Any]) -> str:
    where = f"byte {place['offset']}" if "offset" in place else f"row {place.get('row')}"
    return f"{place.get('path')} at {where}"


def rescan_command(
    *,
    after: Annotated[
        str | None, typer.Option("--after", help="The cursor that an earlier scan printed.")
    ] = None,
    most: Annotated[
        int | None, typer.Option("--limit", min=1, help="Entries to scan at most; default: all.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Scan what is stored for credentials with today's rules; report kinds and ids alone.

    Exit status: 0 when nothing was found, 1 when something was.
    """
    found = asyncio.run(_rescan(_settings(), after, most, quiet=as_json))
    if as_json:
        print_json(found.facts())
    else:
        _show_rescan(found)
    if found.holding:
        raise typer.Exit(FAILED)


async def _rescan(
    settings: Settings, after: str | None, most: int | None, *, quiet: bool
) -> "Rescan":
    from importers.rescan import rescan as scan  # noqa: PLC0415
    from memory.database import Database  # noqa: PLC0415

    database = Database(settings)
    screen = Console(stderr=True, quiet=quiet or not sys.stderr.isatty())
    try:
        with Progress(console=screen, transient=True) as shown:
            task = shown.add_task("scanning")

            def step(done: int, total: int) -> None:
                shown.update(task, completed=done, total=total)

            return await scan(database, after=after, limit=most, progress=step)
    finally:
        await database.close()


def _show_rescan(found: "Rescan") -> None:
    say(f"{found.scanned:,} entries and sessions scanned; {found.holding:,} hold a credential.")
    if found.kinds:
        rows = [(kind, f"{count:,}") for kind, count in sorted(found.kinds.items())]
        table(("kind", "count"), rows, right="count")
    if found.held:
        each = [(one.place, str(one.id), ", ".join(one.kinds)) for one in found.held[:_SHOWN]]
        table(("", "id", "kinds"), each)
        if found.holding > len(each):
            say(f"and {found.holding - len(each):,} more (--json tells up to a thousand)")
        say("Revoke them where they were issued: the ledger keeps what it has.")
    if found.cursor:
        say(f"\nMore: memory rescan --after {found.cursor}")


def coverage(arguments: Sequence[str]) -> int:
    """Run ``memory-import coverage`` and return the exit status."""
    return _program(coverage_command, "coverage", arguments)


def verify(arguments: Sequence[str]) -> int:
    """Run ``memory-import verify`` and return the exit status."""
    return _program(verify_command, "verify", arguments)


def service(arguments: Sequence[str]) -> int:
    """Run ``memory-import service`` and return the exit status."""
    from importers.installation import service_command  # noqa: PLC0415

    return _program(service_command, "service", arguments)


def rescan(arguments: Sequence[str]) -> int:
    """Run ``memory-import rescan`` and return the exit status."""
    return _program(rescan_command, "rescan", arguments)


def _program(function: Callable[..., None], name: str, arguments: Sequence[str]) -> int:
    """Run a command as a program of its own: errors become one line and the exit status."""
    command = as_command(function, name)

    def work() -> Any:
        return command.main(
            list(arguments), prog_name=f"memory-import {name}", standalone_mode=False
        )

    return ended(work, name="memory-import", as_json="--json" in arguments)


def _settings() -> Settings:
    settings = Settings.from_environment()
    log.configure(settings.log_level)
    return settings
