"""Waiting for a ledger that is away: longer and longer, and with a word when it begins and ends."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from importers.standby import wait
from memory.errors import LedgerError

__all__ = ["FIRST_BACKOFF", "LONGEST_BACKOFF", "Patience"]

FIRST_BACKOFF: Final = 1.0
LONGEST_BACKOFF: Final = 30.0


@dataclass(slots=True, kw_only=True)
class Patience:
    """What one process knows of the ledger's absence.

    ``say`` tells people, once for each reason; ``note`` writes each failure down; ``stop`` ends the
    waiting.
    """

    say: Callable[[str], None]
    note: Callable[[LedgerError], None]
    stop: asyncio.Event
    _seconds: float = 0.0
    _reason: str = ""

    async def wait(self, error: LedgerError) -> None:
        """Wait before the next try, after one that ended with this error."""
        self.note(error)
        if self._reason != error.code:
            self.say(f"The ledger cannot be reached, waiting: {error}")
            self._reason = error.code
        self._seconds = min(LONGEST_BACKOFF, max(FIRST_BACKOFF, self._seconds * 2))
        await wait(self.stop, seconds=self._seconds)

    def end(self) -> None:
        """Say that the ledger is back, if it was away."""
        if self._reason:
            self.say("The ledger is back; nothing was lost.")
            self._seconds, self._reason = 0.0, ""
