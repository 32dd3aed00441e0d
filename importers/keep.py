"""Storing one batch: its sessions, entries, edges and checkpoint in one transaction."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from importers.base import Batch, Source, Unreadable
from importers.redaction import redacted
from memory import crud
from memory.database import Database, translated
from memory.drafts import Draft, Kind, SessionDraft, content_hash, session_attribute
from memory.errors import InvalidInput, LedgerError, NotFound

if TYPE_CHECKING:
    import uuid

__all__ = ["Kept", "Ready", "keep", "prepare"]

# What happens to a source and takes something away from it; the ledger remembers that.
_LOSSES: Final = frozenset({"replaced", "rewritten", "truncated"})


@dataclass(slots=True, kw_only=True)
class Ready:
    """A batch without credentials, ready to be stored on behalf of one machine.

    ``redacted`` holds the kinds of credentials that each draft had.
    """

    source: Source
    machine: str
    sessions: list[SessionDraft]
    drafts: list[Draft]
    redacted: list[Counter[str]]
    notes: list[Draft]
    state: Mapping[str, Any]
    edge: str


@dataclass(slots=True, kw_only=True)
class Kept:
    """What became of a batch: an answer per draft, None for one that was refused.

    ``sessions``, ``edges`` and ``notes`` count what was new.
    """

    answers: list[crud.Appended | None] = field(default_factory=list)
    refused: list[Unreadable] = field(default_factory=list)
    sessions: int = 0
    edges: int = 0
    notes: int = 0


def prepare(source: Source, batch: Batch, *, machine: str) -> Ready:
    """Take the credentials out of a batch and name the machine; slow for a large batch."""
    pairs = [redacted(replace(draft, machine=machine)) for draft in batch.drafts]
    return Ready(
        source=source,
        machine=machine,
        sessions=[replace(each, machine=machine) for each in batch.sessions],
        drafts=[draft for draft, _ in pairs],
        redacted=[kinds for _, kinds in pairs],
        notes=[_note(source, event, machine) for event in batch.events if event in _LOSSES],
        state=batch.state,
        edge=batch.edge,
    )


async def keep(database: Database, ready: Ready) -> Kept:
    """Store a batch and its checkpoint together; a draft that is refused keeps no other back.

    Raises Unavailable, and whatever else concerns the database as a whole.
    """
    try:
        return await database.transact(partial(_keep, ready, singly=False))
    except (InvalidInput, NotFound):
        return await database.transact(partial(_keep, ready, singly=True))


async def _keep(ready: Ready, session: Any, *, singly: bool) -> Kept:
    kept = Kept(sessions=await crud.start_sessions(session, ready.sessions))
    if singly:
        await _append_singly(session, ready.drafts, kept)
    else:
        kept.answers += await crud.append(session, ready.drafts, imported=True)
    edges = await crud.append(session, _edges(ready, kept.answers), imported=True)
    kept.edges = sum(each.is_new for each in edges)
    kept.notes = len(await crud.append(session, ready.notes, imported=True))
    provider = ready.source.store.provider
    await crud.set_checkpoint(session, provider, ready.machine, ready.source.key, ready.state)
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
        Draft(
            kind=Kind.SESSION,
            content=str(owner),
            source_client=draft.source_client,
            provider=draft.provider,
            machine=ready.machine,
            session_id=copy,
            source_id=f"{ready.edge}/{copy}/{owner}",
            key=session_attribute(copy, ready.edge),
            origin=draft.origin,
            occurred_at=draft.occurred_at,
            fingerprint=content_hash(ready.edge, str(owner)),
        )
        for copy, (draft, owner) in owners.items()
    ]


def _note(source: Source, event: str, machine: str) -> Draft:
    provider = source.store.provider
    return Draft(
        kind=Kind.EVENT,
        content=f"The {provider} transcript {source.path} was {event}.",
        source_client=provider,
        provider=provider,
        machine=machine,
        payload={"type": f"transcript_{event}", "path": str(source.path)},
    )
