"""The projects of the ledger."""

from typing import Any

from memory import crud
from memory.cli.ledger import read
from memory.cli.output import Json, iso, moment, one_line, print_json, say, table
from memory.crud import ProjectSummary
from memory.program import typed

__all__ = ["projects"]


def projects(*, as_json: Json = False) -> None:
    """List the projects, and what the ledger holds of each."""
    found = read(crud.list_projects)
    if as_json:
        print_json({"projects": [_facts(each) for each in found]})
    elif found:
        table(
            ["project", "sessions", "entries", "last recorded", "bound to"],
            [_row(each) for each in found],
            right="sessions entries",
        )
    else:
        say(typed("No projects yet: `memory import` and the three clients bring them."))


def _facts(each: ProjectSummary) -> dict[str, Any]:
    return {
        "id": str(each.project.id),
        "name": each.project.name,
        "description": each.project.description,
        "bindings": [{one.kind: one.name} for one in each.bindings],
        "sessions": each.sessions,
        "entries": each.entries,
        "last_recorded_at": iso(each.last_at),
    }


def _row(each: ProjectSummary) -> list[str]:
    return [
        one_line(each.project.name),
        f"{each.sessions:,}",
        f"{each.entries:,}",
        moment(each.last_at),
        one_line(" ".join(one.name for one in each.bindings)),
    ]
