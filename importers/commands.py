"""The commands that give account: ``coverage``, ``verify`` and ``rescan``.

This module is imported to list the commands, so what needs the database's libraries is imported
when it runs.
"""

import asyncio
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from importers.progress import bar
from importers.registry import importers_of
from memory import log
from memory.cli.fault import described, end_output
from memory.cli.output import Json, print_json
from memory.cli.plugins import as_command
from memory.errors import InvalidInput
from memory.settings import Settings

if TYPE_CHECKING:
    from importers.findings import ClientProof
    from importers.keeping import Keeping

__all__ = [
    "coverage",
    "coverage_command",
]

_FAILED: Final = 1
_USAGE: Final = 2

Client = Annotated[list[str], typer.Option("--client", help="Only this client; may be repeated.")]
Root = Annotated[
    Path | None, typer.Option("--root", help="The client's folder, when it is another one.")
]


def coverage_command(
    *,
    client: Client = [],  # noqa: B006 - typer reads it and never changes it
    root: Root = None,
    as_json: Json = False,
) -> None:
    """Read every store from its beginning and compare it with the ledger; nothing is stored.

    Exit status: 0 when the ledger has everything, 1 when something is missing or cannot be read.
    """
    # See above: so do all the others below.
    from importers.tables import show_coverage  # noqa: PLC0415

    if root is not None and len(client) != 1:
        raise InvalidInput("--root needs exactly one --client.")
    folder = root.absolute() if root else None
    clients, keepings = asyncio.run(_cover(_settings(), tuple(client), folder, quiet=as_json))
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
        raise typer.Exit(_FAILED)


async def _cover(
    settings: Settings, clients: tuple[str, ...], root: Path | None, *, quiet: bool
) -> tuple[list["ClientProof"], list["Keeping"]]:
    from importers.keeping import keeping  # noqa: PLC0415
    from importers.proof import Prover  # noqa: PLC0415
    from memory.database import Database  # noqa: PLC0415

    prover = Prover(
        database=Database(settings),
        importers=importers_of(clients),
        environment=os.environ,
        home=Path.home(),
        root=root,
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


def coverage(arguments: Sequence[str]) -> int:
    """Run ``memory-import coverage`` and return the exit status."""
    return _program(coverage_command, "coverage", arguments)


def _program(function: Callable[..., None], name: str, arguments: Sequence[str]) -> int:
    """Run a command as a program of its own: errors become one line and the exit status."""
    as_json = "--json" in arguments
    try:
        command = as_command(function, name)
        status = command.main(
            list(arguments), prog_name=f"memory-import {name}", standalone_mode=False
        )
        sys.stdout.flush()
    except typer.TyperException as error:
        return _fail("usage", error.format_message(), _USAGE, as_json=as_json)
    except BrokenPipeError:
        end_output()
        return _FAILED
    except Exception as error:  # noqa: BLE001 - the edge of the program: told in one line
        return _fail(*described(error), _FAILED, as_json=as_json)
    return status if isinstance(status, int) else 0


def _fail(code: str, words: str, status: int, *, as_json: bool) -> int:
    if as_json:
        print_json({"is_error": True, "code": code, "error": words})
    else:
        print(f"memory-import: {' '.join(words.split())} ({code})", file=sys.stderr)
    return status


def _settings() -> Settings:
    settings = Settings.from_environment()
    log.configure(settings.log_level)
    return settings
