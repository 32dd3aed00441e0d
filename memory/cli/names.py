"""Projects and sessions as people name them."""

import uuid

from memory import crud
from memory.crud.prefix import find_id
from memory.database import Transaction
from memory.drafts import project_id_of
from memory.errors import InvalidInput, NotFound
from memory.models import Project

__all__ = ["project_named", "project_names", "session_named"]


async def project_named(session: Transaction, name: str) -> Project:
    """Return the project of this name or id; letter case is ignored. Raises NotFound."""
    try:
        wanted = uuid.UUID(name)
    except ValueError:
        wanted = project_id_of(name)
    try:
        return await crud.get_project(session, wanted)
    except NotFound:
        raise NotFound("No project has this name or id; `memory projects` lists them.") from None


async def session_named(session: Transaction, text: str) -> uuid.UUID:
    """Return the session whose id begins like this. Raises NotFound and InvalidInput."""
    found = await find_id(session, text)
    if not found.is_session:
        raise InvalidInput(f"{text} is the id of an entry, not of a session.")
    return found.id


async def project_names(session: Transaction) -> dict[uuid.UUID | None, str]:
    """Return every project's name by its id; what belongs to none has None for an id."""
    names = await crud.project_names(session)
    return {each: names[each] for each in names}
