"""What other packages add: commands and checks, by entry points."""

from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

import typer

from memory.errors import LedgerError

__all__ = ["CHECKS", "COMMANDS", "NOTES", "as_command", "named", "points"]

COMMANDS: Final = "memory.commands"
"""The group of commands: a name, and a typer app or a function."""

CHECKS: Final = "memory.checks"
"""The group of checks for the doctor: see `memory.cli.checks.Checks`."""

NOTES: Final = "memory.status"
"""The group of what is told beside the ledger's own status: see `memory.cli.checks.Notes`."""


def points(group: str) -> dict[str, EntryPoint]:
    """Return a group's entry points by name."""
    return {each.name: each for each in entry_points(group=group)}


def named(entry_point: EntryPoint) -> Any:
    """Load what an entry point names. Raises LedgerError when its package is broken."""
    try:
        return entry_point.load()
    except (ImportError, AttributeError) as error:
        message = f"{entry_point.value} cannot be loaded ({error}); install its package again."
        raise LedgerError(message, code="broken_package") from error


def as_command(found: Any, name: str) -> Any:
    """Return the command that a typer app, or a function, stands for."""
    app = found
    if not isinstance(found, typer.Typer):
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command()(found)
    command = typer.main.get_command(app)
    command.name = name
    return command
