"""Where terms stand in some entries: of the index's pages, the parts that tell it are read."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.ext.asyncio import AsyncSession

from memory.database.statements import rows_of
from memory.errors import Unavailable
from memory.search.pages import spans
from memory.search.segments import Posting, Segment

__all__ = ["POSITIONS", "Moved", "Positions", "Wanted", "read"]

POSITIONS: Final = """
    SELECT (
        SELECT substring(positions FROM asked.begin FOR asked.size) FROM search_postings
        WHERE segment = asked.segment AND first = asked.page
    ) AS positions
    FROM unnest($1::int[], $2::text[], $3::int[], $4::int[]) WITH ORDINALITY
        AS asked (segment, page, begin, size, number)
    ORDER BY number
"""

_GAP: Final = (
    8_000  # positions that are read rather than looked past: as long as another look takes
)
_WIDE: Final = 2  # bytes of a position


class Moved(Unavailable):
    """A segment was joined with others since it was looked up; a second search finds it whole."""

    default_code = "index_moved"

    def __init__(self) -> None:
        """Say what to do, for when it happens again and again."""
        super().__init__("The search index is being rewritten; ask again in a moment.")


class Wanted(NamedTuple):
    """Some entries of a posting, by their places in it, in order."""

    segment: Segment
    posting: Posting
    at: NDArray[np.intp]

    @property
    def numbers(self) -> list[int]:
        """The entries' numbers in the index."""
        found: list[int] = (self.posting.places[self.at] + self.segment.first).tolist()
        return found

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many positions each of the entries has."""
        return self.posting.counts[self.at].astype(np.int64)


Positions = NDArray[np.uint16]
"""Numbers of words, modulo `packed.WRAP`, entry after entry."""


async def read(session: AsyncSession, wanted: Sequence[Wanted]) -> list[Positions]:
    """Return where the terms of stored postings stand in some of their entries.

    Raises Moved when a segment is not there any more.
    """
    plans = [_Plan.of(each) for each in wanted]
    asked = [part for each, plan in zip(wanted, plans, strict=True) for part in plan.asked(each)]
    if not asked:
        return [np.zeros(0, dtype=np.uint16) for _ in wanted]
    rows = await rows_of(session, POSITIONS, *zip(*asked, strict=True))
    if any(row["positions"] is None for row in rows):
        raise Moved
    found, at = [], 0
    for plan in plans:
        behind = at + len(plan.begins)
        stored = b"".join(row["positions"] for row in rows[at:behind])
        found.append(np.frombuffer(stored, dtype="<u2")[plan.spots])
        at = behind
    return found


class _Plan(NamedTuple):
    """Which runs of a page's positions are read, and which of what is read is wanted."""

    begins: NDArray[np.int64]
    sizes: NDArray[np.int64]
    spots: NDArray[np.int64]

    @classmethod
    def of(cls, wanted: Wanted) -> "_Plan":
        """Plan the reading: what stands near together is read at once."""
        counts = wanted.counts
        behind = np.cumsum(wanted.posting.counts, dtype=np.int64)[wanted.at]
        behind += int(np.frombuffer(wanted.posting.before, dtype=np.uint8).sum())
        begins = behind - counts
        is_new = np.concatenate(([True], begins[1:] - behind[:-1] > _GAP))[: len(begins)]
        is_last = np.concatenate((is_new[1:], [True]))[: len(begins)]
        first, sizes = begins[is_new], behind[is_last] - begins[is_new]
        run = np.cumsum(is_new) - 1
        own = begins - first[run] + (np.cumsum(sizes) - sizes)[run]
        return cls(first, sizes, spans(own, counts))

    def asked(self, wanted: Wanted) -> list[tuple[Any, ...]]:
        """Return the runs as POSITIONS takes them."""
        page = wanted.posting.page
        begins, sizes = (_WIDE * self.begins + 1).tolist(), (_WIDE * self.sizes).tolist()
        return [
            (wanted.segment.id, page, begin, size)
            for begin, size in zip(begins, sizes, strict=True)
        ]
