"""What of each client's store the ledger has: the importers' lines in ``memory doctor``."""

import asyncio
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from importers.alarm import STRANGE, is_strange
from importers.base import Importer, Source, Store
from importers.keeping import SOON_DAYS, keeping
from importers.registry import importers_of
from importers.regular import status_of
from importers.rounds import FOLDER, rounds
from importers.run import GONE, without_gone
from importers.standby import lock_name
from memory import crud
from memory.cli.checks import Check
from memory.cli.output import ago
from memory.crud.lock import try_lock
from memory.database import Database
from memory.settings import Settings

__all__ = ["Coverage", "compare", "covered", "gaps_of", "is_being_written", "watching"]

HANGING_SECONDS: Final = 3600.0
"""An importer that watches ends a pass about every minute; one file may take minutes."""

WRITING_SECONDS: Final = 60.0
"""A source that changed so recently is being written; that it is ahead of the ledger is no fault."""


@dataclass(slots=True, kw_only=True)
class Coverage:
    """How one client's sources compare with the checkpoints.

    ``never`` were not read at all, ``behind`` have records that are not in the ledger,
    ``unreadable`` cannot be opened, ``gone`` were read and are no longer there, ``elsewhere`` were
    read in a folder that is not among the stores, and are still there. ``bad_records`` could not
    be read; reading a damaged file again would not help. ``strange`` sources gave no
    entry, because most of their records are of no known kind. In ``gaps`` places the client itself
    lost a text.
    """

    sources: int = 0
    never: int = 0
    behind: int = 0
    unreadable: int = 0
    gone: int = 0
    elsewhere: int = 0
    bad_records: int = 0
    strange: int = 0
    gaps: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether the ledger has everything that the client has stored."""
        return not (self.never or self.behind or self.unreadable or self.strange)


def compare(
    importer: Importer, stores: list[Store], states: Mapping[str, Mapping[str, Any]]
) -> Coverage:
    """Look at every source of a client; nothing is stored. Raises OSError."""
    found = Coverage(
        bad_records=sum(int(state.get("unreadable", 0)) for state in states.values()),
        strange=sum(_is_strange(state) for state in states.values()),
        gaps=sum(gaps_of(state) for state in states.values()),
    )
    listed: set[str] = set()
    for store in stores:
        for source in importer.sources(store):
            found.sources += 1
            listed.add(source.key)
            state = states.get(source.key)
            try:
                if is_being_written(source):
                    continue
                if state is None:
                    found.never += 1
                elif importer.read(source, without_gone(state)).records:
                    found.behind += 1
            except OSError:
                found.unreadable += 1
    missed = [_is_there(key, states[key]) for key in states.keys() - listed]
    found.elsewhere = sum(missed)
    found.gone = len(missed) - found.elsewhere
    return found


def covered(settings: Settings) -> Iterator[Check]:
    """Yield the checks of every client. Raises LedgerError when the database is away."""
    importers = importers_of()
    states, watched = asyncio.run(_known(settings, [each.provider for each in importers]))
    for importer in importers:
        stores = importer.stores(os.environ, Path.home())
        yield _coverage(importer, stores, states[importer.provider])
        for store in stores:
            if store.provider == "claude":
                yield _retention(store.root, states[importer.provider])
    yield watching(settings, watched)


def watching(settings: Settings, watched: Sequence[str]) -> Check:
    """Say which clients an importer watches, and whether it still comes to the end of its passes."""
    if not watched:
        return Check("watch", ok=True, detail="no importer is watching")
    said = f"an importer watches {', '.join(watched)}"
    ended = [
        max(each.good_at, each.failed_at)
        for each in rounds(settings.home / FOLDER)
        if each.client in watched and not each.root
    ]
    if not any(ended):
        return Check("watch", ok=True, detail=f"{said}; its first pass goes on")
    oldest = datetime.fromtimestamp(min(each for each in ended if each), UTC)
    now = datetime.now(UTC)
    return Check(
        "watch",
        ok=(now - oldest).total_seconds() < HANGING_SECONDS,
        detail=f"{said}; its last pass ended {ago(oldest, now=now)}",
        remedy="Stop the importer (Ctrl-C, or your service), and start it again: memory watch",
    )


async def _known(
    settings: Settings, providers: list[str]
) -> tuple[dict[str, dict[str, dict[str, Any]]], list[str]]:
    """Return the checkpoints of each client, and the clients that an importer watches."""
    database = Database(settings, ensure_schema=False)
    states: dict[str, dict[str, dict[str, Any]]] = {}
    watched: list[str] = []
    try:
        for provider in providers:
            look = partial(crud.get_checkpoints, provider=provider, machine=settings.machine)
            states[provider] = await database.transact(look)
            take = partial(try_lock, name=lock_name(settings, provider))
            if not await database.transact(take):
                watched.append(provider)
    finally:
        await database.close()
    return states, watched


def _coverage(
    importer: Importer, stores: list[Store], states: Mapping[str, Mapping[str, Any]]
) -> Check:
    found = compare(importer, stores, states)
    if not stores:
        detail = f"no store on this machine{_others(found)}"
        return Check(importer.provider, ok=True, detail=detail)
    if found.is_whole:
        detail = f"the ledger has all of {found.sources:,} files{_others(found)}"
        if found.bad_records:
            detail += f"; {found.bad_records:,} records are damaged on disk"
        if found.gaps:
            detail += f"; in {found.gaps:,} places the client lost a text before it wrote it"
        return Check(importer.provider, ok=True, detail=detail)
    parts = {
        "never read": found.never,
        "with something new": found.behind,
        "unreadable": found.unreadable,
        "of no known kind": found.strange,
    }
    missing = ", ".join(f"{count:,} {what}" for what, count in parts.items() if count)
    detail = f"of {found.sources:,} files {missing}{_others(found)}"
    command = "coverage" if found.strange else "import"  # which names the files
    remedy = f"memory {command} --client {importer.provider}"
    return Check(importer.provider, ok=False, detail=detail, remedy=remedy)


def _retention(root: Path, states: Mapping[str, Mapping[str, Any]]) -> Check:
    """Say how long Claude Code keeps what is in a store, and what it will delete soon."""
    files = [Path(str(state.get("path", key))) for key, state in states.items()]
    (kept,) = keeping(
        "claude", [root], files, environment=os.environ, here=Path.cwd(), now=time.time()
    )
    if not kept.is_writing:
        remedy = "Remove that setting, or that variable, so that there is something to import."
        return Check("claude keeps", ok=False, detail=kept.detail, remedy=remedy)
    detail = f"{kept.detail}; the ledger does not"
    if kept.due:
        days = kept.due[0].days_left
        detail += f"; {len(kept.due):,} are due within {SOON_DAYS} days, the next in {days:.0f}"
    return Check("claude keeps", ok=True, detail=detail)


def _others(found: Coverage) -> str:
    """Return what there is to say of sources that are in none of the stores."""
    said = ""
    if found.gone:
        said += f"; {found.gone:,} more that the client removed"
    if found.elsewhere:
        said += f"; {found.elsewhere:,} more that were read in another folder"
    return said


def gaps_of(state: Mapping[str, Any]) -> int:
    """Return in how many places of a source its client lost a text, as the checkpoint knows it."""
    context = state.get("context")
    return int(context.get("gaps", 0)) if isinstance(context, dict) else 0


def _is_strange(state: Mapping[str, Any]) -> bool:
    records, unknown = state.get(STRANGE) or (0, 0)
    return GONE not in state and is_strange(records=records, unknown=unknown)


def _is_there(key: str, state: Mapping[str, Any]) -> bool:
    """Tell whether a source is on the disk, where it was last read or under its own name."""
    try:
        return any(Path(path).exists() for path in {key, str(state.get("path", key))})
    except OSError:
        return True  # what may not be looked at was not removed


def is_being_written(source: Source) -> bool:
    """Tell whether the client wrote a source a moment ago. Raises OSError.

    What goes into a database in WAL mode changes the file beside it alone.
    """
    journal = source.path.with_name(f"{source.path.name}-wal")
    changed = status_of(source.path).st_mtime
    with suppress(FileNotFoundError):
        changed = max(changed, journal.stat().st_mtime)
    return time.time() - changed < WRITING_SECONDS
