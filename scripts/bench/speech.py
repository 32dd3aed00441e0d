"""Seeded text shaped like what clients store: prompts, thoughts, calls, and above all tool output.

Output is cut from one body of code, logs, listings, diffs and JSON; its length has a long tail, and
now and then an earlier output comes back word for word, as it does when a file is read again.
"""

import itertools
import random
from collections import deque
from datetime import UTC, datetime, timedelta
from typing import Final

__all__ = ["CWD", "Clock", "Speech"]

CWD: Final = "/home/dev/proj"

_BEGIN: Final = datetime(2026, 9, 1, 8, tzinfo=UTC)
_BODYclass Clock:
    """The time in a session; each step takes a few seconds."""

    def __init__(self, speech: Speech) -> None:
        """Begin at some moment of a few months."""
        self._chance = speech.chance
        self.now = _BEGIN + timedelta(minutes=self._chance.randrange(100_000))

    def step(self) -> str:
        """Go on and return the time as a client writes it."""
        self.now += timedelta(seconds=self._chance.randrange(1, 9))
        return f"{self.now:%Y-%m-%dT%H:%M:%S}.000Z"

    @property
    def milliseconds(self) -> int:
        """The time since 1970 in milliseconds."""
        return int(self.now.timestamp() * 1000)
