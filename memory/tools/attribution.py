"""Where a record belongs: its project and session, from arguments or from the client's window."""

import contextlib
import uuid
from dataclasses import dataclass, field, replace
from typing import Any, Final

from memory import crud
from memory.crud import SessionView
from memory.database import Transaction
from memory.drafts import CLIENTS
from memory.errors import InvalidInput, NotFound
from memory.tools.tool import Call

__all__ = ["Place", "everywhere", "find_place", "find_project", "own_session", "source_of"]

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
    notes: list[str] = field(default_factory=list)


async def own_session(session: Transaction, call: Call) -> SessionView | None:
    """Return the session of the calling window if the ledger has it, else None."""
    draft = call.caller.session_draft(machine=call.settings.machine)
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
    view = await _session_of(session, call)
    if view is not None:
        project_id = project_id or view.row.project_id
    elif project_id is None:
        project_id = await _own_project(session, call)
    return Place(
        project_id=project_id,
        session_id=view.row.id if view else None,
        provider=view.row.provider if view else call.caller.client,
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
    bound = await _project_of_directory(session, call) if call["session_id"] is None else None
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


async def _session_of(session: Transaction, call: Call) -> SessionView | None:
    if call["session_id"] is not None:
        return await crud.get_session(session, call["session_id"])
    view = await own_session(session, call)
    draft = call.caller.session_draft(machine=call.settings.machine)
    if view is None and draft is not None:
        # With its directory, as the importer would: a session's row is written once.
        view, _ = await crud.start_session(session, draft)
    return view


async def _own_project(session: Transaction, call: Call) -> uuid.UUID | None:
    """Return the project of a known client's directory; other programs name theirs."""
    found = await _project_of_directory(session, call)
    directory, client = call.caller.directory, call.caller.client
    if found is not None or not directory or client not in CLIENTS:
        return found
    made = await crud.ensure_projects(session, [directory], source_client=client)
    return made[directory]


async def _project_of_directory(session: Transaction, call: Call) -> uuid.UUID | None:
    if not call.caller.directory:
        return None
    project = await crud.project_of_directory(session, call.caller.directory)
    return project.id if project else None
