"""Pages of entries that end where the answer is full, with a cursor to exactly there."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from memory.models import Entry
from memory.tools.answers import that_fit
from memory.tools.quotes import EXCERPT_BYTES

__all__ = ["Found", "Shown", "page_of"]


class Found(Protocol):
    """What a query returns: entries, and the cursor behind the last of them."""

    @property
    def entries(self) -> Sequence[Entry]:
        """The entries, in order."""

    @property
    def next_cursor(self) -> str | None:
        """The cursor to go on from."""


F = TypeVar("F", bound=Found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown(Generic[F]):
    """What of a page is in the answer."""

    found: F
    quotes: list[dict[str, Any]]
    is_short: bool

    @property
    def ending(self) -> dict[str, Any]:
        """How the answer goes on; ``truncated`` when it holds fewer entries than asked for."""
        told = {"truncated": True} if self.is_short else {}
        return {**told, "next_cursor": self.found.next_cursor}


async def page_of(
    load: Callable[[int], Awaitable[F]],
    quote: Callable[..., dict[str, Any]],
    *,
    limit: int,
    room: int,
) -> Shown[F]:
    """Return the entries that fit into ``room`` bytes, at most ``limit``.

    When fewer fit than there are, the query is run again for just those, so that its cursor
    stands behind the last one shown. Few entries are cut less than many.
    """
    found, is_short = await load(limit), False
    while True:
        entries = found.entries
        share = max(EXCERPT_BYTES, room // max(len(entries), 1) - EXCERPT_BYTES)
        quotes = that_fit((quote(entry, most=share) for entry in entries), room)
        if len(quotes) == len(entries):
            return Shown(found=found, quotes=quotes, is_short=is_short)
        found, is_short = await load(len(quotes)), True
