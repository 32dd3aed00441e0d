"""Building the projections anew, while the ledger is in use."""

import asyncio
import sys
from functools import partial
from typing import Final

from rich.console import Console
from rich.progress import Progress

from memory import crud, search
from memory.cli.ledger import configured
from memory.cli.output import Json, print_json, say
from memory.database import Database

__all__ = ["reindex"]

_PASS: Final = 2000
_PAUSE: Final = 0.2  # seconds


def reindex(*, as_json: Json = False) -> None:
    """Build the heads and the search index anew from the entries; the old ones answer meanwhile.

    It may be stopped: what is left to index goes on with the next import, or the next reindex.
    """
    heads, entries = asyncio.run(_reindex(quiet=as_json))
    if as_json:
        print_json({"heads": heads, "indexed": entries})
    else:
        say(f"{heads:,} heads and the words of {entries:,} entries were built anew.")


async def _reindex(*, quiet: bool) -> tuple[int, int]:
    database = Database(configured())
    screen = Console(stderr=True, quiet=quiet or not sys.stderr.isatty())
    try:
        heads = await database.transact(crud.rebuild_heads)
        await database.transact(search.rebuild)
        with Progress(console=screen, transient=True) as shown:
            return heads, await _index(database, shown)
    finally:
        await database.close()


async def _index(database: Database, shown: Progress) -> int:
    """Index until nothing remains and return how many entries this process did."""
    task = shown.add_task("indexing")
    count = 0
    while True:
        step = await database.transact(partial(search.index, limit=_PASS))
        count += step.count
        shown.update(task, completed=count, total=count + step.remaining)
        if not step.remaining:
            return count
        if not step.count:  # another process is at it, or a transaction holds the rest back
            await asyncio.sleep(_PAUSE)
