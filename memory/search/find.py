"""The search itself: from a request to an answer."""

import asyncio
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from memory import text
from memory.embeddings import Embedder
from memory.errors import InvalidInput
from memory.models import Entry
from memory.search import candidates, context, exact, meaning, place, ranking, tail, versions
from memory.search import scores as scoring
from memory.search.answer import Answer, Hit, Why
from memory.search.candidates import Candidate
from memory.search.document import RULES
from memory.search.frequencies import document_frequencies
from memory.search.hints import TIME_WORDS, Hints, hints_of, people_among
from memory.search.notes import note_of
from memory.search.place import Progress
from memory.search.request import Request, checked, is_filtered
from memory.search.scores import Scores
from memory.search.source import searchable
from memory.search.versions import Shown
from memory.search.words import covered, typed_words

__all__ = ["DEPTH", "MAX_PHRASES", "NEAR", "search"]

DEPTH: Final = 200
"""Best entries by their words that are looked at closely: order, versions, copies."""
NEAR: Final = 60
"""The best of them whose neighbours are looked at too (measured: 20 are as good as all)."""
MAX_PHRASES: Final = 4
"""Quoted phrases of one query that are looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Gathered:
    """Everything that matches a query, and what is needed to rank it."""

    query: text.Query
    entries: dict[uuid.UUID, Candidate]
    weights: Mapping[str, float]
    average: float
    ids: list[uuid.UUID]
    phrases: list[set[uuid.UUID]]
    recent: int
    unindexed: int
    is_complete: bool
    hints: Hints
    cosines: Mapping[uuid.UUID, float] = field(default_factory=dict)


async def search(
    session: AsyncSession, request: Request, *, embedder: Embedder | None = None
) -> Answer:
    """Return the entries that answer a query best.

    Words are OR-ed and ranked; an id or a quoted phrase comes first. What was appended a moment
    ago is found too. With an embedder, entries near in meaning answer as well. Raises InvalidInput
    for a query without any word to search for (``empty_query``), and for what
    `memory.search.request.checked` refuses.
    """
    request = checked(request)
    query = text.query(request.query)
    if not query:
        raise InvalidInput(
            "This query has no word to search for; name what you look for: a word that is no mere"
            " question word, an identifier, a path, an id.",
            code="empty_query",
        )
    # Before the first statement, so that no connection waits for the model.
    vector = await _vector(embedder, request.query) if embedder is not None else None
    progress = await place.read(session) or Progress(rules=RULES)
    found = await _gather(session, request, query, progress)
    if embedder is not None and vector is not None:
        found = await _with_meaning(session, request, found, embedder.name, vector)
    scores = await _ranked(session, found)
    sayings = await versions.read(session, scores)
    moments = {each: saying.occurred_at for each, saying in sayings.items()}
    scoring.add_hints(scores, found.entries, moments, found.hints)
    shown = versions.without_copies(scores, sayings)[: request.limit]
    words = typed_words(request.query)
    matching = found.entries.keys() | set(found.ids).union(*found.phrases)
    return Answer(
        hits=await _hits(session, shown, scores, found, words),
        total=len(matching),
        total_is_exact=_is_exact(found),
        ways=_ways(found),
        unindexed=found.unindexed,
        note=_note(found, request, scores, words, progress),
    )


async def _gather(
    session: AsyncSession, request: Request, query: text.Query, progress: Progress
) -> _Gathered:
    """Find what matches, in the index, in the tail, by id and by phrase."""
    now = datetime.now(UTC)
    newest = await tail.read(session, progress, request)
    recent = await asyncio.to_thread(tail.matching, newest.sources, query.lexemes, also=TIME_WORDS)
    frequencies = await document_frequencies(session, query.lexemes, entries=progress.entries)
    indexed = await candidates.find(session, request, frequencies, also=TIME_WORDS, now=now)
    in_tail = Counter(lexeme for each in recent for lexeme in each.places)
    entries_by_id = {each.id: each for each in (*indexed.candidates, *recent)}
    people = people_among(entries_by_id.values(), request.query)
    phrases = [
        await exact.by_phrase(session, phrase, request, now=now)
        | {each.id for each in newest.sources if exact.holds(each, phrase)}
        for phrase in query.phrases[:MAX_PHRASES]
    ]
    return _Gathered(
        query=query,
        entries=entries_by_id,
        weights=ranking.weights(
            query.lexemes,
            Counter(frequencies) + in_tail,
            entries=progress.entries + len(newest.sources),
            without=text.query(" ".join(people)).words,
        ),
        average=progress.average_length or _average(recent),
        ids=await exact.by_id(session, query.ids, request),
        phrases=phrases,
        recent=len(recent),
        unindexed=newest.unindexed,
        is_complete=indexed.is_complete,
        hints=hints_of(request.query, people, now=now),
    )


async def _vector(embedder: Embedder, query: str) -> Sequence[float]:
    return (await asyncio.to_thread(embedder.embed, [text.clean(query)[0]]))[0]


async def _with_meaning(
    session: AsyncSession,
    request: Request,
    found: _Gathered,
    model: str,
    vector: Sequence[float],
) -> _Gathered:
    """Add the entries near in meaning, and how near the best by words are."""
    best, _ = _of_words(found)
    near = await meaning.nearest(session, model, vector, request, also=list(best))
    entries = dict(found.entries)
    cosines: dict[uuid.UUID, float] = {}
    for each, (candidate, cosine) in near.items():
        if each in entries or cosine >= meaning.MIN_COSINE:
            entries.setdefault(each, candidate)
            cosines[each] = cosine
    return replace(found, entries=entries, cosines=cosines)


def _of_words(found: _Gathered) -> tuple[Scores, Mapping[uuid.UUID, float]]:
    return scoring.of_words(
        found.entries.values(),
        found.query,
        found.weights,
        average=found.average,
        depth=DEPTH,
        cosines=found.cosines,
    )


async def _ranked(session: AsyncSession, found: _Gathered) -> Scores:
    """Return the scores of the entries worth a close look."""
    scores, own = _of_words(found)
    beside = await context.neighbours(session, list(scores)[:NEAR])
    scoring.add_neighbours(scores, own, beside)
    scoring.add_exact(scores, found.ids, found.phrases)
    return scores


async def _hits(
    session: AsyncSession,
    shown: Sequence[Shown],
    scores: Scores,
    found: _Gathered,
    words: Mapping[str, frozenset[str]],
) -> list[Hit]:
    """Read the entries to be shown and cut their snippets."""
    rows = await session.scalars(select(Entry).where(Entry.id.in_([each.id for each in shown])))
    entries = {entry.id: entry for entry in rows}
    hits: list[Hit] = []
    for each in shown:
        entry = entries[each.id]
        candidate = found.entries.get(each.id)
        held = covered(candidate, words) if candidate else ()
        hit = Hit(
            entry=entry,
            score=scoring.total(scores[each.id]),
            snippet=text.snippet(searchable(entry), found.query.lexemes),
            why=Why(words=held, parts=scores[each.id]),
            superseded_by=each.newer,
            copies=each.copies,
        )
        hits.append(hit)
    return hits


def _is_exact(found: _Gathered) -> bool:
    return (
        found.is_complete
        and not found.unindexed
        and not found.query.truncated
        and not found.cosines
    )


def _ways(found: _Gathered) -> dict[str, int]:
    terms = found.query.terms
    whole = {
        each.id for each in found.entries.values() if any(term in each.places for term in terms)
    }
    ways = {
        "words": len(_holding(found)) - found.recent,
        "recent": found.recent,
        "exact": len(whole.union(found.ids)),
        "phrase": len(set().union(*found.phrases)),
    }
    return {**ways, "meaning": len(found.cosines)} if found.cosines else ways


def _holding(found: _Gathered) -> list[Candidate]:
    """Return the entries that hold a word of the query, rather than its meaning alone."""
    return [each for each in found.entries.values() if each.places]


def _note(
    found: _Gathered,
    request: Request,
    scores: Scores,
    words: Mapping[str, frozenset[str]],
    progress: Progress,
) -> str:
    """Return what the reader should know, one sentence a matter."""
    sentences = [
        note_of(
            found.query,
            words,
            _holding(found),
            closest=[found.entries[each] for each in scores if each in found.entries],
            is_near=bool(found.cosines),
            phrases=found.phrases,
            named=len(found.ids),
            is_filtered=is_filtered(request),
        )
    ]
    if found.query.truncated:
        sentences.append("Only the beginning of this long query was searched for.")
    if found.unindexed:
        sentences.append(
            f"{found.unindexed:,} of the newest entries are not indexed yet and were not searched."
        )
    if progress.rules != RULES:
        sentences.append(
            "The search index was filled by another version of this program, so some entries may be"
            " missed; it is filled anew when the importers or the MCP server run."
        )
    return " ".join(sentence for sentence in sentences if sentence)


def _average(found: Sequence[Candidate]) -> float:
    return max(1.0, sum(each.length for each in found) / max(1, len(found)))
