"""What a checkpoint remembers of a transcript, in bounds: what was met last.

A number that tells a repeat from what it repeats is never given twice: whoever is forgotten leaves
its number as a floor, and what is new in the file counts on from there.
"""

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["count_from", "floor", "keep_counts", "meet"]

MAX_NAMES: Final = 256
"""Sessions that are remembered of one file; nearly every file has but one."""

MAX_COUNTS: Final = 256
"""Texts of one kind whose repeats are counted."""


def floor(context: Mapping[str, Any]) -> int:
    """Return the highest number that was forgotten; what is new counts on from it."""
    return int(context.get("floor", 0))


def count_from(context: dict[str, Any], number: int) -> None:
    """Forget a number: what is new in this file counts on from it."""
    if number > floor(context):
        context["floor"] = number


def meet(names: list[str], name: str) -> list[str]:
    """Put a name at the end of those met before; return those that are forgotten for it."""
    if name in names:
        names.remove(name)
    names.append(name)
    forgotten = names[:-MAX_NAMES]
    del names[:-MAX_NAMES]
    return forgotten


def keep_counts(counts: dict[str, int]) -> int:
    """Return 0 while the counts are few; else forget them all and return the highest.

    All at once, because the order of keys is not kept with a checkpoint.
    """
    if len(counts) <= MAX_COUNTS:
        return 0
    highest = max(counts.values())
    counts.clear()
    return highest
