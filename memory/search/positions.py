"""Where terms stand in some entries: of the index's pages, the parts that tell it are read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.ext.asyncio import AsyncSession

from memory.database.statements import rows_of
from memory.errors import Unavailable
from memory.search.pages import SPOT, spans
from memory.search.segments import Posting, Segment

__all__ = ["POSITIONS", "Moved", "Plan", "Wanted", "WordNumbers", "plan_of", "read"]

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


class Moved(Unavailable):
    """A segment was joined with others since it was looked up; a second search finds it whole."""

    default_code = "index_moved"

    def __init__(self) -> None:
        """Say what to do, for when it happens again and again."""
        super().__init__("The search index is being rewritten; ask again in a moment.")


class Wanted(NamedTuple):
    """Some entries of a posting, at least one, by their places in it, in order."""

    segment: Segment
    posting: Posting
    at: NDArray[np.intp]

    @property
    def numbers(self) -> list[int]:
        """The entries' numbers in the index."""
        found: list[int] = (self.posting.places[self.at] + self.segment.first).tolist()
        return found

    @property
    def ends(self) -> NDArray[np.int64]:
        """Where the positions of each of the entries end in the page."""
        ends = np.cumsum(self.posting.counts, dtype=np.int64)[self.at]
        return ends + int(np.frombuffer(self.posting.before, dtype=np.uint8).sum())

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many positions each of the entries has."""
        return self.posting.counts[self.at].astype(np.int64)


WordNumbers = NDArray[np.uint16]
"""Numbers of words, modulo `packed.WRAP`, entry after entry."""


async def read(session: AsyncSession, wanted: Sequence[Wanted]) -> list[WordNumbers]:
    """Return where the terms of stored postings stand in some of their entries.

    Raises Moved when a segment is not there any more.
    """
    if not wanted:
        return []
    plan = plan_of(wanted)
    rows = await rows_of(session, POSITIONS, *plan.asked(wanted))
    if any(row["positions"] is None for row in rows):
        raise Moved
    stored = b"".join(row["positions"] for row in rows)
    found = np.frombuffer(stored, dtype="<u2")[plan.spots]
    return np.split(found, plan.ends[:-1])


@dataclass(frozen=True, slots=True)
class Plan:
    """Which runs of positions are read, of which of what is wanted, and what of them is wanted.

    ``ends`` tells where the positions of each Wanted end among ``spots``.
    """

    owners: NDArray[np.int64]
    begins: NDArray[np.int64]
    sizes: NDArray[np.int64]
    spots: NDArray[np.int64]
    ends: NDArray[np.int64]

    def asked(self, wanted: Sequence[Wanted]) -> tuple[list[Any], ...]:
        """Return the runs as POSITIONS takes them."""
        named = [wanted[owner] for owner in self.owners.tolist()]
        return (
            [each.segment.id for each in named],
            [each.posting.page for each in named],
            (SPOT * self.begins + 1).tolist(),
            (SPOT * self.sizes).tolist(),
        )


def plan_of(wanted: Sequence[Wanted]) -> Plan:
    """Plan the reading of positions: what stands near together is read at once."""
    counts = np.concatenate([each.counts for each in wanted])
    behind = np.concatenate([each.ends for each in wanted])
    owner = np.repeat(np.arange(len(wanted)), [len(each.at) for each in wanted])
    begins = behind - counts
    is_new = np.ones(len(begins), dtype=np.bool_)
    is_new[1:] = (begins[1:] - behind[:-1] > _GAP) | (owner[1:] != owner[:-1])
    is_last = np.append(is_new[1:], True)
    first, sizes = begins[is_new], behind[is_last] - begins[is_new]
    run = np.cumsum(is_new) - 1
    own = begins - first[run] + (np.cumsum(sizes) - sizes)[run]
    wide = np.bincount(owner, counts, len(wanted)).astype(np.int64)
    return Plan(owner[is_new], first, sizes, spans(own, counts), np.cumsum(wide))
