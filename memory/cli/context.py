"""What holds in a project."""

from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.text import Text

from memory import crud
from memory.cli.entries import facts, summary
from memory.cli.ledger import read
from memory.cli.names import project_named
from memory.cli.options import limit
from memory.cli.output import Json, console, iso, moment, one_line, print_json
from memory.cli.times import moment_of
from memory.crud import MAX_PAGE, Context
from memory.database import Transaction
from memory.models import Entry

__all__ = ["context"]


def context(
    project: Annotated[str, typer.Argument(help="The project's name or id.", metavar="PROJECT")],
    *,
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", help="What the ledger held then: a time, or 2h, 3d, 1w ago."),
    ] = None,
    most: Annotated[int, limit("Entries of each kind", most=MAX_PAGE - 1)] = 20,
    as_json: Json = False,
) -> None:
    """Show a project's current facts, decisions, preferences, state and last events."""
    at = moment_of("--as-of", as_of, now=datetime.now(UTC))

    async def find(session: Transaction) -> Context:
        found = await project_named(session, project)
        return await crud.project_context(session, found.id, as_of=at, limit=most)

    found = read(find)
    if as_json:
        print_json(_facts(found, at))
    else:
        _show(found, at)


def _groups(found: Context) -> dict[str, list[Entry]]:
    return {
        "state": [found.state] if found.state else [],
        "decisions": found.decisions,
        "facts": found.facts,
        "preferences": found.preferences,
        "events": found.events,
    }


def _facts(found: Context, at: datetime | None) -> dict[str, Any]:
    project = found.project
    lists = {name: [facts(each) for each in group] for name, group in _groups(found).items()}
    state = lists.pop("state")
    return {
        "project": {
            "id": str(project.id),
            "name": project.name,
            "description": project.description,
        },
        "as_of": iso(at),
        "state": state[0] if state else None,
        **lists,
        "more": found.more,
    }


def _show(found: Context, at: datetime | None) -> None:
    screen = console()
    then = f"  as of {moment(at)}" if at else ""
    screen.print(Text.assemble((one_line(found.project.name), "bold"), (then, "dim")))
    if found.project.description:
        screen.print(Text(one_line(found.project.description)))
    groups = {name: group for name, group in _groups(found).items() if group}
    for name, group in groups.items():
        screen.print(Text(f"\n{name}", style="bold cyan"))
        for each in group:
            who = f"{moment(each.recorded_at)}  {one_line(each.source_client)}"
            screen.print(Text.assemble("  ", (f"{who}  ", "dim"), summary(each)))
    if not groups:
        screen.print(Text("Nothing is recorded for this project yet.", style="dim"))
    if found.more:
        screen.print(Text(f"\nThere is more of: {', '.join(found.more)} (--limit).", style="dim"))
