"""Everything that matches a query: in the index, not indexed yet, by id, by phrase, by meaning."""

import asyncio
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from sqlalchemy.ext.asyncio import AsyncSession

from memory import text
from memory.search import candidates, exact, lookup, matches, meaning, ranking, tail
from memory.search.candidates import Candidate
from memory.search.exact import Quoted
from memory.search.hints import TIME_WORDS, Hints, asks_when, hints_of, people_among, told_apart
from memory.search.labels import filters
from memory.search.matches import Matches, Ranked
from memory.search.place import Progress
from memory.search.request import Request
from memory.search.scores import SESSION, term_weights
from memory.search.segments import BLOCK
from memory.search.tail import Tail

__all__ = ["DEPTH", "MAX_PHRASES", "Found", "gather", "with_meaning"]

DEPTH: Final = 200
"""Best entries by their words that are looked at closely: order, versions, copies."""
MAX_PHRASES: Final = 4
"""Quoted phrases of one query that are looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What matches a query, and what is needed to rank it.

    ``entries`` are those worth a close look; ``ranked`` knows all. Entries not indexed yet have
    the numbers from ``first_recent`` on. ``weights`` are those of the query's lexemes.
    """

    query: text.Query
    progress: Progress
    tail: Tail
    first_recent: int
    ranked: Ranked
    weights: Mapping[str, float]
    average: float
    entries: Mapping[uuid.UUID, Candidate]
    ids: Sequence[uuid.UUID]
    phrases: Sequence[Quoted]
    hints: Hints
    cosines: Mapping[uuid.UUID, float] = field(default_factory=dict)

    @property
    def matches(self) -> Matches:
        """Every entry that holds a word of the query."""
        return self.ranked.matches

    @property
    def recent(self) -> int:
        """How many of them are not indexed yet."""
        return self.matches.counts[-1]

    def is_match(self, entry_id: uuid.UUID) -> bool:
        """Tell whether one of ``entries`` holds a word of the query."""
        places = self.entries[entry_id].places if entry_id in self.entries else {}
        return any(lexeme in places for lexeme in self.query.lexemes)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reach:
    """Where the entries of one search are read from."""

    progress: Progress
    recent: Tail
    first_recent: int
    lexemes: Collection[str]

    @property
    def generation(self) -> int:
        """The generation of the index."""
        return self.progress.generation

    async def by_ordinal(
        self, session: AsyncSession, ordinals: Sequence[int]
    ) -> dict[uuid.UUID, Candidate]:
        """Return the entries with these numbers."""
        indexed = [each for each in ordinals if each < self.first_recent]
        found = await candidates.read(session, self.generation, indexed, self.lexemes)
        found += [
            self._recent(ordinal - self.first_recent)
            for ordinal in ordinals
            if ordinal >= self.first_recent
        ]
        return {each.id: each for each in found}

    async def by_entry(
        self, session: AsyncSession, ids: Collection[uuid.UUID]
    ) -> dict[uuid.UUID, Candidate]:
        """Return those of these entries that are indexed or among the newest."""
        found = await candidates.read_entries(session, self.generation, ids, self.lexemes)
        found += [self._recent(at) for at, each in enumerate(self.recent.sources) if each.id in ids]
        return {each.id: each for each in found}

    def _recent(self, at: int) -> Candidate:
        source = self.recent.sources[at]
        return tail.candidate_of(source, self.lexemes, ordinal=self.first_recent + at)


def _reach(query: text.Query, progress: Progress, recent: Tail, *, asks_when: bool) -> _Reach:
    """Return where the entries are read from; words that tell a time are read where asked for."""
    return _Reach(
        progress=progress,
        recent=recent,
        first_recent=-(-progress.entries // BLOCK) * BLOCK,
        lexemes=(*query.lexemes, *(TIME_WORDS if asks_when else ())),
    )


async def gather(session: AsyncSession, request: Request, query: text.Query) -> Found:
    """Find what matches, in the index, in the tail, by id and by phrase."""
    phrases = query.phrases[:MAX_PHRASES]
    found, reach = await _matched(session, request, query, phrases)
    quoted = [await _quoted(session, phrase, found) for phrase in phrases]
    ids = await exact.by_id(session, query.ids, request)
    named = set(ids).union(*(each.entries for each in quoted)) - found.entries.keys()
    entries = {**found.entries, **await reach.by_entry(session, named)}
    return replace(found, phrases=quoted, ids=ids, entries=entries)


async def _matched(
    session: AsyncSession, request: Request, query: text.Query, phrases: Sequence[str]
) -> tuple[Found, _Reach]:
    """Find and rank what holds words of the query."""
    of_phrases = {lexeme for phrase in phrases for lexeme in exact.words_of(phrase)}
    conditions = filters(request)
    labels = [label for condition in conditions for label in condition.labels]
    begun = [
        word
        for beginning in query.beginnings
        for word in await lookup.beginning_with(session, beginning)
    ]
    terms = list(dict.fromkeys((*query.lexemes, *begun, *of_phrases, *labels)))
    # The index before the tail: what is indexed meanwhile is then in both, and not in neither.
    looked = await lookup.read(session, terms)
    newest = await tail.read(session, looked.progress, request)
    if query.beginnings:
        recent = sorted(tail.beginning_with(newest.sources, query.beginnings))
        terms += recent
        query = replace(query, words=tuple(dict.fromkeys((*query.words, *begun, *recent))))
    reach = _reach(query, looked.progress, newest, asks_when=asks_when(request.query))

    def match() -> Matches:
        segment, postings = tail.as_segment(
            newest.sources, frozenset(terms), first=reach.first_recent
        )
        segments, some = (*looked.segments, segment), (*looked.postings, postings)
        span = {"since": request.since, "until": request.until}
        return matches.match(segments, some, query.lexemes, conditions, **span)

    matched = await asyncio.to_thread(match)
    return await _ranked(session, request, query, matched, reach), reach


async def _ranked(
    session: AsyncSession,
    request: Request,
    query: text.Query,
    matched: Matches,
    reach: _Reach,
) -> Found:
    """Rank what matches; who is named as a speaker shows in the best, and changes the weights."""
    people: Collection[str] = frozenset()
    progress = reach.progress
    lengths = matched.segments[-1].lengths
    average = progress.average_length or max(1.0, float(lengths.mean()) if len(lengths) else 1.0)
    while True:
        weights = ranking.weights(
            query.lexemes,
            matched.frequencies,
            entries=progress.entries + len(reach.recent.sources),
            without=told_apart(request.query, people),
        )
        weights = term_weights(query, weights)
        ranked = await asyncio.to_thread(matches.rank, matched, weights, average=average)
        entries = await reach.by_ordinal(session, ranked.best(DEPTH, session=SESSION))
        named = people_among(entries.values(), request.query)
        if people or not named:
            break
        people = named
    return Found(
        query=query,
        progress=progress,
        tail=reach.recent,
        first_recent=reach.first_recent,
        ranked=ranked,
        weights=weights,
        average=average,
        entries=entries,
        ids=(),
        phrases=(),
        hints=hints_of(request.query, people, now=datetime.now(UTC)),
    )


async def _quoted(session: AsyncSession, phrase: str, found: Found) -> Quoted:
    """Return the entries that hold a phrase, indexed or not."""
    indexed = await exact.by_phrase(
        session,
        phrase,
        found.matches,
        generation=found.progress.generation,
        first_recent=found.first_recent,
    )
    recent = {each.id for each in found.tail.sources if exact.holds(each, phrase)}
    return Quoted(indexed.entries | recent, indexed.is_complete)


async def with_meaning(
    session: AsyncSession, request: Request, found: Found, model: str, vector: Sequence[float]
) -> Found:
    """Add the entries near in meaning, and how near the best by words are."""
    near = await meaning.nearest(session, model, vector, request, also=list(found.entries))
    kept = {
        each: cosine
        for each, cosine in near.items()
        if each in found.entries or cosine >= meaning.MIN_COSINE
    }
    asks = found.hints.asks_when
    reach = _reach(found.query, found.progress, found.tail, asks_when=asks)
    further = await reach.by_entry(session, kept.keys() - found.entries.keys())
    entries = {**found.entries, **further}
    return replace(
        found,
        entries=entries,
        cosines={each: cosine for each, cosine in kept.items() if each in entries},
    )
