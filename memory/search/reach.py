"""Where the entries of one search are read from: the index, its tail, and at last the ledger."""

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from memory.models import Entry
from memory.search import candidates, positions, tail
from memory.search.candidates import UNNUMBERED, Candidate
from memory.search.matches import Matches, where
from memory.search.place import Progress
from memory.search.positions import Wanted
from memory.search.segments import BLOCK
from memory.search.source import COLUMNS, source_of
from memory.search.tail import Tail

__all__ = ["Reach", "first_recent"]


def first_recent(progress: Progress) -> int:
    """Return the number from which on those entries are counted that are not indexed yet."""
    return -(-progress.entries // BLOCK) * BLOCK


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """A moment of the index, what is not indexed yet, and what of both matches."""

    progress: Progress
    tail: Tail
    matches: Matches

    async def by_ordinal(
        self, session: AsyncSession, ordinals: Sequence[int]
    ) -> dict[uuid.UUID, Candidate]:
        """Return the entries with these numbers."""
        first = first_recent(self.progress)
        indexed = [each for each in ordinals if each < first]
        found = await candidates.read(session, self.progress.generation, indexed)
        found += [self._recent(each - first) for each in ordinals if each >= first]
        return self._counted(found)

    async def by_entry(
        self, session: AsyncSession, ids: Collection[uuid.UUID]
    ) -> dict[uuid.UUID, Candidate]:
        """Return those of these entries that are indexed or among the newest."""
        read = await candidates.read_entries(session, self.progress.generation, ids)
        # What was indexed since has the number of another entry here.
        found = [each for each in read if each.ordinal < self.progress.entries]
        found += [self._recent(at) for at, each in enumerate(self.tail.sources) if each.id in ids]
        return self._counted(found)

    async def unnumbered(
        self, session: AsyncSession, ids: Collection[uuid.UUID]
    ) -> dict[uuid.UUID, Candidate]:
        """Return entries that are neither indexed nor among the newest, from the ledger.

        What of the query they hold is not looked up.
        """
        if not ids:
            return {}
        rows = await session.execute(select(*COLUMNS).where(Entry.id.in_(ids)))
        found = [tail.candidate_of(source_of(row), ordinal=UNNUMBERED) for row in rows]
        return {each.id: each for each in found}

    async def places(
        self, session: AsyncSession, entries: Sequence[Candidate], lexemes: Collection[str]
    ) -> dict[uuid.UUID, Mapping[str, Collection[int]]]:
        """Return where lexemes that were looked up stand in some entries, if these have a number.

        Raises Moved, see `memory.search.positions`.
        """
        first = first_recent(self.progress)
        named = {each.ordinal: each.id for each in entries if UNNUMBERED < each.ordinal < first}
        wanted = self._wanted(named, lexemes)
        read = await positions.read(session, [each for _, each in wanted])
        found: dict[uuid.UUID, dict[str, Collection[int]]] = {each: {} for each in named.values()}
        for (lexeme, each), some in zip(wanted, read, strict=True):
            stand, begin = some.tolist(), 0
            for number, count in zip(each.numbers, each.counts.tolist(), strict=True):
                found[named[number]][lexeme] = stand[begin : begin + count]
                begin += count
        recent = {
            each.id: tail.places_of(self.tail.sources[each.ordinal - first], lexemes)
            for each in entries
            if each.ordinal >= first
        }
        return {**found, **recent}

    def holding(
        self, entries: Iterable[Candidate], lexemes: Collection[str]
    ) -> frozenset[uuid.UUID]:
        """Return those of some entries that hold any of these lexemes, which were looked up."""
        named = {each.ordinal: each.id for each in entries}
        held = [number for _, each in self._wanted(named, lexemes) for number in each.numbers]
        return frozenset(named[number] for number in held)

    def _wanted(
        self, ordinals: Collection[int], lexemes: Collection[str]
    ) -> list[tuple[str, Wanted]]:
        """Return which of the lexemes stand in entries with these numbers, and in which of them."""
        asked = np.sort(np.array(list(ordinals), dtype=np.int64))
        found: list[tuple[str, Wanted]] = []
        for segment, some in zip(self.matches.segments, self.matches.postings, strict=True):
            places = segment.places_of(asked)
            for lexeme in lexemes if len(places) else ():
                if (posting := some.get(lexeme)) is not None:
                    at, holds = where(posting.places, places)
                    if holds.any():
                        found.append((lexeme, Wanted(segment, posting, at[holds])))
        return found

    def _recent(self, at: int) -> Candidate:
        ordinal = first_recent(self.progress) + at
        return tail.candidate_of(self.tail.sources[at], ordinal=ordinal)

    def _counted(self, entries: Iterable[Candidate]) -> dict[uuid.UUID, Candidate]:
        """Return the entries by their ids, with their counts."""
        found = {each.id: each for each in entries}
        counts = self.matches.counts_in([each.ordinal for each in found.values()])
        return {name: each._replace(counts=counts[each.ordinal]) for name, each in found.items()}
