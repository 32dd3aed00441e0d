"""The subcommands of ``memory-import``, by name; each is loaded when it is called.

A subcommand's function takes the arguments after its name and returns the exit status.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Final, cast

__all__ = ["SUBCOMMANDS", "Subcommand", "subcommand"]

Subcommand = Callable[[Sequence[str]], int]

SUBCOMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "coverage": ("importers.commands:coverage", "Compare every store with the ledger."),
    "rescan": ("importers.commands:rescan", "Look for credentials in what is stored."),
    "service": ("importers.commands:service", "Have systemd or launchd run the importers."),
    "verify": ("importers.commands:verify", "Compare an entry with its client's record."),
}
"""Each subcommand's place, ``module:function``, and its one line of help."""


def subcommand(name: str) -> Subcommand | None:
    """Return the subcommand of this name, or None when there is none."""
    if name not in SUBCOMMANDS:
        return None
    module, _, attribute = SUBCOMMANDS[name][0].partition(":")
    return cast("Subcommand", getattr(import_module(module), attribute))
