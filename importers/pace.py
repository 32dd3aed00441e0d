"""How long a watch waits between two passes: as long as their cost asks, while events are heard."""

import sys
import time
from dataclasses import dataclass
from typing import Final

__all__ = ["DOUBT_SECONDS", "IDLE_SHARE", "LONGEST_POLL", "TELLS_LATE", "Pace"]

IDLE_SHARE: Final = 0.004
"""Of one core, that passes which find nothing may take while file events wake the watch.

Waiting for file events and for signals takes about half as much again, of the one hundredth that a
watch without work may take.
"""

LONGEST_POLL: Final = 60.0
"""Seconds between two passes at most, however many files there are to look at.

So long may wait what is written first where events are silently missing.
"""

DOUBT_SECONDS: Final = 600.0
"""How long events are not relied on after a pass found what none of them had told of.

There may be none of what other machines or containers write: NFS, sshfs, bind mounts.
"""

TELLS_LATE: Final = sys.platform == "darwin"
"""Whether a file's events come when its writer closes it, and a database's not at all (FSEvents)."""


@dataclass(slots=True, kw_only=True)
class Pace:
    """What a watch knows that says when to pass again.

    ``has_failed`` while file events cannot be had, ``has_worked`` when the last pass did something.
    """

    poll_seconds: float
    has_failed: bool = False
    has_worked: bool = False
    _doubted_at: float = float("-inf")

    def doubt(self) -> None:
        """Note that a pass found what no event had told of."""
        self._doubted_at = time.monotonic()

    def is_deaf(self) -> bool:
        """Tell whether a client may write without an event that can be relied on."""
        is_doubted = time.monotonic() - self._doubted_at < DOUBT_SECONDS
        return TELLS_LATE or self.has_failed or is_doubted

    def pause(self, spent: float) -> float:
        """Return the seconds until the next pass, after one that took so many of CPU."""
        if self.has_worked or self.is_deaf():
            return self.poll_seconds
        return max(self.poll_seconds, min(LONGEST_POLL, spent / IDLE_SHARE))
