"""What stands beside an entry in its session, from the index's arrays."""

import random
import uuid
from collections.abc import Sequence
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st
from search_fixtures import NOON, append, ask, index_all, message, packed, start

from memory.database import Database
from memory.search import scores
from memory.search.neighbours import FARTHEST, neighbours
from memory.search.segments import Growing, Segment, segment_of
from memory.search.source import Source

ROLES = ("user", "assistant", "tool_call", "tool_result", "reasoning", "system", None)
PROSE = ("user", "assistant", None)


def source(chooser: random.Random) -> Source:
    session = chooser.randrange(4)
    return Source(
        id=uuid.uuid4(),
        kind="message",
        role=chooser.choice(ROLES),
        key=None,
        source_client="codex",
        project_id=None,
        session_id=uuid.UUID(int=session) if session else None,
        occurred_at=NOON + timedelta(hours=chooser.randrange(9)),
        content="",
        said=0,
    )


def segments_of(sources: Sequence[Source], bounds: Sequence[int]) -> list[Segment]:
    """Return the entries in segments that begin at these numbers."""
    made: list[Segment] = []
    for first, behind in zip([0, *bounds], [*bounds, len(sources)], strict=True):
        growing = Growing(first)
        for each in sources[first:behind]:
            growing.add(each, packed({}), length=1, weight=1)
        made.append(segment_of(first, growing.piece().columns))
    return made


def reference(sources: Sequence[Source], number: int) -> set[tuple[int, int]]:
    """Return the neighbours of one entry, by looking at every other."""
    own = sources[number]
    if own.session_id is None:
        return set()
    place = (own.occurred_at, number)
    others = sorted(
        (each.occurred_at, at)
        for at, each in enumerate(sources)
        if each.session_id == own.session_id and each.role in PROSE
    )
    before = [at for moment, at in others if (moment, at) < place][::-1]
    behind = [at for moment, at in others if (moment, at) > place]
    return {
        (at, distance)
        for side in (before, behind)
        for distance, at in enumerate(side[:FARTHEST], start=1)
    }


@given(st.integers(0, 10_000))
def test_arrays_give_the_neighbours_that_looking_at_every_entry_gives(seed: int) -> None:
    chooser = random.Random(seed)  # noqa: S311 - data for a test
    sources = [source(chooser) for _ in range(chooser.randrange(1, 40))]
    bounds = sorted(chooser.sample(range(len(sources)), min(2, len(sources))))
    asked = chooser.sample(range(len(sources)), chooser.randrange(1, len(sources) + 1))
    found = neighbours(segments_of(sources, bounds), [*asked, -1])
    assert found.pop(-1) == []
    assert {each: set(near) for each, near in found.items()} == {
        each: reference(sources, each) for each in asked
    }


async def test_what_stands_beside_is_found_across_the_index_and_its_tail(
    database: Database,
) -> None:
    session = await start(database, "one")
    turns = ("which port does the proxy take", "it takes 8443", "and the health check")
    drafts = [
        message(text, session_id=session, source_id=str(at), position=at)
        for at, text in enumerate(turns)
    ]
    await append(database, *drafts[:2])
    await index_all(database)
    await append(database, drafts[2], message("8443 outside of any session"))
    answer = await ask(database, "proxy health 8443")
    by_text = {hit.entry.content: hit.why.parts for hit in answer.hits}
    assert by_text[turns[1]]["neighbours"] > 0
    assert by_text[turns[2]]["neighbours"] > 0
    assert "neighbours" not in by_text["8443 outside of any session"]
    assert max(scores.NEIGHBOURS) == FARTHEST
