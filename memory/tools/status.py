"""The tool that says who one is here, and how the ledger is."""

from typing import Any, Final

from memory import crud, feed
from memory.database import Transaction
from memory.drafts import session_id_of
from memory.errors import LedgerError
from memory.tools.answers import room, that_fit
from memory.tools.attribution import known_caller, own_session, workplace_of
from memory.tools.caller import Caller
from memory.tools.indexing import advice, unindexed
from memory.tools.quotes import brief, iso, shown, shown_json
from memory.tools.tool import Answer, Call, Tool

__all__ = ["TOOLS"]


async def _status(session: Transaction, call: Call) -> Answer:
    caller = await known_caller(session, call)
    view = await own_session(session, call, caller)
    project = await _project(session, caller, view)
    totals = await crud.totals(session)
    page = await feed.changes(session, limit=1)
    waiting = await unindexed(session)
    answer: Answer = {
        **_who(caller),
        "session_is_in_ledger": view is not None,
        **project,
        "database": {"is_reachable": True, "ledger": call.settings.ledger},
        "feed_waiting": page.waiting,
        "unindexed": waiting,
    }
    rows = [_total(total) for total in totals]
    shown_rows = that_fit(rows, room(answer))
    told = {"truncated": True} if len(shown_rows) < len(rows) else {}
    return {**answer, "clients": shown_rows, **told, "notes": advice(waiting)}


async def _project(session: Transaction, caller: Caller, view: crud.SessionView | None) -> Answer:
    """Return the window's project and what named it; those that fit when there are several."""
    found = crud.Placement()
    if view is not None and view.row.project_id is not None:
        found = crud.Placement(view.row.project_id, "session")
    elif place := await workplace_of(caller.directory):
        found = await crud.find_project_of(session, place)
    if found.project_id is None:
        return {
            "project": None,
            **({"fitting": list(map(str, found.fitting))} if found.fitting else {}),
        }
    project = await crud.get_project(session, found.project_id)
    told = {"project_id": str(project.id), "name": shown(project.name), "found_by": found.by}
    return {"project": told}


def _without_database(caller: Caller, error: LedgerError) -> Answer:
    database = {"is_reachable": False, "code": error.code, "error": str(error)}
    return {**_who(caller), "database": database}


def _who(caller: Caller) -> Answer:
    session_id = str(session_id_of(caller.client, caller.session)) if caller.session else None
    return {
        "client": shown(caller.client),
        "session_id": session_id,
        **({"source_session_id": shown(caller.session)} if caller.session else {}),
        **({"session_found_by": caller.session_by} if caller.session else {}),
        "directory": shown(caller.directory) or None,
        **({"directory_found_by": caller.directory_by} if caller.directory else {}),
        **({"tool_call": shown_json(dict(caller.via))} if caller.via else {}),
    }


def _total(total: crud.Total) -> dict[str, Any]:
    return {
        "source_client": brief(total.source_client),
        "sessions": total.sessions,
        "entries": total.entries,
        "first_at": iso(total.first_at),
        "last_at": iso(total.last_at),
    }


TOOLS: Final = (
    Tool(
        name="status",
        title="Status",
        description=(
            "Say who the calling window is (client, session, project) and what told each, whether"
            " the ledger can be reached, and what each client has in it."
        ),
        parameters=(),
        run=_status,
        without_database=_without_database,
    ),
)
