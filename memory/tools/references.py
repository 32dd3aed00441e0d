"""What stands for an id in a call: a project's name, or the first digits of an id."""

import difflib
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Final

from memory import crud
from memory.crud.prefix import find_id
from memory.database import Transaction
from memory.drafts import project_id_of
from memory.errors import InvalidInput, NotFound
from memory.tools.quotes import brief
from memory.tools.readings import Beginning, ProjectName
from memory.tools.tool import Answer, Call, Tool

__all__ = ["resolving"]

_CANDIDATES: Final = 3
_SESSION: Final = "session_id"

Run = Callable[[Transaction, Call], Awaitable[Answer]]


def resolving(tool: Tool) -> Tool:
    """Return a tool whose work gets ids where the call has names and beginnings of ids."""
    return replace(tool, run=partial(_run, tool.run))


async def _run(work: Run, session: Transaction, call: Call) -> Answer:
    given = call.arguments.values
    found = {
        name: await _id_of(session, name, value)
        for name, value in given.items()
        if isinstance(value, ProjectName | Beginning)
    }
    if found:
        call = replace(call, arguments=replace(call.arguments, values={**given, **found}))
    return await work(session, call)


async def _id_of(session: Transaction, name: str, value: ProjectName | Beginning) -> uuid.UUID:
    if isinstance(value, ProjectName):
        return await _project(session, value.text)
    found = await find_id(session, value.text)
    if found.is_session != (name == _SESSION):
        kind = "a session" if found.is_session else "an entry"
        raise InvalidInput(f"{name} begins the id of {kind}, {found.id}.")
    return found.id


async def _project(session: Transaction, name: str) -> uuid.UUID:
    wanted = project_id_of(name)
    names = await crud.project_names(session)
    if wanted in names:
        return wanted
    folded = {each.casefold(): each for each in names.values()}
    near = difflib.get_close_matches(name.casefold(), folded, n=_CANDIDATES)
    hint = (
        f" Did you mean {' or '.join(repr(brief(folded[each])) for each in near)}?" if near else ""
    )
    raise NotFound(f"No project has this name or id.{hint} list_projects shows those there are.")
