"""In how many entries a lexeme occurs.

PostgreSQL's own statistics know the thousand most common lexemes, as shares of all rows; the
others are rare, so their rows can be counted in the index. Nothing has to be kept up to date.
"""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from memory.text import tsquery_word

__all__ = ["MAX_COUNTED", "document_frequencies"]

MAX_COUNTED: Final = 5_001
"""Rows of one lexeme that are counted: one more than `candidates.BUDGET`, so that it exceeds it.

There are more only before PostgreSQL's first ANALYZE.
"""

_COMMON: Final = text("""
    SELECT common.lexeme, common.share
    FROM pg_stats, unnest(most_common_elems::text::text[], most_common_elem_freqs)
        AS common (lexeme, share)
    WHERE schemaname = current_schema() AND tablename = 'search' AND attname = 'words'
        AND common.lexeme = ANY (CAST(:lexemes AS text[]))
""")

# The query is not known when this is planned, so the index is used, as it should be.
_COUNT: Final = text("""
    SELECT wanted.lexeme,
        (SELECT count(*) FROM (
            SELECT FROM search WHERE words @@ CAST(wanted.query AS tsquery) LIMIT :most
        ) AS found) AS entries
    FROM unnest(CAST(:lexemes AS text[]), CAST(:queries AS text[])) AS wanted (lexeme, query)
""")


async def document_frequencies(
    session: AsyncSession, lexemes: Sequence[str], *, entries: int
) -> dict[str, int]:
    """Return the number of indexed entries that hold each lexeme, given that of all entries.

    Common ones are estimated, rare ones counted, up to MAX_COUNTED.
    """
    rows = await session.execute(_COMMON, {"lexemes": list(lexemes)})
    found = {row.lexeme: max(1, round(row.share * entries)) for row in rows}
    rare = [lexeme for lexeme in lexemes if lexeme not in found]
    if rare:
        queries = [tsquery_word(lexeme) for lexeme in rare]
        arguments = {"lexemes": rare, "queries": queries, "most": MAX_COUNTED}
        counted = await session.execute(_COUNT, arguments)
        found |= {row.lexeme: row.entries for row in counted}
    return found
