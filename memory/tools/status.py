"""The tool that says who one is here, and how the ledger is."""

from typing import Any, Final

from memory import crud, feed
from memory.database import Transaction
from memory.drafts import session_id_of
from memory.errors import LedgerError
from memory.tools.answers import room, that_fit
from memory.tools.attribution import own_session, workplace_of
from memory.tools.caller import Caller
from memory.tools.indexing import advice, unindexed
from memory.tools.quotes import brief, iso, shown
from memory.tools.tool import Answer, Call, Tool

__all__ = ["TOOLS"]


async def _status(session: Transaction, call: Call) -> Answer:
    caller = call.caller
    view = await own_session(session, call)
    project = None
    if view is not None and view.row.project_id is not None:
        project = await crud.get_project(session, view.row.project_id)
    elif place := await workplace_of(caller.directory):
        found = await crud.find_project_of(session, place)
        project = await crud.get_project(session, found.project_id) if found.project_id else None
    totals = await crud.totals(session)
    page = await feed.changes(session, limit=1)
    waiting = await unindexed(session)
    answer: Answer = {
        **_who(caller),
        "session_is_in_ledger": view is not None,
        "project": {"project_id": str(project.id), "name": shown(project.name)}
        if project
        else None,
        "database": {"is_reachable": True, "ledger": call.settings.ledger},
        "feed_waiting": page.waiting,
        "unindexed": waiting,
    }
    rows = [_total(total) for total in totals]
    shown_rows = that_fit(rows, room(answer))
    told = {"truncated": True} if len(shown_rows) < len(rows) else {}
    return {**answer, "clients": shown_rows, **told, "notes": advice(waiting)}


def _without_database(caller: Caller, error: LedgerError) -> Answer:
    database = {"is_reachable": False, "code": error.code, "error": str(error)}
    return {**_who(caller), "database": database}


def _who(caller: Caller) -> Answer:
    session_id = str(session_id_of(caller.client, caller.session)) if caller.session else None
    return {
        "client": shown(caller.client),
        "session_id": session_id,
        "directory": shown(caller.directory) or None,
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
            "Say who the calling window is (client, session, project), whether the ledger can be"
            " reached, what each client has in it, and whether entries wait to be seen."
        ),
        parameters=(),
        run=_status,
        without_database=_without_database,
    ),
)
