"""Our side of a benchmark beside another engine: a ledger on a throw-away server."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

import asyncpg
from fts5 import Row
from million_texts import CLIENTS, PROJECTS, ROLES, SESSION_LENGTH, Query
from sqlalchemy import make_url

from memory import crud, search
from memory.database import Database
from memory.drafts import Draft, Kind, SessionDraft, project_id_of
from memory.search import Request
from memory.settings import Settings

__all__ = ["Ledger", "filter_value", "request_of", "row_of"]

FIRST: Final = datetime(2025, 9, 1, tzinfo=UTC)
STEP: Final = timedelta(seconds=25)
NEWEST: Final = 0.05
"""The share of the messages that "since" asks for."""
FILTERED: Final = 1_234
"""The message whose client, project, session and role are asked for."""
PASS: Final = 2_000
"""Entries that one pass of the index takes, as the importers have it."""


def row_of(number: int) -> Row:
    """Return what is known of a message beside its text."""
    session = number // SESSION_LENGTH
    return Row(
        number=number,
        client=CLIENTS[session % len(CLIENTS)],
        project=session % PROJECTS,
        session=session,
        role=ROLES[number % len(ROLES)],
        at=(FIRST + number * STEP).timestamp(),
    )


def session_of(row: Row) -> SessionDraft:
    """Return a message's session."""
    return SessionDraft(
        provider=row.client,
        source_session_id=f"bench {row.session}",
        source_client=row.client,
        project_id=project_id_of(f"bench {row.project}"),
    )


def draft_of(row: Row, text: str) -> Draft:
    """Return a message as an importer would append it."""
    return Draft(
        kind=Kind.MESSAGE,
        content=text,
        source_client=row.client,
        provider=row.client,
        machine="bench",
        session_id=session_of(row).id,
        source_id=f"message-{row.number}",
        role=row.role,
        position=row.number,
        occurred_at=datetime.fromtimestamp(row.at, UTC),
    )


def filter_value(query: Query, rows: int) -> object:
    """Return what a query's filter asks for, in SQLite's terms."""
    if query.filter == "since":
        return row_of(int(rows * (1 - NEWEST))).at
    return getattr(row_of(min(FILTERED, rows - 1)), query.filter) if query.filter else None


def request_of(query: Query, rows: int) -> Request:
    """Return the request that asks the same as SQLite is asked."""
    words = " ".join(query.words)
    text = f'"{words}"' if query.is_phrase else f"{words}*" if query.is_prefix else words
    value: Any = filter_value(query, rows)
    match query.filter:
        case "client":
            return Request(text, source_client=value)
        case "project":
            return Request(text, project_id=project_id_of(f"bench {value}"))
        case "session":
            return Request(text, session_id=session_of(row_of(value * SESSION_LENGTH)).id)
        case "role":
            return Request(text, roles=(value,))
        case "since":
            return Request(text, since=datetime.fromtimestamp(value, UTC))
    return Request(text)


class Ledger:
    """Our engine: a ledger on a throw-away server."""

    def __init__(self, settings: Settings) -> None:
        """Use a server."""
        self.database = Database(settings)
        self._url = make_url(settings.owner_url).set(drivername="postgresql")

    async def ask(self, statement: str) -> list[Any]:
        """Run SQL as the owner."""
        connection = await asyncpg.connect(self._url.render_as_string(hide_password=False))
        try:
            return list(await connection.fetch(statement))
        finally:
            await connection.close()

    async def rows(self) -> int:
        """Return how many messages it holds."""
        [found] = await self.ask("SELECT count(*) FROM entries WHERE kind = 'message'")
        return int(found[0])

    async def append(self, rows: Sequence[Row], texts: Sequence[str]) -> None:
        """Append a batch as the importers do."""
        drafts = [draft_of(row, text) for row, text in zip(rows, texts, strict=True)]
        sessions = {session_of(row).id: session_of(row) for row in rows}
        work = partial(crud.start_sessions, drafts=list(sessions.values()))
        await self.database.transact(work)
        await self.database.transact(partial(crud.append, drafts=drafts, imported=True))

    async def index(self) -> tuple[int, float]:
        """Index what is there; return how many entries, and the seconds."""
        began, count = time.perf_counter(), 0
        cutters = search.Cutters()
        try:
            while True:
                indexing = partial(search.index, limit=PASS, cutters=cutters)
                done = await self.database.transact(indexing)
                count += done.count
                cutters.prepare(done.remaining)
                if not done.remaining:
                    return count, time.perf_counter() - began
        finally:
            cutters.close()

    async def sizes(self) -> tuple[dict[str, int], int]:
        """Return the bytes of each table of search, and of the texts."""
        tables = await self.ask(
            "SELECT relname, pg_total_relation_size(oid) FROM pg_class"
            " WHERE relname LIKE 'search%' AND relkind = 'r' ORDER BY relname"
        )
        [texts] = await self.ask("SELECT sum(octet_length(content))::bigint FROM entries")
        return {each[0]: int(each[1]) for each in tables}, int(texts[0])
