"""What `memory doctor` looks at; other packages add theirs by the entry-point group memory.checks."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from memory.settings import Settings

__all__ = ["Check", "Checks"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was really looked at.

    ``detail`` is what was found, in one line. ``remedy`` is the command, or the sentence, that
    mends it; it is shown only when ``ok`` is false.
    """

    name: str
    ok: bool
    detail: str
    remedy: str = ""


Checks = Callable[[Settings], Iterable[Check]]
"""What an entry point of the group memory.checks names; it may yield while it looks."""
