"""Whose turn it is: many files are read side by side, so that a long one starves no other."""

from collections import Counter, deque
from collections.abc import Iterable
from typing import Final

from importers.base import Source

__all__ = ["ACTIVE", "SHARE", "Turns"]

ACTIVE: Final = 8
"""Sources that are read in rotation, one batch each; a compressed one stays open meanwhile."""

SHARE: Final = 32
"""Batches after which a source goes behind those that still wait for a first turn."""


class Turns:
    """The sources of one pass, each given out again and again until it is done.

    A source waits for those it names in ``after``, which may hold the originals of its records.
    Several may be out at once; each is brought back by `again` or `done`.
    """

    def __init__(self, sources: Iterable[Source]) -> None:
        """Begin with all sources waiting, in this order."""
        self._waiting = deque(sources)
        self._active: deque[Source] = deque()
        self._open = {source.key for source in self._waiting}
        self._batches: Counter[str] = Counter()
        self._out = 0

    @property
    def left(self) -> int:
        """How many sources are not done."""
        return len(self._open)

    def next(self) -> Source | None:
        """Return the source whose turn it is.

        None when all are done, or those that are left wait for one that is out.
        """
        while len(self._active) < ACTIVE and (source := self._startable()):
            self._active.append(source)
        if not self._active:
            return None
        self._out += 1
        return self._active.popleft()

    def again(self, source: Source) -> None:
        """Put a source back that has more to read."""
        self._out -= 1
        self._batches[source.key] += 1
        has_had_share = self._batches[source.key] % SHARE == 0
        (self._waiting if has_had_share else self._active).append(source)

    def done(self, source: Source) -> None:
        """Let those begin that wait for this source."""
        self._out -= 1
        self._open.discard(source.key)

    def _startable(self) -> Source | None:
        for place, source in enumerate(self._waiting):
            if self._open.isdisjoint(source.after):
                del self._waiting[place]
                return source
        if self._waiting and not self._active and not self._out:
            return self._waiting.popleft()  # they wait for one another: no reason to read none
        return None
