"""Facts, decisions, preferences and states: values that supersede one another."""

import uuid

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from memory.crud.append import Appended, append, head_name, lock_names
from memory.crud.heads import of_keys
from memory.crud.projects import get_project
from memory.drafts import KEYED, Draft
from memory.errors import Conflict, InvalidInput
from memory.models import Entry, Head, Session

__all__ = ["get_head", "record"]


async def record(
    session: AsyncSession, draft: Draft, *, expected_id: uuid.UUID | None = None
) -> Appended:
    """Append a value that supersedes the head of its (project, kind, key).

    The same value again from the same client is known, not appended. ``expected_id`` is the head
    that the writer saw. Raises Conflict, with the standing head in ``details["head"]``, when
    another stands there; NotFound for an unknown project or session.
    """
    if draft.kind not in KEYED or not draft.key:
        raise InvalidInput(f"An entry of kind {draft.kind} needs a key.")
    if draft.project_id is not None:
        await get_project(session, draft.project_id)
    if expected_id is not None:
        project_id = await _project_of(session, draft)
        await lock_names(session, [head_name(project_id, draft.kind, draft.key)])
        head = await get_head(session, project_id, draft.kind, draft.key)
        if head is None or head.id != expected_id:
            if head is not None:
                session.expunge(head)  # the rollback would empty it, and the caller shows it
            raise Conflict(
                "Another entry stands under this key now; read it, then call again with its id"
                " as expected_id, or without expected_id to supersede it anyway.",
                details={"head": head},
            )
    return (await append(session, [draft]))[0]


async def get_head(
    session: AsyncSession, project_id: uuid.UUID | None, kind: str, key: str
) -> Entry | None:
    """Return the newest entry of a key, or None."""
    return await session.scalar(
        select(Entry)
        .join(Head, Head.entry_id == Entry.id)
        .where(of_keys([(project_id, kind, key)]))
    )


async def _project_of(session: AsyncSession, draft: Draft) -> uuid.UUID | None:
    if draft.project_id is not None or draft.session_id is None:
        return draft.project_id
    return await session.scalar(select(Session.project_id).where(Session.id == draft.session_id))
