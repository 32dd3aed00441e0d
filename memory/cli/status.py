"""Where the ledger is, and what it holds."""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from memory import crud, feed, postgres
from memory.cli.ledger import configured, read
from memory.cli.machines import own_label
from memory.cli.output import Json, ago, iso, moment, one_line, print_json, say, table
from memory.crud import Total
from memory.crud.guard import Engine, engine
from memory.database import Transaction, application_address
from memory.program import typed
from memory.settings import Settings
from memory.tools.indexing import unindexed

__all__ = ["status", "total_facts", "totals_table", "version_text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    engine: Engine
    totals: list[Total]
    waiting: int
    unindexed: int
    label: str


def status(*, as_json: Json = False) -> None:
    """Show where the ledger is and what it holds."""
    settings = configured()
    found = read(partial(_find, settings=settings))
    address = str(application_address(settings))
    if as_json:
        print_json(_facts(settings, address, found))
        return
    where = "embedded" if _is_embedded(settings) else "DATABASE_URL"
    say(f"ledger      {address}  ({where}, schema {settings.ledger})")
    say(f"machine     {one_line(found.label)}  ({settings.machine})")
    say(f"PostgreSQL  {version_text(found.engine.version)}, pgvector {found.engine.vector}")
    say(f"search      {_lag_text(found.unindexed)}")
    if found.waiting:
        say(f"feed        {found.waiting:,} entries wait for a transaction that still runs")
    totals_table(found.totals)


async def _find(session: Transaction, *, settings: Settings) -> _Found:
    page = await feed.changes(session, limit=1)
    return _Found(
        engine=await engine(session),
        totals=await crud.totals(session),
        waiting=page.waiting,
        unindexed=await unindexed(session),
        label=await own_label(session, settings),
    )


def totals_table(totals: list[Total]) -> None:
    """Print what each client has in the ledger."""
    if not totals:
        say(typed("The ledger is empty; `memory import` fills it."))
        return
    now = datetime.now(UTC)
    rows = [
        [
            one_line(each.source_client),
            f"{each.sessions:,}",
            f"{each.entries:,}",
            moment(each.first_at),
            moment(each.last_at),
            ago(each.last_at, now=now),
        ]
        for each in totals
    ]
    table(["client", "sessions", "entries", "first", "last", ""], rows, right="sessions entries")


def total_facts(each: Total) -> dict[str, Any]:
    """Return what one client has, JSON-safe."""
    return {
        "source_client": each.source_client,
        "sessions": each.sessions,
        "entries": each.entries,
        "first_at": iso(each.first_at),
        "last_at": iso(each.last_at),
    }


def version_text(number: int) -> str:
    """Return server_version_num as people write it."""
    return f"{number // 10_000}.{number % 10_000}"


def _is_embedded(settings: Settings) -> bool:
    url = settings.database_url
    return not url or postgres.is_embedded(settings, url)


def _lag_text(unindexed: int) -> str:
    if not unindexed:
        return "every entry is indexed"
    return f"{unindexed:,} entries are not indexed yet; the newest of them are searched directly"


def _facts(settings: Settings, address: str, found: _Found) -> dict[str, Any]:
    return {
        "address": address,
        "embedded": _is_embedded(settings),
        "schema": settings.ledger,
        "home": str(settings.home),
        "machine": {"id": settings.machine, "label": found.label},
        "postgresql": version_text(found.engine.version),
        "pgvector": found.engine.vector,
        "role": found.engine.role,
        "unindexed": found.unindexed,
        "waiting": found.waiting,
        "totals": [total_facts(each) for each in found.totals],
    }
