"""Reading the index: the postings of some terms, and the segments they belong to."""

import sys
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy.ext.asyncio import AsyncSession

from memory.database.statements import rows_of
from memory.search.document import RULES
from memory.search.pages import PLACE, span
from memory.search.place import Progress
from memory.search.remembered import Kept, Remembered
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
# page that may hold a term is the last one that begins at or before it; it is read once for all of
# its terms that are asked for.
LOOKUP: Final = """
    WITH live AS MATERIALIZED (SELECT * FROM search_progress WHERE state = 'live'),
    pieces AS MATERIALIZED (
        SELECT search_segments.* FROM search_segments JOIN live USING (generation)
    ),
    asked AS MATERIALIZED (SELECT * FROM unnest($3::text[], $4::text[]) AS asked (first, behind)),
    begin AS MATERIALIZED (
        SELECT asked.first AS beginning, pieces.id, page.first, held.term, held.size
        FROM asked CROSS JOIN pieces
        CROSS JOIN LATERAL (
            SELECT first, terms, sizes FROM search_postings
            WHERE segment = pieces.id AND first < asked.behind AND first >= coalesce((
                SELECT first FROM search_postings
                WHERE segment = pieces.id AND first <= asked.first ORDER BY first DESC LIMIT 1
            ), '')
        ) AS page
        CROSS JOIN LATERAL
            unnest(string_to_array(btrim(page.terms, E'\n'), E'\n'), page.sizes)
            AS held (term, size)
        WHERE held.term COLLATE "C" >= asked.first AND held.term COLLATE "C" < asked.behind
    ),
    most AS MATERIALIZED (
        SELECT words.term FROM asked CROSS JOIN LATERAL (
            SELECT term FROM begin WHERE beginning = asked.first
            GROUP BY term ORDER BY sum(size) DESC, term COLLATE "C" LIMIT $5
        ) AS words
    ),
    held AS MATERIALIZED (
        SELECT pieces.id, page.first, array_agg(named.term) AS terms FROM pieces
        CROSS JOIN unnest($1::text[]) AS named (term)
        CROSS JOIN LATERAL (
            SELECT first, strpos(terms, E'\n' || named.term || E'\n') > 0 AS holds
            FROM search_postings
            WHERE segment = pieces.id AND first <= named.term ORDER BY first DESC LIMIT 1
        ) AS page
        WHERE page.holds
            AND (named.term, pieces.stamp) NOT IN (SELECT * FROM unnest($6::text[], $7::uuid[]))
        GROUP BY pieces.id, page.first
        UNION ALL
        SELECT id, first, array_agg(term) FROM begin WHERE term IN (SELECT term FROM most)
        GROUP BY id, first
    )
    SELECT live.generation, live.epoch, live.xid::text AS xid, live.seq, live.entries,
        live.total_length, live.rules, pieces.id, pieces.first, pieces.stamp,
        CASE WHEN pieces.stamp = ANY ($2) THEN NULL ELSE pieces.lengths END AS lengths,
        CASE WHEN pieces.stamp = ANY ($2) THEN NULL ELSE pieces.weights END AS weights,
        CASE WHEN pieces.stamp = ANY ($2) THEN NULL ELSE pieces.times END AS times,
        CASE WHEN pieces.stamp = ANY ($2) THEN NULL ELSE pieces.sessions END AS sessions,
        CASE WHEN pieces.stamp = ANY ($2) THEN NULL ELSE pieces.spoken END AS spoken,
        NULL::text[] AS asked, NULL AS page, NULL AS terms, NULL::int[] AS sizes,
        NULL::bytea AS places, NULL::bytea AS counts
    FROM live LEFT JOIN pieces USING (generation)
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, held.id, NULL, NULL,
        NULL, NULL, NULL, NULL, NULL,
        held.terms, page.first, page.terms, page.sizes, page.places, page.counts
    FROM held CROSS JOIN LATERAL (
        SELECT * FROM search_postings WHERE segment = held.id AND first = held.first OFFSET 0
    ) AS page
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
    places = {stamp: at for at, stamp in enumerate(stamps)}
    for (stamp, term), stored in known.items():
        if (place := places.get(stamp)) is not None:
            posting = _posting(segments[place], stored)
            postings[place][term] = posting._replace(dense=stored.dense)
    for row in rows:
        for term in row["asked"] or ():
            at = numbers[row["id"]]
            stored = _stored(row, term)
            posting = _posting(segments[at], stored)
            dense = dense_of(posting, entries=segments[at].entries)
            _REMEMBERED.keep_posting(stamps[at], term, stored._replace(dense=dense))
            postings[at][term] = posting._replace(dense=dense)
    return Looked(progress, segments, postings)


def _stored(row: Any, term: str) -> Kept:
    """Return a term's posting from the page that holds it."""
    begin, end = span(row["terms"], row["sizes"], term)
    places, counts = row["places"], row["counts"]
    return Kept(
        places[PLACE * begin : PLACE * end], counts[begin:end], row["page"], counts[:begin], None
    )


def _posting(segment: Segment, stored: Kept) -> Posting:
    return posting_of(segment.first, *stored[:4])


def _segment(row: Any, held: Mapping[uuid.UUID, Segment]) -> Segment:
    """Return a row's segment, as it is remembered or from its columns."""
    segment = held.get(row["stamp"])
    if segment is None:
        columns = Columns(*(row[name] for name in Columns._fields))
        segment = segment_of(row["first"], columns, number=row["id"])
    _REMEMBERED.keep_segment(row["stamp"], segment)
    return segment
