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
from memory.search.beginnings import letters_of, with_beginnings, words_among, words_of
from memory.search.candidates import Candidate
from memory.search.exact import Quoted
from memory.search.hints import (
    TIME_WORDS,
    Hints,
    asks_when,
    hints_of,
    people_among,
    told_apart,
)
from memory.search.labels import filters
from memory.search.matches import Matches
from memory.search.ranked import Ranked
from memory.search.reach import Reach, first_recent
from memory.search.request import Request, is_filtered
from memory.search.scores import SESSION, term_weights

__all__ = ["DEEPEST", "DEPTH", "DIFFERENT", "Found", "gather", "with_meaning"]

DEPTH: Final = 200
"""Best entries by their words that are looked at: copies, newer versions, who spoke and when."""
DIFFERENT: Final = 100
"""Entries that say something different, as many as can be paged through: for these it goes deeper."""
DEEPEST: Final = 3_200
"""Best entries that are looked at, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What matches a query, and what is needed to rank it.

    ``entries`` are those worth a look; ``ranked`` knows all. ``shown`` are the lexemes to be marked
    in a text; ``cut`` are the beginnings of more words than were searched for. ``weights`` are
    those of the query's lexemes.
    """

    query: text.Query
    reach: Reach
    ranked: Ranked
    weights: Mapping[str, float]
    average: float
    entries: Mapping[uuid.UUID, Candidate]
    hints: Hints
    shown: Collection[str] = ()
    cut: Sequence[str] = ()
    ids: Sequence[uuid.UUID] = ()
    phrases: Sequence[Quoted] = ()
    cosines: Mapping[uuid.UUID, float] = field(default_factory=dict)

    @property
    def is_repeated(self) -> bool:
        """Whether so many say the same that others which match were not looked at."""
        return len(self.entries) >= DEEPEST and _different(self.entries) < DIFFERENT

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
    found = await _matched(session, request, query)
    quoted = [await _quoted(session, phrase, found) for phrase in query.phrases]
    ids = await exact.by_id(session, query.ids, request)
    named = set(ids).union(*(each.entries for each in quoted)) - found.entries.keys()
    entries = {**found.entries, **await found.reach.by_entry(session, named)}
    entries |= await found.reach.unnumbered(session, named - entries.keys())
    return replace(found, phrases=quoted, ids=ids, entries=entries)


async def _matched(session: AsyncSession, request: Request, query: text.Query) -> Found:
    """Find and rank what holds words of the query."""
    of_phrases = {lexeme for phrase in query.phrases for lexeme in exact.words_of(phrase)}
    conditions = filters(request)
    labels = [label for condition in conditions for label in condition.labels]
    times = TIME_WORDS if asks_when(request.query) else ()
    terms = [*dict.fromkeys((*query.words, *query.terms, *of_phrases, *times)), *labels]
    # The index before the tail: what is indexed meanwhile is then in both, and not in neither.
    letters = [letters_of(each) for each in query.beginnings]
    looked = await lookup.read(session, terms, letters)
    newest = await tail.read(session, looked.progress, request)
    begun = words_among(looked.postings, query.beginnings)

    def match() -> tuple[Matches, Mapping[str, Collection[str]]]:
        recent = words_of(newest.sources, query.beginnings)
        words = {each: begun[each] | recent[each] for each in query.beginnings}
        segment, postings = tail.as_segment(
            newest.sources, {*terms}.union(*words.values()), first=first_recent(looked.progress)
        )
        segments = (*looked.segments, segment)
        some = [
            with_beginnings(each, held, words)
            for each, held in zip(segments, (*looked.postings, postings), strict=True)
        ]
        span = {"since": request.since, "until": request.until}
        # Those of phrases as well, of which a long query's words may have been cut off.
        lexemes = tuple(dict.fromkeys((*query.lexemes, *of_phrases)))
        return matches.match(segments, some, lexemes, conditions, **span), words

    matched, words = await asyncio.to_thread(match)
    reach = Reach(progress=looked.progress, tail=newest, matches=matched)
    found = await _ranked(session, request, query, reach)
    shown = {*query.words, *query.terms}.union(*words.values())
    cut = [each for each in query.beginnings if len(begun[each]) > lookup.MAX_BEGUN]
    return replace(found, shown=shown, cut=cut)


async def _ranked(
    session: AsyncSession,
    request: Request,
    query: text.Query,
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
        entries = await _best(session, reach, found)
        named = people_among(entries.values(), request.query)
        if people or not named:
            break
        people = named
    return Found(
        query=query,
        reach=reach,
        ranked=found,
        weights=weights,
        average=average,
        entries=entries,
        hints=hints_of(request.query, people, now=datetime.now(UTC)),
    )


async def _best(session: AsyncSession, reach: Reach, found: Ranked) -> dict[uuid.UUID, Candidate]:
    """Return the best by their words, and more of them while most say the same."""
    depth = DEPTH
    while True:
        entries = await reach.by_ordinal(session, found.best(depth, session=SESSION))
        if _different(entries) >= DIFFERENT or len(entries) < depth or depth >= DEEPEST:
            return entries
        depth *= 4


def _different(entries: Mapping[uuid.UUID, Candidate]) -> int:
    """Count what some entries say, each text once."""
    return len({each.said for each in entries.values()})


async def _quoted(session: AsyncSession, phrase: str, found: Found) -> Quoted:
    """Return the entries that hold a phrase, indexed or not."""
    indexed = await exact.by_phrase(session, phrase, found.reach)
    recent = await asyncio.to_thread(exact.recent_with, phrase, found.reach.tail.sources)
    return Quoted(indexed.entries | recent, indexed.is_complete)


def _few(reach: Reach, request: Request) -> meaning.Few | None:
    """Return the indexed entries that a filter leaves, if they are few."""
    span = {"since": request.since, "until": request.until}
    left = matches.allowed(reach.matches, filters(request), **span)
    left = left[left < first_recent(reach.progress)]
    return (
        meaning.Few(reach.progress.generation, left.tolist())
        if len(left) <= meaning.MAX_FEW
        else None
    )


async def with_meaning(session: AsyncSession, found: Found, asked: meaning.Asked) -> Found:
    """Add the entries near in meaning, and how near the best by words are."""
    reach, request = found.reach, asked.request
    recent = {each.id for each in reach.tail.sources}
    near = await meaning.nearest(
        session,
        asked,
        also=[*found.entries, *(recent - found.entries.keys())],
        few=await asyncio.to_thread(_few, reach, request) if is_filtered(request) else None,
    )
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
