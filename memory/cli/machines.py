"""Which machines write to the ledger, and what they are called."""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any

import typer

from memory import crud
from memory.cli.ledger import configured, read
from memory.cli.output import Json, ago, iso, one_line, print_json, say, table
from memory.database import Transaction
from memory.machine import identify, settle, usual_label
from memory.program import typed
from memory.settings import Settings

__all__ = ["machine", "machines", "own_label"]

Label = Annotated[
    str | None, typer.Option("--label", help="Call this machine so from now on.", metavar="NAME")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    label: str
    is_new: bool


def machine(*, label: Label = None, as_json: Json = False) -> None:
    """Show this machine's id and label, or give it another label; the id stays."""
    settings = configured()
    if settings.machine == identify(settings.home):
        settle(settings.home)
    named = read(partial(_name, settings=settings, label=label), settings=settings)
    if as_json:
        print_json({"id": settings.machine, "label": named.label, "changed": named.is_new})
        return
    say(f"{one_line(named.label)}  ({settings.machine})")
    if label is None:
        say(typed("`memory machine --label NAME` calls it otherwise."))


async def _name(session: Transaction, *, settings: Settings, label: str | None) -> _Named:
    if label is None:
        return _Named(label=await own_label(session, settings), is_new=False)
    is_new = await crud.label_machine(session, settings.machine, label)
    return _Named(label=await own_label(session, settings), is_new=is_new)


async def own_label(session: Transaction, settings: Settings) -> str:
    """Return what this machine is called in the ledger, else what it would be called."""
    labels = await crud.machine_labels(session)
    return labels.get(settings.machine) or usual_label(settings.machine, settings.home)


def machines(*, as_json: Json = False) -> None:
    """List the machines that the ledger knows."""
    settings = configured()
    found = read(crud.list_machines, settings=settings)
    if as_json:
        print_json({"machines": [_facts(each, settings) for each in found]})
        return
    if not found:
        say(typed("The ledger knows no machine yet; `memory import` introduces this one."))
        return
    now = datetime.now(UTC)
    rows = [
        [
            one_line(each.label),
            f"{each.sessions:,}",
            ago(each.imported_at, now=now),
            "this one" if each.id == settings.machine else "",
            each.id,
        ]
        for each in found
    ]
    table(["machine", "sessions", "imported", "", "id"], rows, right="sessions")


def _facts(found: crud.Machine, settings: Settings) -> dict[str, Any]:
    return {
        "id": found.id,
        "label": found.label,
        "sessions": found.sessions,
        "imported_at": iso(found.imported_at),
        "is_this": found.id == settings.machine,
    }
