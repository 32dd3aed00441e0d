"""A project's current values and its history."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import or_, select, tuple_
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.ext.asyncio import AsyncSession

from memory.crud import cursor as cursors
from memory.crud.page import Page, checked_limit
from memory.crud.projects import get_project
from memory.drafts import Kind
from memory.models import Entry, Head, Project

__all__ = ["Context", "project_context", "project_history"]

_VALUES: Final = (Kind.FACT, Kind.DECISION, Kind.PREFERENCE, Kind.PROJECT_STATE)
_CURSOR: Final = "history"


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What holds in a project; lists are newest first.

    Preferences that belong to no project hold in every one, so they are among them.
    ``more`` names the kinds of which there are more than ``limit``.
    """

    project: Project
    facts: list[Entry]
    decisions: list[Entry]
    preferences: list[Entry]
    state: Entry | None
    events: list[Entry]
    more: list[str]


async def project_context(
    session: AsyncSession,
    project_id: uuid.UUID,
    *,
    as_of: datetime | None = None,
    limit: int = 20,
) -> Context:
    """Return what holds in a project now, or what the ledger held at a time.

    At most ``limit`` entries of a kind. Raises NotFound for an unknown project.
    """
    checked_limit(limit)
    project = await get_project(session, project_id)
    found: dict[Kind, list[Entry]] = {}
    for kind in (Kind.FACT, Kind.DECISION, Kind.PREFERENCE, Kind.PROJECT_STATE):
        found[kind] = await _current(session, project_id, kind, as_of, limit + 1)
    events = select(Entry).where(Entry.project_id == project_id, Entry.kind == Kind.EVENT)
    if as_of is not None:
        events = events.where(Entry.recorded_at <= as_of)
    events = events.order_by(Entry.occurred_at.desc(), Entry.seq.desc()).limit(limit + 1)
    found[Kind.EVENT] = list(await session.scalars(events))
    states = found.pop(Kind.PROJECT_STATE)
    return Context(
        project=project,
        facts=found[Kind.FACT][:limit],
        decisions=found[Kind.DECISION][:limit],
        preferences=found[Kind.PREFERENCE][:limit],
        state=states[0] if states else None,
        events=found[Kind.EVENT][:limit],
        more=[str(kind) for kind, entries in found.items() if len(entries) > limit],
    )


async def project_history(
    session: AsyncSession,
    project_id: uuid.UUID,
    *,
    after: str | datetime | None = None,
    limit: int = 50,
) -> Page:
    """Return a project's facts, decisions, preferences, states and events as they were recorded.

    ``after`` is a cursor or a time of the ledger. Superseded entries are in it.
    Raises NotFound for an unknown project, InvalidInput for a bad cursor.
    """
    checked_limit(limit)
    await get_project(session, project_id)
    statement = (
        select(Entry)
        .where(Entry.project_id == project_id, Entry.kind.in_((*_VALUES, Kind.EVENT)))
        .order_by(Entry.recorded_at, Entry.seq)
        .limit(limit + 1)
    )
    if isinstance(after, datetime):
        statement = statement.where(Entry.recorded_at > after)
    elif after is not None:
        at, seq = cursors.decode(_CURSOR, after)
        statement = statement.where(
            tuple_(Entry.recorded_at, Entry.seq) > tuple_(cursors.time(at), seq)
        )
    entries = list(await session.scalars(statement))
    last = entries[limit - 1] if len(entries) > limit else None
    following = cursors.encode(_CURSOR, last.recorded_at.isoformat(), last.seq) if last else None
    return Page(entries[:limit], following)


async def _current(
    session: AsyncSession, project_id: uuid.UUID, kind: Kind, as_of: datetime | None, limit: int
) -> list[Entry]:
    """Return the newest version of each key, the newest keys first."""
    column = Head.project_id if as_of is None else Entry.project_id
    mine = column == project_id
    if kind is Kind.PREFERENCE:
        mine = or_(mine, column.is_(None))
    if as_of is None:
        statement = (
            select(Entry).join(Head, Head.entry_id == Entry.id).where(mine, Head.kind == kind)
        )
    else:
        newest = (
            select(Entry.id)
            .where(mine, Entry.kind == kind, Entry.recorded_at <= as_of)
            .order_by(Entry.project_id, Entry.key, Entry.version.desc())
            .ext(distinct_on(Entry.project_id, Entry.key))
        )
        statement = select(Entry).where(Entry.id.in_(newest))
    statement = statement.order_by(Entry.recorded_at.desc(), Entry.seq.desc()).limit(limit)
    return list(await session.scalars(statement))
