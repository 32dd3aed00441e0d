"""The search itself: from a request to an answer."""

import asyncio
import contextlib
import uuid
from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from memory import text
from memory.embeddings import Embedder
from memory.errors import InvalidInput
from memory.models import Entry
from memory.search import scores as scoring
from memory.search import versions
from memory.search.answer import Answer, Hit, Why
from memory.search.candidates import Candidate
from memory.search.document import RULES
from memory.search.gather import DEEPEST, Found, gather, with_meaning
from memory.search.hints import TIME_WORDS
from memory.search.lookup import MAX_BEGUN
from memory.search.meaning import Asked
from memory.search.neighbours import neighbours
from memory.search.notes import left_out, note_of
from memory.search.positions import Moved
from memory.search.request import Request, checked, is_filtered
from memory.search.scores import Own, Scores
from memory.search.source import searchable
from memory.search.versions import Shown
from memory.search.words import Ways, covered, typed_words

__all__ = ["CLOSE", "search"]

CLOSE: Final = 60
"""The best entries that are looked at closely: the order of their words, their neighbours."""
_TRIES: Final = 5  # while segments are joined, which happens every few seconds at most


async def search(
    session: AsyncSession, request: Request, *, embedder: Embedder | None = None
) -> Answer:
    """Return the entries that answer a query best.

    Words are OR-ed and ranked; an id or a quoted phrase comes first. What was appended a moment
    ago is found too. With an embedder, entries near in meaning answer as well. Raises InvalidInput
    for a query without any word to search for (``empty_query``), and for what
    `memory.search.request.checked` refuses; and Unavailable (``index_moved``) when the index was
    rewritten under each of several tries.
    """
    request = checked(request)
    query = text.query(request.query)
    if not query:
        raise InvalidInput(
            "This query has no word to search for; name what you look for: a word that is no mere"
            " question word, an identifier, a path, an id, or three letters of a beginning (abc*).",
            code="empty_query",
        )
    # Before the first statement, so that no connection waits for the model.
    vector = await _vector(embedder, request.query) if embedder is not None else None
    asked = Asked(embedder.name, vector, request) if embedder is not None and vector else None
    for _ in range(_TRIES - 1):
        with contextlib.suppress(Moved):
            return await _answer(session, request, query, asked)
    return await _answer(session, request, query, asked)


async def _answer(
    session: AsyncSession, request: Request, query: text.Query, asked: Asked | None
) -> Answer:
    """Search once. Raises Moved when the index was rewritten meanwhile."""
    found = await gather(session, request, query)
    if asked is not None:
        found = await with_meaning(session, found, asked)
    scores = await _scored(session, found)
    newer = await versions.newer_of(session, scores)
    shown = versions.without_copies(scores, found.entries, newer)[: request.limit]
    words = typed_words(request.query)
    return Answer(
        hits=await _hits(session, shown, scores, found, words),
        total=_total(found),
        total_is_exact=not (
            found.reach.tail.unindexed or query.truncated or found.cut or found.cosines
        ),
        ways=_ways(found),
        unindexed=found.reach.tail.unindexed,
        note=_note(found, request, scores, words),
    )


async def _vector(embedder: Embedder, query: str) -> Sequence[float]:
    return (await asyncio.to_thread(embedder.embed, [text.clean(query)[0]]))[0]


async def _scored(session: AsyncSession, found: Found) -> Scores:
    """Return the scores of the entries worth a close look."""
    scores, own = scoring.of_words(
        found.entries.values(),
        found.query,
        found.weights,
        found.ranked,
        average=found.average,
        cosines=found.cosines,
    )
    close = [found.entries[each] for each in list(scores)[:CLOSE]]
    words = found.query.words
    placed = await found.reach.places(session, close, words) if len(words) > 1 else {}
    scoring.add_order(scores, own, found.entries, placed, words)
    scoring.add_neighbours(scores, await asyncio.to_thread(_beside, found, own, close))
    scoring.add_exact(scores, found.ids, [each.entries for each in found.phrases])
    timed = found.reach.holding(close, TIME_WORDS) if found.hints.asks_when else ()
    scoring.add_hints(scores, found.entries, found.hints, timed=timed)
    return scores


def _beside(
    found: Found, own: Own, close: Sequence[Candidate]
) -> dict[uuid.UUID, list[tuple[float, int]]]:
    """Return for each entry what its neighbours have alone, with their distance."""
    near = neighbours(found.matches.segments, [each.ordinal for each in close])
    others = {other for beside in near.values() for other, _ in beside}
    alone = {other: own.unit * gain for other, (gain, _) in found.ranked.of(others).items()}
    alone |= {found.entries[each].ordinal: known for each, known in own.known.items()}
    return {
        each.id: [(alone[other], distance) for other, distance in near[each.ordinal]]
        for each in close
    }


async def _hits(
    session: AsyncSession,
    shown: Sequence[Shown],
    scores: Scores,
    found: Found,
    words: Mapping[str, Ways],
) -> list[Hit]:
    """Read the entries to be shown and cut their snippets."""
    rows = await session.scalars(select(Entry).where(Entry.id.in_([each.id for each in shown])))
    entries = {entry.id: entry for entry in rows}
    hits: list[Hit] = []
    for each in shown:
        entry = entries[each.id]
        hit = Hit(
            entry=entry,
            score=scoring.total(scores[each.id]),
            snippet=text.snippet(searchable(entry), found.shown),
            why=Why(
                words=covered(found.entries[each.id].counts.keys(), words), parts=scores[each.id]
            ),
            superseded_by=each.newer,
            copies=each.copies,
        )
        hits.append(hit)
    return hits


def _total(found: Found) -> int:
    """Count the entries that match by a word, an id, a phrase or their meaning, each once."""
    further = [each for each in {*found.ids, *found.cosines} if not found.is_match(each)]
    return sum(found.matches.counts) + len(further)


def _ways(found: Found) -> dict[str, int]:
    terms = found.query.terms
    named = [
        each
        for each in found.ids
        if not found.is_match(each) or not any(term in found.entries[each].counts for term in terms)
    ]
    ways = {
        "words": sum(found.matches.counts) - found.recent,
        "recent": found.recent,
        "exact": found.matches.count_holding(terms) + len(named),
        "phrase": len(set().union(*(each.entries for each in found.phrases))),
    }
    return {**ways, "meaning": len(found.cosines)} if found.cosines else ways


def _note(found: Found, request: Request, scores: Scores, words: Mapping[str, Ways]) -> str:
    """Return what the reader should know, one sentence a matter."""
    sentences = [
        note_of(
            found.query,
            words,
            found.matches.held,
            # Many hold the same words.
            closest={frozenset(found.entries[each].counts) for each in scores},
            is_near=bool(found.cosines),
            phrases=found.phrases,
            named=len(found.ids),
            is_filtered=is_filtered(request),
        )
    ]
    if not all(each.is_complete for each in found.phrases):
        sentences.append(
            "So many entries hold the words of the phrase that only the likeliest were looked at."
        )
    sentences += [
        f"More than {MAX_BEGUN} words begin as {each} does; those in most entries were searched for."
        for each in found.cut
    ]
    sentences += left_out(found.query)
    if found.is_repeated:
        sentences.append(
            f"Most of the best {DEEPEST:,} entries say the same; others that match were not looked at."
        )
    if found.reach.tail.unindexed:
        sentences.append(
            f"{found.reach.tail.unindexed:,} of the newest entries are not indexed yet and were not"
            " searched."
        )
    if found.reach.progress.rules != RULES:
        sentences.append(
            "The search index was filled by another version of this program, so some entries may be"
            " missed; it is filled anew when the importers or the MCP server run."
        )
    return " ".join(sentence for sentence in sentences if sentence)
