"""Storing batches: their sessions, entries, edges and checkpoints in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from importers.attributes import edge
from importers.base import Unreadable
from importers.ready import Ready
from memory import crud
from memory.crud.checkpoints import set_checkpoints
from memory.database import Database, translated
from memory.drafts import Draft, Kind
from memory.errors import InvalidInput, LedgerError, NotFound

if TYPE_CHECKING:
    import uuid

__all__ = ["Kept", "keep"]


@dataclass(slots=True, kw_only=True)
class Kept:
    """What became of a batch: an answer per draft, None for one that was refused.

    ``edges`` and ``notes`` count what was new, as does ``sessions``, which stands at the first of
    the batches that were stored together.
    """

    answers: list[crud.Appended | None] = field(default_factory=list)
    refused: list[Unreadable] = field(default_factory=list)
    sessions: int = 0
    edges: int = 0
    notes: int = 0


async def keep(
    database: Database, batches: Sequence[Ready], *, with_checkpoints: bool = True
) -> list[Kept]:
    """Store batches of one client's sources and their checkpoints in one transaction.

    Without checkpoints, the next pass goes on where the last one ended. A draft that is refused keeps no other back. Raises Unavailable, and whatever else concerns
    the database as a whole.
    """
    work = partial(_keep, batches, with_checkpoints=with_checkpoints)
    try:
        return await database.transact(partial(work, singly=False))
    except (InvalidInput, NotFound):
        return await database.transact(partial(work, singly=True))


async def _keep(
    batches: Sequence[Ready], session: Any, *, singly: bool, with_checkpoints: bool
) -> list[Kept]:
    kept = [Kept() for _ in batches]
    sessions = [each for ready in batches for each in ready.sessions]
    kept[0].sessions = await crud.start_sessions(session, sessions)
    if singly:
        for ready, each in zip(batches, kept, strict=True):
            await _append_singly(session, ready.drafts, each)
    else:
        drafts = [draft for ready in batches for draft in ready.drafts]
        answers = iter(await crud.append(session, drafts, imported=True))
        for ready, each in zip(batches, kept, strict=True):
            each.answers += islice(answers, len(ready.drafts))
    for ready, each in zip(batches, kept, strict=True):
        edges = await crud.append(session, _edges(ready, each.answers), imported=True)
        each.edges = sum(edge.is_new for edge in edges)
        each.notes = len(await crud.append(session, ready.notes, imported=True))
    if with_checkpoints:
        first = batches[0]
        states = {ready.source.key: ready.state for ready in batches}
        await set_checkpoints(session, first.source.store.provider, first.machine, states)
    return kept


async def _append_singly(session: Any, drafts: Sequence[Draft], kept: Kept) -> None:
    """Append each draft behind a savepoint, and tell those that the ledger refuses."""
    for draft in drafts:
        try:
            with translated():
                async with session.begin_nested():
                    kept.answers += await crud.append(session, [draft], imported=True)
        except (InvalidInput, NotFound) as error:
            kept.answers.append(None)
            kept.refused.append(_refusal(draft, error))


def _refusal(draft: Draft, error: LedgerError) -> Unreadable:
    origin = draft.origin or {}
    path, offset = str(origin.get("path", "")), int(origin.get("offset", 0))
    return Unreadable(path=path, offset=offset, reason=f"{error.code}: {error}")


def _edges(ready: Ready, answers: Sequence[crud.Appended | None]) -> list[Draft]:
    """Return an edge for each session whose records were another session's first.

    A copy begins with the whole history, so the owner of the last copied record is the session it
    was copied from.
    """
    owners: dict[uuid.UUID, tuple[Draft, uuid.UUID]] = {}
    for draft, answer in zip(ready.drafts, answers, strict=True):
        if answer is None or answer.is_new or draft.kind is not Kind.MESSAGE:
            continue
        if draft.session_id and answer.session_id and answer.session_id != draft.session_id:
            owners[draft.session_id] = (draft, answer.session_id)
    return [
        edge(ready.edge, copy, owner, draft, machine=ready.machine)
        for copy, (draft, owner) in owners.items()
    ]
