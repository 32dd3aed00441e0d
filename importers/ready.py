"""Reading a batch of a source and making it ready to be stored; it needs no database.

Here credentials are taken out, and here is the edge of a source: whatever goes wrong while one is
read is told of it, and concerns no other.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from importers import alarm, elsewhere
from importers.base import Batch, Importer, Source
from importers.echo import marked
from importers.redaction import redacted, redacted_session
from importers.report import reason_of
from memory import log
from memory.drafts import Draft, Kind, SessionDraft
from memory.workplace import settled

__all__ = ["GONE", "Read", "Ready", "Unread", "prepare", "read", "without_gone"]

_log = log.get(__name__)

GONE: Final = "gone"  # in the state of a source that was not there in the last pass

_BYTES_PER_ENTRY: Final = 4096  # of a transaction, beside its text: payload, keys, bookkeeping

# What happens to a source and takes something away from it; the ledger remembers that.
_LOSSES: Final = frozenset({"replaced", "rewritten", "truncated"})


@dataclass(slots=True, kw_only=True)
class Ready:
    """A batch without credentials, ready to be stored on behalf of one machine.

    ``redacted`` holds the kinds of credentials of each draft that had any, by its number.
    """

    source: Source
    machine: str
    sessions: list[SessionDraft]
    drafts: list[Draft]
    redacted: dict[int, Counter[str]]
    notes: list[Draft]
    state: Mapping[str, Any]
    edge: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A batch that was read, and what of it is to be stored; the batch itself holds no drafts.

    ``size`` is about what it takes in a transaction, in bytes. ``strange`` are the records of a
    source that gave no entry and those of unknown kinds among them; zero for any other.
    """

    batch: Batch
    ready: Ready
    size: int
    strange: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Unread:
    """Why a source could not be read."""

    reason: str


def read(
    importer: Importer,
    source: Source,
    stored: Mapping[str, Any] | None,
    *,
    machine: str,
    is_elsewhere: bool = False,
) -> Read | Unread | None:
    """Read a batch after a checkpoint; None when there is nothing that is to be stored."""
    try:
        batch = _batch(importer, source, stored, is_elsewhere=is_elsewhere)
        strange = alarm.carry(batch, stored)
        if stored and GONE in stored:
            batch.events.insert(0, "returned")
        if not (batch.records or batch.drafts or batch.events or batch.state != stored):
            return None
        ready = prepare(source, batch, machine=machine, is_elsewhere=is_elsewhere)
    except FileNotFoundError:
        return None  # it went while this pass was under way; the next one says so
    except OSError as error:
        return Unread(reason_of(error))
    except Exception as error:  # noqa: BLE001 - the edge of a source: a fault of one client's module must not stop the others
        log.unexpected(_log, f"reading {source.path}", error)
        return Unread(reason_of(error))
    batch.drafts, batch.sessions = [], []
    size = sum(_BYTES_PER_ENTRY + len(draft.content) for draft in ready.drafts)
    return Read(batch=batch, ready=ready, size=max(size, batch.size), strange=strange)


def prepare(source: Source, batch: Batch, *, machine: str, is_elsewhere: bool = False) -> Ready:
    """Take the credentials out of a batch, name the machine, and look at the sessions' folders.

    Those of a store that came from elsewhere are on no disk of this machine. Slow for a large
    batch.
    """
    find = _named if is_elsewhere else _settled
    pairs = [redacted(draft, machine=machine) for draft in marked(batch.drafts)]
    kinds = {number: found for number, (_, found) in enumerate(pairs) if found}
    return Ready(
        source=source,
        machine=machine,
        sessions=[find(redacted_session(each), machine) for each in batch.sessions],
        drafts=[draft for draft, _ in pairs],
        redacted=kinds,
        notes=[_note(source, event, machine) for event in batch.events if event in _LOSSES],
        state=batch.state,
        edge=batch.edge,
    )


def without_gone(state: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a checkpoint as the importer left it."""
    if GONE not in state and alarm.STRANGE not in state:
        return state
    return {name: each for name, each in state.items() if name not in {GONE, alarm.STRANGE}}


def _batch(
    importer: Importer, source: Source, stored: Mapping[str, Any] | None, *, is_elsewhere: bool
) -> Batch:
    state = without_gone(stored) if stored else None
    if not is_elsewhere:
        return importer.read(source, state)
    batch = importer.read(source, elsewhere.found_again(state, source))
    return elsewhere.relative(batch, source.store)


def _named(draft: SessionDraft, machine: str) -> SessionDraft:
    return replace(draft, machine=machine)


def _settled(draft: SessionDraft, machine: str) -> SessionDraft:
    place = draft.place
    return replace(draft, machine=machine, workplace=settled(place) if place else None)


def _note(source: Source, event: str, machine: str) -> Draft:
    provider = source.store.provider
    path = source.path if Path(source.key).is_absolute() else source.key
    return Draft(
        kind=Kind.EVENT,
        content=f"The {provider} transcript {path} was {event}.",
        source_client=provider,
        provider=provider,
        machine=machine,
        payload={"type": f"transcript_{event}", "path": str(path)},
    )
