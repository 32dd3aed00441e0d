"""What the tests of search share: drafts, and short ways to append, index and ask."""

import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import accumulate

from memory import crud, search
from memory.database import Database
from memory.drafts import Draft, Kind, SessionDraft
from memory.search import Answer, Indexed, Request
from memory.search.candidates import Candidate
from memory.search.labels import Carried
from memory.search.packed import Packed, pack
from memory.search.pages import postings
from memory.search.segments import Growing, Posting, posting_of

NOON = datetime(2026, 9, 27, 12, tzinfo=UTC)


def message(content: str, **changes: object) -> Draft:
    """Return a user's message outside of any session."""
    draft = Draft(
        kind=Kind.MESSAGE, content=content, source_client="claude", role="user", occurred_at=NOON
    )
    return replace(draft, **changes)  # type: ignore[arg-type] # names are the test's own


def candidate(number: int, *held: str, session: str = "", **changes: object) -> Candidate:
    """Return a user's message of ten words as search looks at it, which holds some words once."""
    found = Candidate(
        id=uuid.UUID(int=number),
        counts=dict.fromkeys(held, 1),
        length=10,
        carried=Carried("codex", "message", "user", session, ""),
        occurred_at=NOON,
        said=number,
        ordinal=number,
    )
    return found._replace(**changes)


def packed(counts: Mapping[str, int]) -> Packed:
    """Return an entry's terms, each so often, one behind the other."""
    ends = list(accumulate(counts.values()))
    return pack(
        {term: range(end - counts[term], end) for term, end in zip(counts, ends, strict=True)}
    )


def postings_of(growing: Growing) -> dict[str, Posting]:
    """Return the postings of a segment that was made."""
    return {
        term: posting_of(growing.first, stored.places, stored.counts)
        for term, stored in postings(growing.piece().run)
    }


def value(kind: Kind, key: str, content: str, **changes: object) -> Draft:
    """Return a fact, decision or preference."""
    return message(content, kind=kind, key=key, role=None, **changes)


async def append(database: Database, *drafts: Draft) -> list[uuid.UUID]:
    """Append drafts and return their ids."""
    appended = await database.transact(partial(crud.append, drafts=drafts))
    return [each.id for each in appended]


async def start(database: Database, name: str, **changes: object) -> uuid.UUID:
    """Start a session and return its id."""
    draft = SessionDraft(provider="claude", source_session_id=name, source_client="claude")
    draft = replace(draft, **changes)  # type: ignore[arg-type] # names are the test's own
    view, _ = await database.transact(lambda s: crud.start_session(s, draft))
    return view.row.id


async def index_all(database: Database) -> list[Indexed]:
    """Run passes until nothing is left to index."""
    passes: list[Indexed] = []
    while not passes or passes[-1].remaining:
        passes.append(await database.transact(search.index))
    return passes


async def ask(database: Database, query: str, **changes: object) -> Answer:
    """Search."""
    request = replace(Request(query), **changes)  # type: ignore[arg-type] # names are the test's own
    return await database.transact(partial(search.search, request=request))


def contents(answer: Answer) -> list[str]:
    """Return what the hits say, best first."""
    return [hit.entry.content for hit in answer.hits]
