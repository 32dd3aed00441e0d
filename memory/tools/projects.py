"""Tools about projects."""

from collections.abc import Sequence
from typing import Any, Final

from memory import crud
from memory.crud import Binding, ProjectSummary
from memory.crud.projects import MAX_DESCRIPTION, MAX_NAME
from memory.database import Transaction
from memory.errors import InvalidInput
from memory.tools.answers import cut, room, that_fit
from memory.tools.arguments import text
from memory.tools.quotes import brief, iso, shown
from memory.tools.tool import Answer, Call, Tool

__all__ = ["TOOLS"]

_ABOUT_BYTES: Final = 400  # of a description in the list
_BINDINGS: Final = 4  # of a project in the list
_CURSOR: Final = "after-"


async def _list_projects(session: Transaction, call: Call) -> Answer:
    summaries = await crud.list_projects(session)
    rest = summaries[_place(summaries, call["cursor"]) :]
    answer: Answer = {"total": len(summaries)}
    projects = that_fit(map(_project, rest), room(answer))
    if len(projects) == len(rest):
        return {**answer, "projects": projects, "next_cursor": None}
    cursor = _CURSOR + projects[-1]["project_id"]
    return {**answer, "projects": projects, "truncated": True, "next_cursor": cursor}


def _place(summaries: list[ProjectSummary], cursor: str | None) -> int:
    if cursor is None:
        return 0
    ids = [_CURSOR + str(summary.project.id) for summary in summaries]
    if cursor in ids:
        return ids.index(cursor) + 1
    raise InvalidInput(
        "This is no cursor of list_projects; pass next_cursor exactly as it came, or leave it out.",
        code="bad_cursor",
    )


def _project(summary: ProjectSummary) -> dict[str, Any]:
    project = summary.project
    described = shown(project.description)
    return {
        "project_id": str(project.id),
        "name": shown(project.name),
        **({"description": cut(described, _ABOUT_BYTES)} if described else {}),
        "sessions": summary.sessions,
        "entries": summary.entries,
        "last_recorded_at": iso(summary.last_at),
        **_bound(summary.bindings),
        "source_client": brief(project.source_client),
    }


def _bound(bindings: Sequence[Binding]) -> dict[str, Any]:
    """Return what is bound to a project, the surest first: remotes, roots, directories."""
    more = len(bindings) - _BINDINGS
    return {
        "bindings": [{each.kind: brief(each.name)} for each in bindings[:_BINDINGS]],
        **({"more_bindings": more} if more > 0 else {}),
    }


async def _create_project(session: Transaction, call: Call) -> Answer:
    project, is_new = await crud.create_project(
        session,
        call["name"],
        description=call["description"],
        source_client=call.source_client,
    )
    bindings = await crud.all_bindings(session, project_ids=[project.id])
    notes = []
    if not is_new:
        notes.append("A project of this name was there already; name and description stay.")
    return {
        "project_id": str(project.id),
        "name": shown(project.name),
        "description": cut(shown(project.description) or "", _ABOUT_BYTES) or None,
        "source_client": shown(project.source_client),
        "recorded_at": iso(project.recorded_at),
        "is_new": is_new,
        **_bound(bindings.get(project.id, [])),
        "notes": notes,
    }


TOOLS: Final = (
    Tool(
        name="list_projects",
        title="List projects",
        description=(
            "List the projects by name, with id, bindings (git remotes, repository roots,"
            " directories) and how much each holds."
        ),
        parameters=(text("cursor", "next_cursor of the last answer"),),
        run=_list_projects,
    ),
    Tool(
        name="create_project",
        title="Create a project",
        description=(
            "Create a project and return its id and bindings; a name that exists (letter case"
            " ignored) returns that project unchanged."
        ),
        parameters=(
            text("name", f"at most {MAX_NAME} characters", most=MAX_NAME, required=True),
            text("description", most=MAX_DESCRIPTION),
            text("source_client", "default: the calling client"),
        ),
        run=_create_project,
        writes=True,
    ),
)
