"""Which of the entries found are shown: each content once, and not above its newer version."""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from sqlalchemy.ext.asyncio import AsyncSession

from memory.database.statements import rows_of
from memory.search import scores as scoring
from memory.search.candidates import Candidate
from memory.search.scores import Scores

__all__ = ["NEWER", "Shown", "newer_of", "without_copies"]

NEWER: Final = "SELECT supersedes, id FROM entries WHERE supersedes = ANY ($1::uuid[])"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """An entry to be shown: its newer version, and how many entries say the same."""

    id: uuid.UUID
    newer: uuid.UUID | None
    copies: int


async def newer_of(session: AsyncSession, ids: Iterable[uuid.UUID]) -> dict[uuid.UUID, uuid.UUID]:
    """Return for those of some entries that were replaced the entry that replaced them."""
    rows = await rows_of(session, NEWER, list(ids))
    return {row["supersedes"]: row["id"] for row in rows}


def without_copies(
    scores: Scores,
    entries: Mapping[uuid.UUID, Candidate],
    newer: Mapping[uuid.UUID, uuid.UUID],
) -> list[Shown]:
    """Return the entries best first, each content once; lowers superseded versions' scores."""
    scoring.lower_superseded(scores, newer)
    shown: dict[int, Shown] = {}
    for each in scoring.best(scores, len(scores)):
        said = entries[each].said
        first = shown.get(said)
        if first is not None:
            shown[said] = replace(first, copies=first.copies + 1)
        else:
            shown[said] = Shown(id=each, newer=newer.get(each), copies=1)
    return list(shown.values())
