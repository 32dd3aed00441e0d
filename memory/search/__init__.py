"""Search: an index of words beside the ledger, and the questions it answers.

`index` fills it in bounded passes along the change feed, outside of every append; `search` asks it,
and looks through what is not indexed yet. `embed` makes the vectors of entries where embeddings are
on; `search` takes the embedder then.
"""

from memory.search.answer import Answer, Hit, Why
from memory.search.beside import Beside, Turn, turns_beside
from memory.search.cutting import Cutters
from memory.search.indexer import Indexed, index, rebuild
from memory.search.meaning import Embedded, embed
from memory.search.paging import MAX_RANKED, search
from memory.search.request import MAX_LIMIT, Request

__all__ = [
    "MAX_LIMIT",
    "MAX_RANKED",
    "Answer",
    "Beside",
    "Cutters",
    "Embedded",
    "Hit",
    "Indexed",
    "Request",
    "Turn",
    "Why",
    "embed",
    "index",
    "rebuild",
    "search",
    "turns_beside",
]
