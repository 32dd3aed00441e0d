"""Reading the index: the postings of some terms, and the segments they belong to."""

import sys
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from sqlalchemy.ext.asyncio import AsyncSession

from memory.database.statements import rows_of
from memory.search.document import RULES
from memory.search.pages import span
from memory.search.place import Progress
from memory.search.remembered import Remembered, Stored
from memory.search.segments import (
    Columns,
    Posting,
    Segment,
    dense_of,
    posting_of,
    segment_of,
)

__all__ = ["LOOKUP", "MAX_BEGUN", "Looked", "read"]

MAX_BEGUN: Final = 100
"""Words with one beginning that are searched for: those in most entries."""

# One statement, so that segments and postings are of one moment, whatever is joined meanwhile. The
# page that may hold a term is the last one that begins at or before it.
LOOKUP: Final = """
    WITH live AS MATERIALIZED (SELECT * FROM search_progress WHERE state = 'live'),
    pieces AS MATERIALIZED (
        SELECT search_segments.* FROM search_segments JOIN live USING (generation)
    ),
    begun AS MATERIALIZED (
        SELECT words.term FROM unnest($3::text[], $4::text[]) AS asked (first, behind)
        CROSS JOIN LATERAL (
            SELECT held.term FROM pieces
            CROSS JOIN LATERAL (
                SELECT terms, sizes FROM search_postings
                WHERE segment = pieces.id AND first < asked.behind AND first >= coalesce((
                    SELECT first FROM search_postings
                    WHERE segment = pieces.id AND first <= asked.first ORDER BY first DESC LIMIT 1
                ), '')
            ) AS page
            CROSS JOIN LATERAL
                unnest(string_to_array(btrim(page.terms, E'\n'), E'\n'), page.sizes)
                AS held (term, size)
            WHERE held.term COLLATE "C" >= asked.first AND held.term COLLATE "C" < asked.behind
            GROUP BY held.term ORDER BY sum(held.size) DESC, held.term COLLATE "C" LIMIT $5
        ) AS words
    )
    SELECT live.generation, live.epoch, live.xid::text AS xid, live.seq, live.entries,
        live.total_length, live.rules, pieces.id, pieces.first, pieces.stamp,
        CASE WHEN pieces.stamp = ANY ($2) THEN NULL ELSE pieces.lengths END AS lengths,
        CASE WHEN pieces.stamp = ANY ($2) THEN NULL ELSE pieces.weights END AS weights,
        CASE WHEN pieces.stamp = ANY ($2) THEN NULL ELSE pieces.times END AS times,
        CASE WHEN pieces.stamp = ANY ($2) THEN NULL ELSE pieces.sessions END AS sessions,
        CASE WHEN pieces.stamp = ANY ($2) THEN NULL ELSE pieces.spoken END AS spoken,
        NULL AS term, NULL AS page, NULL AS terms, NULL::int[] AS sizes, NULL::bytea AS places,
        NULL::bytea AS counts
    FROM live LEFT JOIN pieces USING (generation)
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, pieces.id, NULL, NULL,
        NULL, NULL, NULL, NULL, NULL,
        asked.term, page.first, page.terms, page.sizes, page.places, page.counts
    FROM pieces
    CROSS JOIN unnest($1::text[] || ARRAY (SELECT term FROM begun)) AS asked (term)
    CROSS JOIN LATERAL (
        SELECT first, terms, sizes, places, counts FROM search_postings
        WHERE segment = pieces.id AND first <= asked.term ORDER BY first DESC LIMIT 1
    ) AS page
    WHERE (asked.term, pieces.stamp) NOT IN (SELECT * FROM unnest($6::text[], $7::uuid[]))
        AND strpos(page.terms, E'\n' || asked.term || E'\n') > 0
"""


@dataclass(frozen=True, slots=True)
class Looked:
    """What the index holds of some terms.

    ``postings`` has for each of ``segments`` the terms that occur in it.
    """

    progress: Progress
    segments: Sequence[Segment]
    postings: Sequence[Mapping[str, Posting]]


_REMEMBERED: Final = Remembered()


async def read(
    session: AsyncSession, terms: Sequence[str], beginnings: Sequence[str] = ()
) -> Looked:
    """Return what the live index holds of these terms, and of words with these beginnings.

    Of each beginning it is the MAX_BEGUN words in most entries, and one more if there are more.
    """
    held, known = _REMEMBERED.segments(), _REMEMBERED.postings(terms)
    behind = [each + chr(sys.maxunicode) for each in beginnings]
    values = (list(terms), list(held), list(beginnings), behind, MAX_BEGUN + 1)
    given = ([term for _, term in known], [stamp for stamp, _ in known])
    rows = await rows_of(session, LOOKUP, *values, *given)
    progress = Progress(rules=RULES)
    numbers: dict[int, int] = {}
    stamps: list[uuid.UUID] = []
    segments: list[Segment] = []
    for row in rows:
        if row["generation"] is not None:
            progress = Progress(**{name: int(row[name]) for name in Progress.__slots__})
            if row["id"] is not None:
                numbers[row["id"]] = len(segments)
                stamps.append(row["stamp"])
                segments.append(_segment(row, held))
    postings: list[dict[str, Posting]] = [{} for _ in segments]
    for (stamp, term), stored in known.items():
        if stamp in stamps:
            at = stamps.index(stamp)
            postings[at][term] = _posting(segments[at], stored)
    for row in rows:
        if (term := row["term"]) is not None:
            at = numbers[row["id"]]
            stored = _stored(row, segments[at])
            _REMEMBERED.keep_posting(stamps[at], term, stored)
            postings[at][term] = _posting(segments[at], stored)
    return Looked(progress, segments, postings)


def _stored(row: Any, segment: Segment) -> Stored:
    """Return a row's posting from the page that holds it."""
    begin, end = span(row["terms"], row["sizes"], row["term"])
    spot = int(np.frombuffer(row["counts"], dtype=np.uint8, count=begin).sum())
    parts = row["places"][2 * begin : 2 * end], row["counts"][begin:end]
    dense = dense_of(posting_of(segment.first, *parts), entries=segment.entries)
    return Stored(*parts, row["page"], spot, dense)


def _posting(segment: Segment, stored: Stored) -> Posting:
    return posting_of(segment.first, *stored[:4])._replace(dense=stored.dense)


def _segment(row: Any, held: Mapping[uuid.UUID, Segment]) -> Segment:
    """Return a row's segment, as it is remembered or from its columns."""
    segment = held.get(row["stamp"])
    if segment is None:
        columns = Columns(*(row[name] for name in Columns._fields))
        segment = segment_of(row["first"], columns, number=row["id"])
    _REMEMBERED.keep_segment(row["stamp"], segment)
    return segment
