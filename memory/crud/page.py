"""One page of entries."""

from dataclasses import dataclass
from typing import Final

from memory.errors import InvalidInput
from memory.models import Entry

__all__ = ["MAX_PAGE", "Page", "checked_limit"]

MAX_PAGE: Final = 1000


@dataclass(frozen=True, slots=True)
class Page:
    """Entries in order; ``next_cursor`` is None at the end."""

    entries: list[Entry]
    next_cursor: str | None


def checked_limit(limit: int) -> int:
    """Return the limit. Raises InvalidInput unless it is from 1 to MAX_PAGE."""
    if 1 <= limit <= MAX_PAGE:
        return limit
    raise InvalidInput(f"limit takes a whole number from 1 to {MAX_PAGE}.")
