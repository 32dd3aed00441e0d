"""Sessions: identity rows, and the attributes that became known later."""

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import func, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from memory import crud_secret, text
from memory.crud import cursor as cursors
from memory.crud.append import append
from memory.crud.heads import of_keys
from memory.crud.page import Page, checked_limit
from memory.crud.placement import ensure_projects
from memory.crud.prepare import MAX_SOURCE_ID_BYTES, clean_name, is_usable
from memory.crud.projects import get_project
from memory.crud.said import said
from memory.database.statements import rows_of
from memory.drafts import Draft, Kind, SessionDraft, client_names, session_attribute, spelled
from memory.errors import NotFound
from memory.models import Entry, Head, Session

__all__ = [
    "MAX_TITLE",
    "SessionSummary",
    "SessionView",
    "get_session",
    "list_sessions",
    "newest_session",
    "read_session",
    "session_titles",
    "start_session",
    "start_sessions",
]

MAX_TITLE: Final = 500
_KNOWN: Final = "SELECT id FROM sessions WHERE id = ANY($1::uuid[])"
_CURSOR: Final = "session"
_BEHIND: Final = "\U0010ffff"  # sorts behind the name of any attribute


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """A session's row with its later attributes (title, forked_from, model ...), newest values."""

    row: Session
    attributes: Mapping[str, str]

    @property
    def title(self) -> str | None:
        """The newest title."""
        return self.attributes.get("title") or self.row.title


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """A session in a list; times are of its entries in the client's own clock.

    What the harness said is not counted.
    """

    session: Session
    title: str | None
    entries: int
    first_at: datetime | None
    last_at: datetime | None


async def start_session(session: AsyncSession, draft: SessionDraft) -> tuple[SessionView, bool]:
    """Return the session with this provider and source id, and whether it is new.

    The first project stays: entries have been tagged with it. A later title is recorded as the
    session's newest title. Raises NotFound for an unknown project, InvalidInput, Credential.
    """
    if draft.project_id is not None:
        await get_project(session, draft.project_id)
    title = clean_name(draft.title, where="title", most=MAX_TITLE) if draft.title else None
    draft = replace(
        draft,
        provider=clean_name(draft.provider, where="provider", most=MAX_TITLE),
        source_session_id=clean_name(
            draft.source_session_id, where="source_session_id", most=MAX_SOURCE_ID_BYTES
        ),
        source_client=clean_name(draft.source_client, where="source_client", most=MAX_TITLE),
        title=title,
    )
    crud_secret.refuse(draft.payload, where="payload")
    is_new = await start_sessions(session, [draft]) == 1
    view = await get_session(session, draft.id)
    if title and title != view.title:
        await append(session, [_title(draft, title)])
        view = await get_session(session, draft.id)
    return view, is_new


async def start_sessions(session: AsyncSession, drafts: Sequence[SessionDraft]) -> int:
    """Insert the sessions that are not there yet and return how many were new.

    A session without project belongs to the project of its workplace, made when missing; to none
    when several fit.
    """
    unique: dict[uuid.UUID, SessionDraft] = {}
    for draft in drafts:
        unique.setdefault(draft.id, draft)
    if not unique:
        return 0
    for (known,) in await rows_of(session, _KNOWN, list(unique)):
        del unique[known]
    if not unique:
        return 0
    places = {d.id: d.place for d in unique.values() if d.project_id is None}
    found = await ensure_projects(
        session,
        [each for each in places.values() if each is not None],
        source_client=next(iter(unique.values())).source_client,
    )
    projects = {
        session_id: found[place].project_id
        for session_id, place in places.items()
        if place is not None and place in found
    }
    rows = [_row(draft, projects.get(draft.id)) for _, draft in sorted(unique.items())]
    statement = insert(Session).on_conflict_do_nothing().returning(Session.id)
    return len((await session.scalars(statement, rows)).all())


async def get_session(session: AsyncSession, session_id: uuid.UUID) -> SessionView:
    """Return a session with its newest attributes. Raises NotFound."""
    row = await session.get(Session, session_id)
    if row is None:
        raise NotFound(f"No session has the id {session_id}; start_session gives one.")
    prefix = session_attribute(session_id, "")
    same_project = (
        Head.project_id.is_(None) if row.project_id is None else Head.project_id == row.project_id
    )
    heads = await session.execute(
        select(Head.key, Entry.content)
        .join(Entry, Entry.id == Head.entry_id)
        .where(
            same_project,
            Head.kind == Kind.SESSION,
            Head.key >= prefix,
            Head.key < prefix + _BEHIND,
        )
    )
    attributes = {key.removeprefix(prefix): content for key, content in heads}
    return SessionView(row=row, attributes=attributes)


async def newest_session(session: AsyncSession, *, provider: str, directory: str) -> str | None:
    """Return the client's own id of its newest session in a directory, or None."""
    return await session.scalar(
        select(Session.source_session_id)
        .where(Session.provider == spelled(provider), Session.directory == directory)
        .order_by(func.coalesce(Session.started_at, Session.recorded_at).desc(), Session.id)
        .limit(1)
    )


async def list_sessions(
    session: AsyncSession,
    *,
    client: str | None = None,
    project_id: uuid.UUID | None = None,
    limit: int = 50,
) -> list[SessionSummary]:
    """Return the sessions that were active last, newest first."""
    activity = (
        select(
            Entry.session_id,
            func.count().label("entries"),
            func.min(Entry.occurred_at).label("first_at"),
            func.max(Entry.occurred_at).label("last_at"),
        )
        .where(Entry.kind != Kind.SESSION, said())
        .group_by(Entry.session_id)
        .subquery()
    )
    statement = (
        select(Session, activity.c.entries, activity.c.first_at, activity.c.last_at)
        .outerjoin(activity, activity.c.session_id == Session.id)
        .order_by(func.coalesce(activity.c.last_at, Session.recorded_at).desc(), Session.id)
        .limit(checked_limit(limit))
    )
    if client is not None:
        statement = statement.where(Session.source_client.in_(client_names(client)))
    if project_id is not None:
        statement = statement.where(Session.project_id == project_id)
    rows = (await session.execute(statement)).all()
    titles = await _titles(session, [row.Session for row in rows])
    return [
        SessionSummary(
            session=row.Session,
            title=titles.get(row.Session.id, row.Session.title),
            entries=row.entries or 0,
            first_at=row.first_at,
            last_at=row.last_at,
        )
        for row in rows
    ]


async def session_titles(session: AsyncSession, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, str]:
    """Return the newest titles of those of these sessions that have one."""
    rows = list(await session.scalars(select(Session).where(Session.id.in_(ids))))
    given = {row.id: row.title for row in rows if row.title}
    return {**given, **await _titles(session, rows)} if rows else {}


async def read_session(
    session: AsyncSession, session_id: uuid.UUID, *, cursor: str | None = None, limit: int = 50
) -> Page:
    """Return one page of a session's entries by position, then time, then insertion.

    Entries without a position come last. Raises NotFound, and InvalidInput for a bad cursor.
    """
    checked_limit(limit)
    if await session.get(Session, session_id) is None:
        raise NotFound(f"No session has the id {session_id}; start_session gives one.")
    statement = (
        select(Entry)
        .where(Entry.session_id == session_id, Entry.kind != Kind.SESSION)
        .order_by(Entry.position.asc().nulls_last(), Entry.occurred_at, Entry.seq)
        .limit(limit + 1)
    )
    if cursor is not None:
        position, at, seq = cursors.decode(f"{_CURSOR} {session_id}", cursor)
        later = or_(
            Entry.occurred_at > cursors.time(at),
            (Entry.occurred_at == cursors.time(at)) & (Entry.seq > seq),
        )
        if position is None:
            statement = statement.where(Entry.position.is_(None), later)
        else:
            statement = statement.where(
                or_(
                    Entry.position > position,
                    (Entry.position == position) & later,
                    Entry.position.is_(None),
                )
            )
    entries = list(await session.scalars(statement))
    more = len(entries) > limit
    entries = entries[:limit]
    last = entries[-1] if more else None
    return Page(
        entries,
        cursors.encode(
            f"{_CURSOR} {session_id}", last.position, last.occurred_at.isoformat(), last.seq
        )
        if last
        else None,
    )


def _title(draft: SessionDraft, title: str) -> Draft:
    return Draft(
        kind=Kind.SESSION,
        key=session_attribute(draft.id, "title"),
        content=title,
        session_id=draft.id,
        source_client=draft.source_client,
        provider=draft.provider,
        machine=draft.machine,
    )


def _row(draft: SessionDraft, project_id: uuid.UUID | None) -> dict[str, Any]:
    def clean(value: str | None) -> str | None:
        return crud_secret.redact(text.clean(value)[0])[0] if value else value

    started_at = draft.started_at
    return {
        "id": draft.id,
        "provider": spelled(text.clean(draft.provider)[0]),
        "source_session_id": text.clean(draft.source_session_id)[0],
        "source_client": spelled(draft.source_client),
        "machine": draft.machine,
        "project_id": draft.project_id or project_id,
        "parent_id": draft.parent_id,
        "title": clean(draft.title),
        "directory": clean(draft.directory),
        "payload": crud_secret.redact_json(text.clean_json(dict(draft.payload))[0])[0],
        "started_at": started_at if started_at and is_usable(started_at) else None,
    }


async def _titles(session: AsyncSession, rows: Sequence[Session]) -> dict[uuid.UUID, str]:
    keys = {session_attribute(row.id, "title"): row for row in rows}
    wanted = [(row.project_id, str(Kind.SESSION), key) for key, row in keys.items()]
    titles = await session.execute(
        select(Head.key, Entry.content)
        .join(Entry, Entry.id == Head.entry_id)
        .where(of_keys(wanted))
    )
    return {keys[key].id: content for key, content in titles}
