"""Projects: named bodies of work."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from memory.crud.bindings import DIRECTORY, Binding, all_bindings
from memory.crud.prepare import clean_name
from memory.crud.said import said
from memory.drafts import OWN_KINDS, project_id_of
from memory.errors import NotFound
from memory.models import Entry, Project, Session

__all__ = [
    "MAX_DESCRIPTION",
    "MAX_NAME",
    "ProjectSummary",
    "create_project",
    "get_project",
    "list_projects",
    "project_names",
]

MAX_NAME: Final = 200
MAX_DESCRIPTION: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectSummary:
    """A project with what the ledger holds of it."""

    project: Project
    bindings: list[Binding]
    sessions: int
    entries: int
    last_at: datetime | None

    @property
    def directories(self) -> list[str]:
        """The directories that are bound to it."""
        return [each.name for each in self.bindings if each.kind == DIRECTORY]


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
    """Return every project, by name; what the harness said is not counted."""
    sessions = await _counts(session, Session.project_id, func.max(Session.recorded_at))
    counted = (Entry.kind.not_in(OWN_KINDS), said())
    entries = await _counts(session, Entry.project_id, func.max(Entry.recorded_at), *counted)
    bindings = await all_bindings(session)
    projects = await session.scalars(select(Project).order_by(func.lower(Project.name)))
    return [
        ProjectSummary(
            project=project,
            bindings=bindings.get(project.id, []),
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


async def _counts(
    session: AsyncSession,
    column: InstrumentedAttribute[uuid.UUID | None],
    latest: ColumnElement[datetime],
    *counted: ColumnElement[bool],
) -> dict[uuid.UUID, tuple[int, datetime | None]]:
    rows = await session.execute(
        select(column, func.count(), latest).where(column.is_not(None), *counted).group_by(column)
    )
    return {project: (count, last) for project, count, last in rows if project is not None}
