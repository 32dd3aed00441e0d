"""Machines: each is known by its id; what people call it is an entry that a later one supersedes."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from memory.crud.append import append, head_name, lock_names
from memory.crud.prepare import MAX_KEY_BYTES, clean_name
from memory.crud.records import get_head
from memory.drafts import Draft, Kind
from memory.errors import InvalidInput
from memory.models import Checkpoint, Entry, Head, Session
from memory.text import clean

__all__ = [
    "MAX_LABEL",
    "Machine",
    "find_machine",
    "label_machine",
    "list_machines",
    "machine_labels",
]

MAX_LABEL: Final = 100

_WRITER: Final = "memory"
_USUAL: Final = "is_usual"  # in the payload of a label that nobody chose


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine as the ledger knows it.

    ``sessions`` counts those that were first seen there; ``imported_at`` is when an importer last
    stored something for it.
    """

    id: str
    label: str
    sessions: int
    imported_at: datetime | None


async def label_machine(
    session: AsyncSession, machine: str, label: str, *, is_usual: bool = False
) -> bool:
    """Record what a machine is called and return whether that is new; the newest label counts.

    A usual one, which nobody chose, gives way to one that somebody chose, and is cut where it is
    too long. Raises InvalidInput, and Credential for a label that holds one.
    """
    machine = clean_name(machine, where="machine", most=MAX_KEY_BYTES // 4)
    if is_usual:
        label = clean(label)[0].strip()[:MAX_LABEL] or machine
    else:
        label = clean_name(label, where="label", most=MAX_LABEL)
    await lock_names(session, [head_name(None, Kind.MACHINE, machine)])
    head = await get_head(session, None, Kind.MACHINE, machine)
    if head is not None:
        was_chosen = not (head.payload or {}).get(_USUAL)
        if (is_usual and was_chosen) or (head.content == label and is_usual != was_chosen):
            return False
    draft = Draft(
        kind=Kind.MACHINE,
        key=machine,
        content=label,
        source_client=_WRITER,
        machine=machine,
        payload={_USUAL: True} if is_usual else None,
    )
    # As an importer's: a host may be called what looks like the name of a secret.
    return (await append(session, [draft], imported=True))[0].is_new


async def machine_labels(session: AsyncSession) -> dict[str, str]:
    """Return what each machine is called, by its id."""
    rows = await session.execute(
        select(Head.key, Entry.content)
        .join(Entry, Entry.id == Head.entry_id)
        .where(Head.kind == Kind.MACHINE, Head.project_id.is_(None))
    )
    return {key: label for key, label in rows}  # noqa: C416 - a row is no plain pair to mypy


async def list_machines(session: AsyncSession) -> list[Machine]:
    """Return every machine that has a label, a session or a checkpoint here, by label."""
    labels = await machine_labels(session)
    counted = await session.execute(select(Session.machine, func.count()).group_by(Session.machine))
    sessions = {machine: count for machine, count in counted}  # noqa: C416 - see above
    imports = await session.execute(
        select(Checkpoint.machine, func.max(Checkpoint.recorded_at)).group_by(Checkpoint.machine)
    )
    imported = {machine: at for machine, at in imports}  # noqa: C416 - see above
    return sorted(
        (
            Machine(
                id=machine,
                label=labels.get(machine, machine),
                sessions=sessions.get(machine, 0),
                imported_at=imported.get(machine),
            )
            for machine in {*labels, *sessions, *imported} - {""}
        ),
        key=lambda each: (each.label.casefold(), each.id),
    )


async def find_machine(session: AsyncSession, name: str) -> str | None:
    """Return the id of the machine with this id or label, or None.

    Raises InvalidInput, naming their ids, when several are called so.
    """
    known = await list_machines(session)
    if any(each.id == name for each in known):
        return name
    found = [each.id for each in known if each.label.casefold() == name.strip().casefold()]
    if len(found) > 1:
        raise InvalidInput(f"Several machines are called {name[:40]!r}: {', '.join(found)}.")
    return found[0] if found else None
