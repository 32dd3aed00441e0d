"""Bindings: the remotes, repository roots and directories that belong to a project.

A binding is an entry without project, whose key is what is bound. It is appended when nothing
stands under that key yet, and never changed.
"""

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from sqlalchemy import Select, select
from sqlalchemy.ext.asyncio import AsyncSession

from memory import crud_secret, text
from memory.crud.append import append
from memory.drafts import Draft, Kind, content_hash
from memory.models import Entry, Head, Project

__all__ = ["DIRECTORY", "REMOTE", "ROOT", "Binding", "all_bindings", "bind", "bound"]

REMOTE: Final = "remote"
ROOT: Final = "root"
DIRECTORY: Final = "directory"
KINDS: Final = (REMOTE, ROOT, DIRECTORY)
"""What can be bound, the surest first."""

_LONGEST: Final = 1000  # bytes of a key; what is longer is hashed


@dataclass(frozen=True, slots=True, order=True)
class Binding:
    """One thing that belongs to a project: its kind (REMOTE, ROOT, DIRECTORY) and its name."""

    kind: str
    name: str

    @property
    def key(self) -> str:
        """The key under which the ledger holds it, in at most 1,024 bytes."""
        shown = self.shown
        if len(shown.encode()) > _LONGEST:
            shown = content_hash(shown).hex()
        return f"{self.kind}:{shown}"

    @property
    def shown(self) -> str:
        """The name as it is stored: without credentials, and a path without needless signs."""
        clean = crud_secret.redact(text.clean(self.name)[0])[0]
        return clean if self.kind == REMOTE else str(PurePath(clean))


async def bound(session: AsyncSession, bindings: Collection[Binding]) -> dict[Binding, uuid.UUID]:
    """Return the project of each of these that is bound."""
    if not bindings:
        return {}
    keys = {each: each.key for each in bindings}
    entries = await session.scalars(_bindings().where(Head.key.in_(set(keys.values()))))
    found = {str(entry.key): _project_of(entry) for entry in entries}
    return {each: found[key] for each, key in keys.items() if key in found}


async def all_bindings(
    session: AsyncSession, *, project_ids: Collection[uuid.UUID] | None = None
) -> dict[uuid.UUID, list[Binding]]:
    """Return the bindings of each project (or of these), sorted: remotes, roots, directories."""
    found: dict[uuid.UUID, set[Binding]] = {}
    statement = _bindings()
    if project_ids is not None:
        statement = statement.where(
            Entry.payload["project_id"].astext.in_([str(each) for each in project_ids])
        )
    for entry in await session.scalars(statement):
        kind = str(entry.key).partition(":")[0]
        name = str((entry.payload or {}).get(kind, ""))
        found.setdefault(_project_of(entry), set()).add(Binding(kind, name))
    order = {kind: place for place, kind in enumerate(KINDS)}
    return {
        project_id: sorted(each, key=lambda one: (order.get(one.kind, len(order)), one.name))
        for project_id, each in found.items()
    }


async def bind(
    session: AsyncSession, project: Project, bindings: Collection[Binding], *, source_client: str
) -> None:
    """Append bindings to a project; the caller holds the name ``bindings`` and saw none of them."""
    drafts = {
        each.key: Draft(
            kind=Kind.BINDING,
            key=each.key,
            content=project.name,
            source_client=source_client,
            payload={"project_id": str(project.id), each.kind: each.shown},
        )
        for each in bindings
    }
    await append(session, list(drafts.values()), imported=True)


def _bindings() -> Select[Entry]:
    return (
        select(Entry)
        .join(Head, Head.entry_id == Entry.id)
        .where(Head.kind == Kind.BINDING, Head.project_id.is_(None))
    )


def _project_of(entry: Entry) -> uuid.UUID:
    return uuid.UUID(str((entry.payload or {}).get("project_id")))
