"""What other packages add to `memory doctor` and `memory status`.

They do so by the entry-point groups memory.checks and memory.status.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory.settings import Settings

__all__ = ["Check", "Checks", "Note", "Notes"]


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


@dataclass(frozen=True, slots=True)
class Note:
    """Something to tell beside the ledger itself, which can be told while that is away.

    ``lines`` are for people; ``facts`` are JSON-safe values, which stand under the name.
    """

    name: str
    lines: Sequence[str]
    facts: Mapping[str, Any]


Notes = Callable[[Settings], Iterable[Note]]
"""What an entry point of the group memory.status names."""
