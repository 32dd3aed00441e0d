"""Appending: the one way into the ledger.

Whatever comes in, the same thing is recorded once, a change is a new version or a conflict, and
two writers of one key form one chain. Rows reach the table through one insert statement.
"""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from memory.crud.belonging import complete
from memory.crud.insertion import insert_entries
from memory.crud.known import Known, KnownEntries
from memory.crud.prepare import Prepared, prepare
from memory.database.statements import rows_of
from memory.drafts import KEYED, Draft
from memory.errors import Conflict, InvalidInput
from memory.models import Head

__all__ = ["Appended", "append", "head_name", "lock_names"]

_LOCK: Final = (
    "SELECT pg_advisory_xact_lock(hashtextextended(name, 0)) FROM unnest($1::text[]) AS name"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """What became of one draft.

    ``is_new`` is false when the ledger had it; then ``id``, ``version`` and ``session_id`` are
    those of the entry that was there.
    """

    id: uuid.UUID
    is_new: bool
    version: int
    session_id: uuid.UUID | None
    supersedes: uuid.UUID | None = None


async def append(
    session: AsyncSession, drafts: Sequence[Draft], *, imported: bool = False
) -> list[Appended]:
    """Append drafts in order and say what became of each, in the same order.

    A tool's draft is identified by its session and source id, and other content under the same
    source id is a conflict. An imported draft is identified by its provider and source id, in
    whichever session it was first, and other content is its next version. Keyed kinds supersede
    the head of their (project, kind, key).

    Raises NotFound for an unknown session, Conflict, Credential and InvalidInput.
    """
    batch = prepare(drafts, imported=imported)
    if imported or any(each.draft.key is not None for each in batch):
        await complete(session, batch)
        await lock_names(session, _names(batch, imported=imported))
        known = await KnownEntries.read(session, batch, imported=imported)
    else:  # nothing to hold, so that one look is enough
        known = await KnownEntries.read_with_sessions(session, batch)
    results: list[Appended] = []
    rows: list[dict[str, Any]] = []
    for each in batch:
        found = known.find(each)
        if found is not None:
            results.append(_known(found))
            continue
        if not imported:
            _refuse_change(each, known)
        rows.append(known.add(each))
        results.append(_new(rows[-1]))
    if rows:
        await insert_entries(session, rows)
        await _move_heads(session, rows)
    return results


def head_name(project_id: object, kind: str, key: str) -> str:
    """Return the name under which writers of one key wait for one another."""
    return f"head\n{project_id}\n{kind}\n{key}"


async def lock_names(session: AsyncSession, names: Iterable[str]) -> None:
    """Hold these names until the transaction ends; sorted, so that no two holders deadlock."""
    ordered = sorted(set(names))
    if ordered:
        await rows_of(session, _LOCK, ordered)


def _names(batch: Sequence[Prepared], *, imported: bool) -> set[str]:
    """Return what the batch has to hold: its keys, and each provider whose history it continues."""
    names = {head_name(*each.head_key) for each in batch if each.head_key is not None}
    if imported:
        names |= {f"import\n{each.draft.provider}" for each in batch}
    return names


def _refuse_change(each: Prepared, known: KnownEntries) -> None:
    """Raise Conflict when a tool says something else under a source id that is taken."""
    if each.draft.key is not None and each.draft.kind not in KEYED:
        raise InvalidInput(f"An entry of kind {each.draft.kind} has no key.")
    standing = known.newest(each)
    if each.head_key is None and standing is not None:
        raise Conflict(
            "This session already has another message under this source id; the first one stays."
            " Use a new source id for a new message.",
            details={"existing_id": str(standing.id)},
        )


def _known(entry: Known) -> Appended:
    return Appended(id=entry.id, is_new=False, version=entry.version, session_id=entry.session_id)


def _new(row: Mapping[str, Any]) -> Appended:
    return Appended(
        id=row["id"],
        is_new=True,
        version=row["version"],
        session_id=row["session_id"],
        supersedes=row["supersedes"],
    )


async def _move_heads(session: AsyncSession, rows: Sequence[Mapping[str, Any]]) -> None:
    """Point the heads of the rows' keys at the newest of them."""
    newest = {
        (row["project_id"], row["kind"], row["key"]): row for row in rows if row["key"] is not None
    }
    if not newest:
        return
    statement = insert(Head)
    statement = statement.on_conflict_do_update(
        index_elements=[Head.project_id, Head.kind, Head.key],
        set_={"entry_id": statement.excluded.entry_id, "version": statement.excluded.version},
    )
    values = [
        {
            "entry_id": row["id"],
            "project_id": project,
            "kind": kind,
            "key": key,
            "version": row["version"],
        }
        for (project, kind, key), row in newest.items()
    ]
    await session.execute(statement, values)
