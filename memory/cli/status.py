"""Where the ledger is, and what it holds."""

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import typer

from memory import crud, feed, postgres
from memory.cli import plugins
from memory.cli.checks import Note
from memory.cli.fault import described
from memory.cli.ledger import configured, read
from memory.cli.machines import own_label
from memory.cli.output import Json, ago, iso, moment, one_line, print_json, say, table
from memory.crud import Total
from memory.crud.guard import Engine, engine
from memory.database import Transaction, application_address
from memory.drafts import session_id_of
from memory.errors import LedgerError
from memory.program import typed
from memory.settings import Settings
from memory.tools import Caller
from memory.tools.indexing import unindexed
from memory.workplace import look

__all__ = ["status", "total_facts", "totals_table", "version_text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    engine: Engine
    totals: list[Total]
    waiting: int
    unindexed: int
    label: str
    here: dict[str, Any]


def status(*, as_json: Json = False) -> None:
    """Show where the ledger is and what it holds."""
    settings = configured()
    notes = list(_notes(settings))
    try:
        found = read(partial(_find, settings=settings))
    except LedgerError as error:
        _show_without_ledger(error, notes, as_json=as_json)
        raise typer.Exit(1) from error
    address = str(application_address(settings))
    if as_json:
        print_json({**_facts(settings, address, found), **_note_facts(notes)})
        return
    where = "embedded" if _is_embedded(settings) else "DATABASE_URL"
    say(f"ledger      {address}  ({where}, schema {settings.ledger})")
    say(f"here        {_here_text(found.here)}")
    say(f"machine     {one_line(found.label)}  ({settings.machine})")
    say(f"PostgreSQL  {version_text(found.engine.version)}, pgvector {found.engine.vector}")
    say(f"search      {_lag_text(found.unindexed)}")
    if found.waiting:
        say(f"feed        {found.waiting:,} entries wait for a transaction that still runs")
    _show_notes(notes)
    totals_table(found.totals)


def _notes(settings: Settings) -> Iterator[Note]:
    """Yield what other packages have to tell; that one of them fails is told in its place."""
    for name, entry_point in plugins.points(plugins.NOTES).items():
        try:
            yield from plugins.named(entry_point)(settings)
        except Exception as error:  # noqa: BLE001 - other packages' code: what it raises is told
            code, words = described(error)
            yield Note(name, [f"{words} ({code})"], {"code": code, "error": words})


def _note_facts(notes: list[Note]) -> dict[str, Any]:
    return {note.name: note.facts for note in notes}


def _show_notes(notes: list[Note]) -> None:
    for note in notes:
        for place, line in enumerate(note.lines):
            say(f"{'' if place else note.name:<11} {one_line(line)}")


def _show_without_ledger(error: LedgerError, notes: list[Note], *, as_json: bool) -> None:
    """Tell that the ledger is away, and what can be told all the same."""
    if as_json:
        told = {"is_error": True, "code": error.code, "error": str(error)}
        print_json({**told, **_note_facts(notes)})
        return
    _show_notes(notes)
    sys.stdout.flush()
    print(f"memory: {' '.join(str(error).split())} ({error.code})", file=sys.stderr)  # noqa: T201 - for people


async def _find(session: Transaction, *, settings: Settings) -> _Found:
    page = await feed.changes(session, limit=1)
    return _Found(
        engine=await engine(session),
        totals=await crud.totals(session),
        waiting=page.waiting,
        unindexed=await unindexed(session),
        label=await own_label(session, settings),
        here=await _here(session),
    )


async def _here(session: Transaction) -> dict[str, Any]:
    """Return who works in this terminal, and in which session and project, as far as is known."""
    # Claude Code runs the commands of its sessions with these variables.
    name = "claude-code" if os.environ.get("CLAUDE_CODE_SESSION_ID") else "memory"
    caller = Caller.of(name, meta={}, environment=os.environ, directory=_directory())
    found = await crud.find_project_of(session, look(caller.directory))
    names = await crud.project_names(session) if found.project_id or found.fitting else {}
    session_id = session_id_of(caller.client, caller.session) if caller.session else None
    return {
        "client": caller.client,
        "session_id": str(session_id) if session_id else None,
        "session_found_by": caller.session_by or None,
        "directory": caller.directory,
        "directory_found_by": caller.directory_by,
        "project": names[found.project_id] if found.project_id else None,
        "project_id": str(found.project_id) if found.project_id else None,
        "project_found_by": found.by,
        "fitting": [names[each] for each in found.fitting],
    }


def _directory() -> str:
    try:
        return str(Path.cwd())
    except FileNotFoundError:  # it was removed under us
        return ""


def _here_text(here: Mapping[str, Any]) -> str:
    project = "no project"
    if here["project"]:
        project = f"project {one_line(here['project'])} (by {here['project_found_by']})"
    elif here["fitting"]:
        project = f"several projects fit: {', '.join(map(one_line, here['fitting']))}"
    if not here["session_id"]:
        return project
    return f"{project}, {here['client']}, session {here['session_id']}"


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
            f"{each.harness:,}",
            f"{each.attributes:,}",
            moment(each.first_at),
            moment(each.last_at),
            ago(each.last_at, now=now),
        ]
        for each in totals
    ]
    names = ["client", "sessions", "entries", "harness", "attributes", "first", "last", ""]
    table(names, rows, right="sessions entries harness attributes")


def total_facts(each: Total) -> dict[str, Any]:
    """Return what one client has, JSON-safe."""
    return {
        "source_client": each.source_client,
        "sessions": each.sessions,
        "entries": each.entries,
        "harness": each.harness,
        "attributes": each.attributes,
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
        "here": found.here,
        "machine": {"id": settings.machine, "label": found.label},
        "postgresql": version_text(found.engine.version),
        "pgvector": found.engine.vector,
        "role": found.engine.role,
        "unindexed": found.unindexed,
        "waiting": found.waiting,
        "totals": [total_facts(each) for each in found.totals],
    }
