"""Bringing an older ledger's schema up to this program's, with a dump before."""

import asyncio
from pathlib import Path
from typing import Annotated, Final

import typer

from memory.cli.ledger import configured
from memory.cli.output import Json, print_json, say
from memory.database.dump import take_dump
from memory.database.schema import Plan, SchemaStatus, init_schema, upgrade_plan
from memory.errors import SchemaMismatch
from memory.settings import Settings

__all__ = ["bring_up", "upgrade"]

_RESTORE: Final = "To go back: an empty database, the program as it was, and pg_restore with it."


def upgrade(
    *,
    only_plan: Annotated[
        bool, typer.Option("--plan", help="Show what would be done, and do nothing.")
    ] = False,
    no_dump: Annotated[
        bool, typer.Option("--no-dump", help="Take no dump before; for those who have a backup.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Bring an older ledger's schema up to this program's: show the plan, take a dump, apply it."""
    settings = configured()
    plan = asyncio.run(upgrade_plan(settings))
    if plan.status is SchemaStatus.NEWER:
        raise SchemaMismatch(
            f"This ledger has the schema {plan.revision}, which is newer than this program; update"
            " the program.",
            code="schema_newer",
        )
    if not as_json:
        _show(settings, plan)
    done = plan.status in {SchemaStatus.EMPTY, SchemaStatus.OLDER} and not only_plan
    dump = bring_up(settings, plan, with_dump=not no_dump, tell=not as_json) if done else None
    if as_json:
        print_json(
            {
                "status": str(plan.status),
                "revision": plan.revision or None,
                "steps": [{"revision": each.revision, "about": each.about} for each in plan.steps],
                "dump": str(dump) if dump else None,
                "done": done,
            }
        )
    elif done:
        say("The schema is current.")


def bring_up(
    settings: Settings, plan: Plan, *, with_dump: bool = True, tell: bool = True
) -> Path | None:
    """Apply a plan and return the dump that was taken before; an empty database needs none.

    Raises LedgerError (``no_dump``) before anything is changed.
    """
    dump = None
    if with_dump and plan.status is SchemaStatus.OLDER:
        dump = take_dump(settings, revision=plan.revision)
        if tell:
            size = dump.stat().st_size / 1024**2
            say(f"Dumped to {dump} ({size:,.1f} MiB). {_RESTORE}")
    asyncio.run(init_schema(settings, upgrade=True))
    return dump


def _show(settings: Settings, plan: Plan) -> None:
    if plan.status is SchemaStatus.CURRENT:
        say(f"The schema of {settings.ledger} is current ({plan.revision}); nothing is to be done.")
        return
    stands = f"stands at {plan.revision}" if plan.revision else "is empty"
    say(f"The ledger {settings.ledger} {stands}. What will be done, in one transaction:")
    for each in plan.steps:
        say(f"  {each.revision}  {each.about}")
