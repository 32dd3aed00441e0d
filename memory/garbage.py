"""Python's search for cycles, made rare: what importers make in numbers is in none."""

import gc
from typing import Final

__all__ = ["rarely"]

_MADE: Final = 100_000
"""Objects that are made and kept between two searches; a batch has some ten thousand."""

_OLDER: Final = 2
"""Searches among new objects for each among older ones, so that no batch stays for long."""


def rarely() -> None:
    """Search for cycles rarely from now on, and never among what was loaded until now."""
    gc.freeze()
    gc.set_threshold(_MADE, _OLDER, _OLDER)
