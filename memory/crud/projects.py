"""Projects, and the directories that are bound to them."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath
from typing import Final

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from memory import crud_secret, text
from memory.crud.append import append, lock_names
from memory.crud.prepare import clean_name
from memory.drafts import Draft, Kind, content_hash, project_id_of
from memory.errors import NotFound
from memory.models import Entry, Head, Project, Session

__all__ = [
    "MAX_DESCRIPTION",
    "MAX_NAME",
    "ProjectSummary",
    "create_project",
    "ensure_projects",
    "get_project",
    "list_projects",
    "project_names",
    "project_of_directory",
]

MAX_NAME: Final = 200
MAX_DESCRIPTION: Final = 10_000

_LONGEST_PATH: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectSummary:
    """A project with what the ledger holds of it."""

    project: Project
    directories: list[str]
    sessions: int
    entries: int
    last_at: datetime | None


async def create_project(
    session: AsyncSession, name: str, *, description: str | None = None, source_client: str
) -> tuple[Project, bool]:
    """Return the project of this name and whether it is new; letter case does not tell two apart.

    A project is inserted once: a later description does not replace the first.
    """
    name = clean_name(name, where="name", most=MAX_NAME)
    if description:
        description = clean_name(description, where="description", most=MAX_DESCRIPTION)
    project_id = project_id_of(name)
    inserted = await session.scalar(
        insert(Project)
        .values(
            id=project_id,
            name=name,
            description=description or None,
            source_client=clean_name(source_client, where="source_client", most=MAX_NAME),
        )
        .on_conflict_do_nothing()
        .returning(Project.id)
    )
    return await get_project(session, project_id), inserted is not None


async def get_project(session: AsyncSession, project_id: uuid.UUID) -> Project:
    """Return a project. Raises NotFound."""
    project = await session.get(Project, project_id)
    if project is None:
        raise NotFound(f"No project has the id {project_id}; list_projects shows those there are.")
    return project


async def list_projects(session: AsyncSession) -> list[ProjectSummary]:
    """Return every project, by name."""
    sessions = await _counts(session, Session.project_id, func.max(Session.recorded_at))
    entries = await _counts(session, Entry.project_id, func.max(Entry.recorded_at))
    directories: dict[str, list[str]] = {}
    for binding in await session.scalars(_bindings()):
        project = str((binding.payload or {}).get("project_id"))
        directories.setdefault(project, []).append(str((binding.payload or {}).get("directory")))
    projects = await session.scalars(select(Project).order_by(func.lower(Project.name)))
    return [
        ProjectSummary(
            project=project,
            directories=sorted(directories.get(str(project.id), [])),
            sessions=sessions.get(project.id, (0, None))[0],
            entries=entries.get(project.id, (0, None))[0],
            last_at=entries.get(project.id, (0, None))[1],
        )
        for project in projects
    ]


async def project_names(session: AsyncSession) -> dict[uuid.UUID, str]:
    """Return the name of every project."""
    rows = await session.execute(select(Project.id, Project.name))
    return {project_id: name for project_id, name in rows}  # noqa: C416 - a row is no plain pair


async def project_of_directory(session: AsyncSession, directory: str) -> Project | None:
    """Return the project that this very directory is bound to, or None."""
    found = await _bound(session, [directory])
    project_id = found.get(_key(directory))
    return await session.get(Project, project_id) if project_id else None


async def ensure_projects(
    session: AsyncSession, directories: Sequence[str], *, source_client: str
) -> dict[str, uuid.UUID]:
    """Return the project of each directory; one that has none is made and bound.

    A new project takes the directory's name; when that belongs to another directory, the path
    stands behind it.
    """
    wanted = {directory: _key(directory) for directory in directories if directory.strip()}
    found = await _bound(session, list(wanted))
    if missing := [directory for directory, key in wanted.items() if key not in found]:
        await lock_names(session, ["bindings"])
        found = await _bound(session, list(wanted))
        for directory in missing:
            if wanted[directory] not in found:
                found[wanted[directory]] = await _bind(session, directory, source_client)
    return {directory: found[key] for directory, key in wanted.items()}


async def _bind(session: AsyncSession, directory: str, source_client: str) -> uuid.UUID:
    path = PurePath(crud_secret.redact(text.clean(directory)[0])[0])
    name = (path.name or str(path))[:MAX_NAME]
    bindings = await session.scalars(_bindings())
    taken = {str((binding.payload or {}).get("project_id")) for binding in bindings}
    if str(project_id_of(name)) in taken:
        name = f"{name} ({path})"[:MAX_NAME]
    project, _ = await create_project(session, name, source_client=source_client)
    binding = Draft(
        kind=Kind.BINDING,
        key=_key(directory),
        content=project.name,
        source_client=source_client,
        payload={"project_id": str(project.id), "directory": str(path)},
    )
    await append(session, [binding], imported=True)
    return project.id


async def _bound(session: AsyncSession, directories: Sequence[str]) -> dict[str, uuid.UUID]:
    """Return the project of each binding key that is bound."""
    keys = {_key(directory) for directory in directories}
    bindings = await session.scalars(_bindings().where(Head.key.in_(keys)))
    return {
        str(binding.key): uuid.UUID(str((binding.payload or {}).get("project_id")))
        for binding in bindings
    }


def _bindings() -> Select[Entry]:
    return (
        select(Entry)
        .join(Head, Head.entry_id == Entry.id)
        .where(Head.kind == Kind.BINDING, Head.project_id.is_(None))
    )


def _key(directory: str) -> str:
    """Return a directory's binding key; a path that is too long for a key is hashed."""
    path = str(PurePath(text.clean(directory)[0]))
    if len(path.encode()) > _LONGEST_PATH:
        path = content_hash(path).hex()
    return f"directory:{path}"


async def _counts(
    session: AsyncSession,
    column: InstrumentedAttribute[uuid.UUID | None],
    latest: ColumnElement[datetime],
) -> dict[uuid.UUID, tuple[int, datetime | None]]:
    rows = await session.execute(
        select(column, func.count(), latest).where(column.is_not(None)).group_by(column)
    )
    return {project: (count, last) for project, count, last in rows if project is not None}
