"""What of the indexing an MCP server does itself, and what it leaves to the importers."""

from typing import Final

from memory.database import Transaction
from memory.program import typed
from memory.search import place

__all__ = ["INDEX_BACKLOG", "advice", "unindexed"]

INDEX_BACKLOG: Final = 5_000
"""Entries not indexed beyond which a server indexes no more than one batch a write."""


async def unindexed(session: Transaction) -> int:
    """Count the entries that are not indexed yet, at most `memory.search.place.COUNT_LIMIT`."""
    progress = await place.read(session)
    return await place.behind(session, *([place.after(progress)] if progress else []))


def advice(waiting: int) -> list[str]:
    """Return what to do about a backlog that a server leaves alone, nothing for a small one."""
    if waiting <= INDEX_BACKLOG:
        return []
    said = f"{waiting:,} entries are not indexed yet, and a search finds the newest of them alone;"
    return [typed(f"{said} `memory import` indexes them all.")]
