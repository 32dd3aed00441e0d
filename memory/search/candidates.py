"""The entries worth a close look: their words and where these stand."""

import re
import uuid
from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy.ext.asyncio import AsyncSession

from memory.database.statements import rows_of
from memory.search.labels import CARRIED, MARK

__all__ = [
    "BY_ENTRY",
    "BY_ORDINAL",
    "ORDINALS",
    "Candidate",
    "ordinals",
    "read",
    "read_entries",
]

# Neither words nor labels hold a quote or a blank; labels stand side by side, in this order.
_WORDS: Final = re.compile(r"'([^'=][^']*)':([0-9A-D,]+)")
_LABELS: Final = re.compile("".join(f"(?:'{name}([^']*)':1A ?)?" for name in CARRIED))

# ``setweight`` marks the words looked for with the weight A and ``ts_filter`` keeps what has it,
# labels too: reading six times fewer words than ``unnest`` would (measured).
_READ: Final = """
    SELECT entry_id, ordinal, length,
        ts_filter(setweight(words, 'A', $1::text[]), '{a}')::text AS found
    FROM search WHERE generation = $2
"""
BY_ORDINAL: Final = _READ + " AND ordinal = ANY ($3::int[])"
BY_ENTRY: Final = _READ + " AND entry_id = ANY ($3::uuid[])"

ORDINALS: Final = """
    SELECT entry_id, ordinal FROM search WHERE generation = $1 AND entry_id = ANY ($2::uuid[])
"""


class Candidate(NamedTuple):
    """An entry that may answer a query.

    ``places`` gives each lexeme that was read of it with its positions as PostgreSQL writes them:
    ``3A,17A``. ``length`` is in words; ``session`` is the session's id in hexadecimal; ``speaker``
    see `memory.search.labels.speaker_of`; ``ordinal`` is its number in the index.
    """

    id: uuid.UUID
    places: dict[str, str]
    length: int
    client: str
    kind: str
    role: str
    session: str
    speaker: str
    ordinal: int

    def positions(self, lexeme: str) -> list[int]:
        """Return where a lexeme occurs: numbers of words from 1."""
        places = self.places.get(lexeme, "")
        return [int(place.rstrip("ABCD")) for place in places.split(",")] if places else []


async def read(
    session: AsyncSession, generation: int, ordinals: Sequence[int], lexemes: Collection[str]
) -> list[Candidate]:
    """Return the entries with these numbers, and where in them the lexemes stand."""
    if not ordinals:
        return []
    rows = await rows_of(session, BY_ORDINAL, list(lexemes), generation, list(ordinals))
    return [_candidate(row) for row in rows]


async def read_entries(
    session: AsyncSession,
    generation: int,
    ids: Collection[uuid.UUID],
    lexemes: Collection[str],
) -> list[Candidate]:
    """Return those of some entries that are indexed, and where in them the lexemes stand."""
    if not ids:
        return []
    rows = await rows_of(session, BY_ENTRY, list(lexemes), generation, list(ids))
    return [_candidate(row) for row in rows]


async def ordinals(
    session: AsyncSession, generation: int, ids: Collection[uuid.UUID]
) -> dict[uuid.UUID, int]:
    """Return the numbers of those of some entries that are indexed."""
    if not ids:
        return {}
    rows = await rows_of(session, ORDINALS, generation, list(ids))
    return {row["entry_id"]: row["ordinal"] for row in rows}


def _candidate(row: Any) -> Candidate:
    """Read what ``ts_filter`` kept: ``'=kind/message':1A 'retri':3A,17A``."""
    found = row["found"]
    labels = _LABELS.match(found, max(0, found.find(f"'{MARK}")))
    client, kind, role, session, speaker = (
        labels.groups(default="") if labels else ("",) * len(CARRIED)
    )
    places = dict(_WORDS.findall(found))
    return Candidate(
        row["entry_id"], places, row["length"], client, kind, role, session, speaker, row["ordinal"]
    )
