"""Placement: the project that a workplace belongs to.

Its remote is asked first, then its repository's root, then its directory. Of a remote that
belongs to no project yet, a root or directory speaks only when its project has no remote: a fork
in the same folder is another project.
"""

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from sqlalchemy.ext.asyncio import AsyncSession

from memory import crud_secret, text
from memory.crud.append import lock_names
from memory.crud.bindings import (
    DIRECTORY,
    REMOTE,
    ROOT,
    Binding,
    all_bindings,
    bind,
    bound,
)
from memory.crud.projects import MAX_NAME, create_project, get_project
from memory.drafts import content_hash, project_id_of
from memory.models import Project
from memory.remotes import name_of_remote
from memory.workplace import Workplace

__all__ = ["Placement", "ensure_projects", "find_project_of"]

_HASH_DIGITS: Final = 8

Known = Mapping[Binding, uuid.UUID]


@dataclass(frozen=True, slots=True)
class Placement:
    """A workplace's project; ``by`` is what named it.

    ``fitting`` are the projects when several fit: then it has none, because none is guessed.
    """

    project_id: uuid.UUID | None = None
    by: str | None = None
    fitting: tuple[uuid.UUID, ...] = ()


async def find_project_of(session: AsyncSession, workplace: Workplace) -> Placement:
    """Return the project of a workplace as the ledger has it; nothing is made or bound."""
    return (await _find(session, [workplace]))[workplace]


async def ensure_projects(
    session: AsyncSession, workplaces: Collection[Workplace], *, source_client: str
) -> dict[Workplace, Placement]:
    """Return the project of each workplace; one that has none is made.

    What is not bound yet of a workplace is bound to its project. A new project is named after the
    repository, else the folder; when that name is another's, the address or path stands behind it.
    Where several projects fit, nothing is made.
    """
    wanted = list(dict.fromkeys(each for each in workplaces if each.directory.strip()))
    placements = await _find(session, wanted)
    known = await bound(session, {each for one in wanted for each in _own(one)})
    if all(_is_settled(one, placements[one], known) for one in wanted):
        return placements
    await lock_names(session, ["bindings"])
    for one in wanted:  # again, and one after another: another writer or the last one was quicker
        placement = (await _find(session, [one]))[one]
        if not placement.fitting:
            placement = await _settle(session, one, placement, source_client)
        placements[one] = placement
    return placements


def _own(workplace: Workplace) -> list[Binding]:
    """Return what belongs to the project of a workplace, the surest first."""
    own = [Binding(REMOTE, workplace.remote)] if workplace.remote else []
    own += [Binding(ROOT, workplace.root)] if workplace.root else []
    return [*own, Binding(DIRECTORY, workplace.directory)]


def _levels(workplace: Workplace) -> list[list[Binding]]:
    """Return what is asked for the project, one level after the other.

    The directory of a root is asked too: ledgers know some by their directory alone.
    """
    levels = [[Binding(REMOTE, each) for each in workplace.remotes]]
    if workplace.root:
        levels += [[Binding(ROOT, workplace.root)], [Binding(DIRECTORY, workplace.root)]]
    return [*levels, [Binding(DIRECTORY, workplace.directory)]]


async def _find(
    session: AsyncSession, workplaces: Sequence[Workplace]
) -> dict[Workplace, Placement]:
    asked = {each for one in workplaces for level in _levels(one) for each in level}
    known = await bound(session, asked)
    unsure = set(known.values()) if any(one.remote for one in workplaces) else set()
    bindings = await all_bindings(session, project_ids=unsure) if unsure else {}
    with_remote = {
        project_id
        for project_id, own in bindings.items()
        if any(each.kind == REMOTE for each in own)
    }
    return {one: _placement(one, known, with_remote) for one in workplaces}


def _placement(workplace: Workplace, known: Known, with_remote: Collection[uuid.UUID]) -> Placement:
    remotes, *others = _levels(workplace)
    fitting = {known[each] for each in remotes if each in known}
    if len(fitting) == 1:
        return Placement(fitting.pop(), REMOTE)
    for [each] in others:
        project_id = known.get(each)
        is_fork = workplace.remote is not None and project_id in with_remote
        if (
            project_id is None
            or (fitting and project_id not in fitting)
            or (not fitting and is_fork)
        ):
            continue
        return Placement(project_id, each.kind)
    return Placement(fitting=tuple(sorted(fitting)))


def _is_settled(workplace: Workplace, placement: Placement, known: Known) -> bool:
    """Tell whether nothing is left to be made or bound."""
    has_project = placement.project_id is not None or bool(placement.fitting)
    return has_project and (
        bool(placement.fitting) or all(each in known for each in _own(workplace))
    )


async def _settle(
    session: AsyncSession, workplace: Workplace, placement: Placement, source_client: str
) -> Placement:
    if placement.project_id is None:
        project = await _make(session, workplace, source_client)
        placement = Placement(project.id, _own(workplace)[0].kind)
    else:
        project = await get_project(session, placement.project_id)
    own = _own(workplace)
    known = await bound(session, own)
    missing = [each for each in own if each not in known]
    if missing:
        await bind(session, project, missing, source_client=source_client)
    return placement


async def _make(session: AsyncSession, workplace: Workplace, source_client: str) -> Project:
    """Make the project of a workplace, or take the one of its name that nothing is bound to."""
    first = _own(workplace)[0]
    path = PurePath(first.shown)
    name = (name_of_remote(first.shown) if first.kind == REMOTE else path.name) or str(path)
    taken = await all_bindings(session)
    digits = content_hash(first.key).hex()[:_HASH_DIGITS]
    candidates = (name, f"{name} ({first.shown})", f"{name[: MAX_NAME - 20]} ({digits})")
    clean = [crud_secret.redact(text.clean(each)[0])[0].strip()[:MAX_NAME] for each in candidates]
    candidate = next((each for each in clean if project_id_of(each) not in taken), clean[-1])
    project, _ = await create_project(session, candidate, source_client=source_client)
    return project
