"""Everything that matches a query: in the index, not indexed yet, by id, by phrase, by meaning."""

import asyncio
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from sqlalchemy.ext.asyncio import AsyncSession

from memory import text
from memory.search import exact, lookup, matches, meaning, ranked, ranking, tail
from memory.search.candidates import Candidate
from memory.search.exact import Quoted
from memory.search.hints import Hints, hints_of, people_among, told_apart
from memory.search.labels import filters
from memory.search.matches import Matches, Postings
from memory.search.ranked import Ranked
from memory.search.reach import Reach, first_recent
from memory.search.request import Request
from memory.search.scores import SESSION, term_weights
from memory.search.segments import Segment, together

__all__ = ["DEPTH", "MAX_PHRASES", "Found", "gather", "with_meaning"]

DEPTH: Final = 200
"""Best entries by their words that are looked at closely: order, versions, copies."""
MAX_PHRASES: Final = 4
"""Quoted phrases of one query that are looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What matches a query, and what is needed to rank it.

    ``entries`` are those worth a look; ``ranked`` knows all. ``shown`` are the lexemes to be
    marked in a text. ``weights`` are those of the query's lexemes.
    """

    query: text.Query
    shown: Collection[str]
    reach: Reach
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
        return self.reach.matches

    @property
    def recent(self) -> int:
        """How many of them are not indexed yet."""
        return self.matches.counts[-1]

    def is_match(self, entry_id: uuid.UUID) -> bool:
        """Tell whether one of ``entries`` holds a word of the query."""
        return bool(self.entries[entry_id].counts)


async def gather(session: AsyncSession, request: Request, query: text.Query) -> Found:
    """Find what matches, in the index, in the tail, by id and by phrase."""
    phrases = query.phrases[:MAX_PHRASES]
    found = await _matched(session, request, query, phrases)
    quoted = [await _quoted(session, phrase, found) for phrase in phrases]
    ids = await exact.by_id(session, query.ids, request)
    named = set(ids).union(*(each.entries for each in quoted)) - found.entries.keys()
    entries = {**found.entries, **await found.reach.by_entry(session, named)}
    entries |= await found.reach.unnumbered(session, named - entries.keys())
    return replace(found, phrases=quoted, ids=ids, entries=entries)


async def _matched(
    session: AsyncSession, request: Request, query: text.Query, phrases: Sequence[str]
) -> Found:
    """Find and rank what holds words of the query."""
    of_phrases = {lexeme for phrase in phrases for lexeme in exact.words_of(phrase)}
    conditions = filters(request)
    labels = [label for condition in conditions for label in condition.labels]
    begun = {each: await lookup.beginning_with(session, each) for each in query.beginnings}
    written = {*query.words, *query.terms}.union(*begun.values())
    terms = [*(written | of_phrases), *labels]
    # The index before the tail: what is indexed meanwhile is then in both, and not in neither.
    looked = await lookup.read(session, terms)
    newest = await tail.read(session, looked.progress, request)
    for beginning in begun:
        recent = tail.beginning_with(newest.sources, beginning)
        begun[beginning] |= recent
        written |= recent
        terms += recent

    def match() -> Matches:
        segment, postings = tail.as_segment(
            newest.sources, frozenset(terms), first=first_recent(looked.progress)
        )
        segments = (*looked.segments, segment)
        some = [
            _with_beginnings(each, held, begun)
            for each, held in zip(segments, (*looked.postings, postings), strict=True)
        ]
        span = {"since": request.since, "until": request.until}
        return matches.match(segments, some, query.lexemes, conditions, **span)

    matched = await asyncio.to_thread(match)
    reach = Reach(progress=looked.progress, tail=newest, matches=matched)
    return await _ranked(session, request, query, written, reach)


def _with_beginnings(
    segment: Segment, postings: Postings, begun: Mapping[str, Collection[str]]
) -> Postings:
    """Add what holds any word that begins as asked, as the posting of one lexeme."""
    added = {
        beginning: together(
            [postings[each] for each in words if each in postings], entries=segment.entries
        )
        for beginning, words in begun.items()
    }
    return {**postings, **added} if added else postings


async def _ranked(
    session: AsyncSession,
    request: Request,
    query: text.Query,
    shown: Collection[str],
    reach: Reach,
) -> Found:
    """Rank what matches; who is named as a speaker shows in the best, and changes the weights."""
    people: Collection[str] = frozenset()
    progress, matched = reach.progress, reach.matches
    lengths = matched.segments[-1].lengths
    average = progress.average_length or max(1.0, float(lengths.mean()) if len(lengths) else 1.0)
    while True:
        weights = ranking.weights(
            query.lexemes,
            matched.frequencies,
            entries=progress.entries + len(reach.tail.sources),
            without=told_apart(request.query, people),
        )
        weights = term_weights(query, weights)
        found = await asyncio.to_thread(ranked.rank, matched, weights, average=average)
        entries = await reach.by_ordinal(session, found.best(DEPTH, session=SESSION))
        named = people_among(entries.values(), request.query)
        if people or not named:
            break
        people = named
    return Found(
        query=query,
        shown=shown,
        reach=reach,
        ranked=found,
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
        generation=found.reach.progress.generation,
        first_recent=first_recent(found.reach.progress),
    )
    recent = {each.id for each in found.reach.tail.sources if exact.holds(each, phrase)}
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
    further = await found.reach.by_entry(session, kept.keys() - found.entries.keys())
    entries = {**found.entries, **further}
    return replace(
        found,
        entries=entries,
        cosines={each: cosine for each, cosine in kept.items() if each in entries},
    )
