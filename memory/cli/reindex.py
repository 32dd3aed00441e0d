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

    The new index is built beside the old one and takes its place when it has caught up. It may be
    stopped: another reindex, or the next import, goes on where it was.
    """
    built = asyncio.run(_reindex(quiet=as_json))
    if as_json:
        print_json(built)
        return
    before = f", after {built['before']:,} of a reindex that was stopped" if built["before"] else ""
    say(
        f"{built['heads']:,} heads and the words of {built['indexed']:,} entries{before}"
        " were built anew."
    )


async def _reindex(*, quiet: bool) -> dict[str, int]:
    """Build everything; return how many heads, entries, and entries that were indexed before."""
    database = Database(configured())
    screen = Console(stderr=True, quiet=quiet or not sys.stderr.isatty())
    try:
        heads = await database.transact(crud.rebuild_heads)
        before = await database.transact(search.rebuild)
        with Progress(console=screen, transient=True) as shown:
            return {
                "heads": heads,
                "indexed": await _index(database, shown, before),
                "before": before,
            }
    finally:
        await database.close()


async def _index(database: Database, shown: Progress, before: int) -> int:
    """Index until nothing remains and return how many entries this process did."""
    cutters = search.Cutters()
    try:
        return await _passes(database, shown, before, cutters)
    finally:
        cutters.close()


async def _passes(database: Database, shown: Progress, before: int, cutters: search.Cutters) -> int:
    task = shown.add_task("indexing", completed=before)
    count = 0
    while True:
        step = await database.transact(partial(search.index, limit=_PASS, cutters=cutters))
        cutters.prepare(step.remaining)
        count += step.count
        done = before + count
        shown.update(task, completed=done, total=done + step.remaining)
        if not step.remaining:
            return count
        if not step.count:  # another process is at it, or a transaction holds the rest back
            await asyncio.sleep(_PAUSE)
