"""Generations of the index, and how far each has come along the change feed.

The live one answers. Another is built beside it when the rules have changed or somebody asks for
it, takes its place once it has caught up, and the old one is removed piece by piece after a while.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

from sqlalchemy import ColumnElement, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from memory.crud import horizon
from memory.models import Entry
from memory.projections import SearchProgress, SearchSegment

__all__ = [
    "COUNT_LIMIT",
    "KEPT",
    "Progress",
    "State",
    "after",
    "behind",
    "below_horizon",
    "following",
    "forget",
    "generations",
    "read",
    "retire",
    "retired",
    "write",
]

COUNT_LIMIT: Final = 100_000
"""Entries behind a place are counted up to here; beyond, the number is a lower bound."""
KEPT: Final = timedelta(minutes=5)
"""How long a retired generation stays: longer than any search that began with it may take."""


class State(StrEnum):
    """What a generation is for."""

    LIVE = "live"
    BUILDING = "building"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """A generation: the last indexed place of the feed, and what it holds up to there.

    ``total_length`` is in words. ``rules`` is the version of the rules that cut the words.
    """

    generation: int = 1
    epoch: int = 0
    xid: int = 0
    seq: int = 0
    entries: int = 0
    total_length: int = 0
    rules: int

    @property
    def average_length(self) -> float:
        """Words of an average entry; 0 when none is indexed."""
        return self.total_length / self.entries if self.entries else 0.0


_COLUMNS: Final = tuple(getattr(SearchProgress, name) for name in Progress.__slots__)


async def read(session: AsyncSession) -> Progress | None:
    """Return the generation that answers, or None when nothing was ever indexed."""
    return (await generations(session)).get(State.LIVE)


async def generations(session: AsyncSession) -> Mapping[State, Progress]:
    """Return the generation that answers and the one that is built, as far as they exist."""
    some = select(SearchProgress.state, *_COLUMNS).where(SearchProgress.state != State.RETIRED)
    found: dict[State, Progress] = {}
    for state, *values in await session.execute(some):
        names = zip(Progress.__slots__, values, strict=True)
        found[State(state)] = Progress(**dict(names))
    return found


async def following(session: AsyncSession) -> int:
    """Return a number that no generation has had of which anything is left."""
    numbers = (select(func.max(each.generation)) for each in (SearchProgress, SearchSegment))
    used = [await session.scalar(each) or 0 for each in numbers]
    return max(used) + 1


async def write(session: AsyncSession, progress: Progress, state: State) -> None:
    """Remember how far a generation has come, and what it is for."""
    values = {name: getattr(progress, name) for name in Progress.__slots__}
    statement = insert(SearchProgress).values(state=state, **values)
    changes = {**values, "state": state}
    await session.execute(
        statement.on_conflict_do_update(index_elements=[SearchProgress.generation], set_=changes)
    )


async def retire(session: AsyncSession, progress: Progress) -> None:
    """Have a generation answer no more; what it holds stays for KEPT."""
    await session.execute(
        update(SearchProgress)
        .where(SearchProgress.generation == progress.generation)
        .values(state=State.RETIRED, changed_at=func.clock_timestamp())
    )


async def retired(session: AsyncSession) -> int | None:
    """Return the number of a generation that was retired long enough ago, if there is one."""
    long_ago = SearchProgress.changed_at < func.clock_timestamp() - KEPT
    some = select(SearchProgress.generation).where(SearchProgress.state == State.RETIRED, long_ago)
    found: int | None = await session.scalar(some.limit(1))
    return found


async def forget(session: AsyncSession, generation: int) -> None:
    """Forget a generation that holds nothing any more."""
    await session.execute(delete(SearchProgress).where(SearchProgress.generation == generation))


def after(progress: Progress) -> ColumnElement[bool]:
    """Return the condition that an entry lies behind the index's place."""
    return horizon.after((progress.epoch, progress.xid, progress.seq))


async def below_horizon(session: AsyncSession) -> ColumnElement[bool]:
    """Return the condition that no older entry can still appear before an entry."""
    return horizon.settled(await horizon.horizon(session))


async def behind(session: AsyncSession, *conditions: ColumnElement[bool]) -> int:
    """Count the entries of some conditions, at most COUNT_LIMIT."""
    some = select(Entry.seq).where(*conditions).limit(COUNT_LIMIT)
    return int(await session.scalar(select(func.count()).select_from(some.subquery())) or 0)
