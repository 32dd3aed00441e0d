"""What a search gives back."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from memory.models import Entry

__all__ = ["Answer", "Hit", "Why"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """Why an entry is a hit: which words of the query it holds, and the parts of its score."""

    words: tuple[str, ...]
    parts: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One found entry.

    ``score`` is the sum of ``why.parts`` and orders the hits of one answer; it says nothing
    across answers. In ``snippet`` the matches stand between « and », which stand for nothing else
    there. ``superseded_by`` names the newer version when there is one. ``copies`` counts the
    entries of the same content, this one included, that the answer shows once. ``cursor`` goes on
    behind this hit.
    """

    entry: Entry
    score: float
    snippet: str
    why: Why
    superseded_by: uuid.UUID | None = None
    copies: int = 1
    cursor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The hits, best first, and what the search did to find them.

    ``total`` counts the entries that match, copies included; it is a lower bound unless
    ``total_is_exact``. ``ways`` counts the matches by how they were found: ``words`` of the index,
    ``recent`` entries not yet indexed, ``exact`` ids and identifiers, ``phrase``. ``unindexed``
    counts the newest entries that could not be searched. ``note`` is empty, or says in a sentence
    what the reader should know before trusting the hits. ``next_cursor`` goes on behind the last
    hit, and is None when nothing more was ranked.
    """

    hits: list[Hit]
    total: int
    total_is_exact: bool
    ways: Mapping[str, int]
    unindexed: int
    note: str
    next_cursor: str | None = None
