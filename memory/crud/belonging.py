"""What drafts take from the sessions they belong to."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from sqlalchemy.ext.asyncio import AsyncSession

from memory.crud.prepare import Prepared
from memory.database.statements import rows_of
from memory.errors import NotFound

__all__ = ["SessionOf", "belong", "complete", "sessions_of"]

SessionOf = tuple[uuid.UUID | None, str]  # project, provider

_SESSIONS: Final = "SELECT id, project_id, provider FROM sessions WHERE id = ANY($1::uuid[])"


async def complete(session: AsyncSession, batch: Sequence[Prepared]) -> None:
    """Give each draft its session's project and provider unless it names its own.

    Raises NotFound for an unknown session.
    """
    wanted = sessions_of(batch)
    if wanted:
        rows = await rows_of(session, _SESSIONS, list(wanted))
        belong(batch, {row["id"]: (row["project_id"], row["provider"]) for row in rows})


def sessions_of(batch: Iterable[Prepared]) -> set[uuid.UUID]:
    """Return the ids of the sessions that the drafts name."""
    return {each.draft.session_id for each in batch if each.draft.session_id is not None}


def belong(batch: Sequence[Prepared], sessions: Mapping[uuid.UUID, SessionOf]) -> None:
    """Do what `complete` does with sessions that were read already."""
    unknown = sessions_of(batch).difference(sessions)
    if unknown:
        raise NotFound(f"No session has the id {min(unknown)}; start_session gives one.")
    for each in batch:
        draft = each.draft
        if draft.session_id is None or (draft.provider and each.project_id is not None):
            continue
        project_id, provider = sessions[draft.session_id]
        if each.project_id is None:
            each.project_id = project_id
        if not draft.provider:
            each.draft = replace(draft, provider=provider)
