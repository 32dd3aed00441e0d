"""From nothing to a filled ledger: what scripts/up runs."""

import asyncio
import os
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import asdict
from typing import Annotated, Final

import typer
from rich.text import Text

from memory import crud
from memory.cli import plugins
from memory.cli.connect import connections, show_connections
from memory.cli.ledger import configured, read
from memory.cli.output import Json, console, print_json
from memory.cli.status import total_facts, totals_table
from memory.cli.upgrade import bring_up
from memory.database import application_address
from memory.database.schema import SchemaStatus, init_schema, upgrade_plan
from memory.errors import LedgerError
from memory.program import typed
from memory.settings import Settings

__all__ = ["setup"]

_IMPORT: Final = "import"  # the command that a package of importers brings
_SAID: Final[Mapping[SchemaStatus, str]] = {
    SchemaStatus.EMPTY: "built",
    SchemaStatus.OLDER: "brought up to date",
    SchemaStatus.CURRENT: "is current",
}


def setup(
    *,
    no_import: Annotated[
        bool, typer.Option("--no-import", help="Leave the clients' stores for later.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Start the server, build the schema, import every store."""
    settings = configured()
    with redirect_stdout(sys.stderr if as_json else sys.stdout):
        address = str(application_address(settings))
        _step("PostgreSQL", f"accepts connections: {address}")
        stood = _bring_up(settings)
        _step("Schema", _SAID[stood])
        imported = None if no_import else _import()
    totals = read(crud.totals, settings=settings)
    found = connections(os.environ)
    if as_json:
        facts = {"address": address, "schema": str(stood), "imported": imported}
        held = {"totals": [total_facts(each) for each in totals]}
        print_json({**facts, **held, "connections": [asdict(each) for each in found]})
    else:
        _heading("The ledger holds")
        totals_table(totals)
        _heading("Connect the clients by hand, or by the first command below")
        show_connections(found)
        _heading("Then")
        _show_next(no_import=no_import)
    if imported is False:
        raise typer.Exit(1)


def _bring_up(settings: Settings) -> SchemaStatus:
    """Build or bring up the schema, an older one after a dump; return what stood there before."""
    plan = asyncio.run(upgrade_plan(settings))
    if plan.status is SchemaStatus.OLDER:
        bring_up(settings, plan)
        return plan.status
    return asyncio.run(init_schema(settings))


def _import() -> bool:
    """Run the importers' command, which shows its own progress; say whether it went well."""
    point = plugins.points(plugins.COMMANDS).get(_IMPORT)
    if point is None:
        raise LedgerError("No importers are installed; run scripts/up.", code="no_importers")
    command = plugins.as_command(plugins.named(point), _IMPORT)
    _heading("Importing what the clients have stored")
    try:
        status = command.main([], prog_name="memory import", standalone_mode=False)
    except LedgerError as error:  # the server and the schema are up: say how to go on
        print(f"memory: {error} ({error.code})", file=sys.stderr)  # noqa: T201 - for people
        return False
    return not status


def _step(name: str, said: str) -> None:
    console().print(Text.assemble((f"{name:<11}", "bold"), said))


def _heading(words: str) -> None:
    console().print(Text(f"\n{words}", style="bold cyan"))


def _show_next(*, no_import: bool) -> None:
    steps = {
        "connect": "connect them, with a hook that captures each turn",
        "import": "fill the ledger from the clients' stores" if no_import else "",
        "watch": "go on importing while the clients work",
        "search WORDS": "find what was said and done",
        "doctor": "check everything",
    }
    for command, words in steps.items():
        if words:
            console().print(
                Text.assemble("  ", typed(f"memory {command:<13}"), (f" {words}", "dim"))
            )
