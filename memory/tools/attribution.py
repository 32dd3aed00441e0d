"""Where a record belongs: its project and session, from arguments or from the client's window."""

import asyncio
import contextlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from memory import crud
from memory.crud import SessionView
from memory.database import Transaction
from memory.drafts import CLIENTS
from memory.errors import InvalidInput, NotFound
from memory.models import Entry
from memory.tools.caller import Caller
from memory.tools.quotes import shown
from memory.tools.tool import Call
from memory.tools.window import Window
from memory.tools.window import look as look_at_window
from memory.workplace import Workplace, look

__all__ = [
    "INFERRED_FROM_LEDGER",
    "INFERRED_FROM_STORE",
    "Place",
    "call_of",
    "everywhere",
    "find_place",
    "find_project",
    "known_caller",
    "own_session",
    "source_of",
    "workplace_of",
]

INFERRED_FROM_STORE: Final = "inferred from the client's store"
INFERRED_FROM_LEDGER: Final = "inferred from the ledger"

_NO_PROJECT: Final = (
    "This belongs to no project: no session and no known directory names one. Pass project_id"
    " (list_projects shows them, create_project makes one) to record it in a project."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a record goes; ``notes`` say what the writer may not expect."""

    project_id: uuid.UUID | None
    session_id: uuid.UUID | None
    provider: str
    via: Mapping[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


async def known_caller(session: Transaction, call: Call) -> Caller:
    """Return the caller with its session, which is inferred when the client does not tell it.

    Then it is the one at work in this directory, as the client's store has it, else the newest one
    that the ledger has; ``session_by`` and ``via`` say that.
    """
    caller = call.caller
    if caller.session or not caller.directory or caller.client not in CLIENTS:
        return caller
    window = await asyncio.to_thread(
        partial(look_at_window, caller.client, caller.directory, call.tool)
    )
    by = INFERRED_FROM_STORE
    if window is None:
        newest = await crud.newest_session(
            session, provider=caller.client, directory=caller.directory
        )
        if newest is None:
            return caller
        by, window = INFERRED_FROM_LEDGER, Window(session=newest)
    via = {"call_id": window.call} if window.call else {}
    told = {**caller.via, **via, "session_by": by}
    return replace(caller, session=window.session, session_by=by, via=told)


async def own_session(
    session: Transaction, call: Call, caller: Caller | None = None
) -> SessionView | None:
    """Return the session of the calling window if the ledger has it, else None."""
    caller = caller or await known_caller(session, call)
    draft = caller.session_draft(machine=call.settings.machine)
    if draft is None:
        return None
    with contextlib.suppress(NotFound):
        return await crud.get_session(session, draft.id)
    return None


async def find_place(session: Transaction, call: Call) -> Place:
    """Return where a record goes.

    Explicit ids win. Else the window's own session counts, which is started when the ledger does
    not have it yet, and at last the project of the working directory, made when it is missing as
    the importer would make it. Raises NotFound for an unknown session or project.
    """
    project_id: uuid.UUID | None = call["project_id"]
    if project_id is not None:
        await crud.get_project(session, project_id)
    caller = await known_caller(session, call) if call["session_id"] is None else call.caller
    view = await _session_of(session, call, caller)
    if view is not None:
        project_id = project_id or view.row.project_id
    elif project_id is None:
        project_id = await _own_project(session, call)
    return Place(
        project_id=project_id,
        session_id=view.row.id if view else None,
        provider=view.row.provider if view else caller.client,
        via=caller.via,
        notes=[] if project_id else [_NO_PROJECT],
    )


def everywhere(place: Place) -> Place:
    """Return the place of a record that belongs to no project, on purpose.

    It has no session either, because an entry of a session belongs to that session's project.
    """
    return replace(place, project_id=None, session_id=None, notes=[])


async def find_project(session: Transaction, call: Call) -> uuid.UUID:
    """Return the project that a reader asks about.

    Raises NotFound, and InvalidInput (``no_project``) when nothing names a project.
    """
    if call["project_id"] is not None:
        found: uuid.UUID = call["project_id"]
        return found
    if call["session_id"] is not None:
        view: SessionView | None = await crud.get_session(session, call["session_id"])
    else:
        view = await own_session(session, call)
    if view is not None and view.row.project_id is not None:
        return view.row.project_id
    bound = None
    if call["session_id"] is None and (place := await workplace_of(call.caller.directory)):
        bound = await _sure(session, await crud.find_project_of(session, place))
    if bound is None:
        asked = (
            "That session belongs to no project" if call["session_id"] else "No project is named"
        )
        raise InvalidInput(
            f"{asked}; pass project_id, which list_projects shows.", code="no_project"
        )
    return bound


async def source_of(
    session: Transaction, session_id: uuid.UUID | None, given: str | None
) -> dict[str, Any]:
    """Return the link to the message that a record was taken from, for its payload.

    ``source_entry_id`` is there when the ledger has that message already.
    """
    if given is None:
        return {}
    found = None
    if session_id is not None:
        found = await crud.find_entry(session, session_id=session_id, source_id=given)
    if found is None:
        with contextlib.suppress(NotFound, ValueError):
            found = await crud.get_entry(session, uuid.UUID(given))
    link = {"source_message_id": given}
    return {**link, "source_entry_id": str(found.id)} if found else link


async def call_of(session: Transaction, entry: Entry) -> Entry | None:
    """Return the tool call in a transcript that made a record, once it was imported."""
    payload = entry.payload or {}
    via = payload.get("via")
    call_id = (via.get("tool_use_id") or via.get("call_id")) if isinstance(via, dict) else None
    session_id = entry.session_id or _id_of(payload.get("said_in_session"))
    if not isinstance(call_id, str) or session_id is None:
        return None
    return await crud.find_call(
        session, session_id=session_id, call_id=call_id, near=entry.recorded_at
    )


def _id_of(text: object) -> uuid.UUID | None:
    with contextlib.suppress(ValueError):
        return uuid.UUID(text) if isinstance(text, str) else None
    return None


async def _session_of(session: Transaction, call: Call, caller: Caller) -> SessionView | None:
    if call["session_id"] is not None:
        return await crud.get_session(session, call["session_id"])
    view = await own_session(session, call, caller)
    draft = caller.session_draft(machine=call.settings.machine)
    if view is None and draft is not None:
        # With its workplace, as the importer would: a session's row is written once.
        draft = replace(draft, workplace=await workplace_of(caller.directory))
        view, _ = await crud.start_session(session, draft)
    return view


async def _own_project(session: Transaction, call: Call) -> uuid.UUID | None:
    """Return the project of a known client's workplace; other programs name theirs.

    Raises InvalidInput (``ambiguous_project``) when several fit.
    """
    place, client = await workplace_of(call.caller.directory), call.caller.client
    if place is None:
        return None
    found = await crud.find_project_of(session, place)
    if client in CLIENTS:
        found = (await crud.ensure_projects(session, [place], source_client=client))[place]
    return await _sure(session, found)


async def workplace_of(directory: str) -> Workplace | None:
    """Return the workplace that a window's directory is, looked up on this disk."""
    return await asyncio.to_thread(look, directory) if directory else None


async def _sure(session: Transaction, placement: crud.Placement) -> uuid.UUID | None:
    """Return the project of a placement; raises InvalidInput when several fit."""
    if not placement.fitting:
        return placement.project_id
    projects = [await crud.get_project(session, each) for each in placement.fitting]
    raise InvalidInput(
        "Several projects fit the remotes of this repository, and none is guessed; pass project_id"
        " of one of them.",
        code="ambiguous_project",
        details={
            "projects": [
                {"project_id": str(each.id), "name": shown(each.name)} for each in projects
            ]
        },
    )
