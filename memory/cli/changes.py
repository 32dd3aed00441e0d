"""What a client wrote, in the order of the change feed."""

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from memory import feed
from memory.cli.entries import facts, summary
from memory.cli.ledger import read
from memory.cli.names import project_named, project_names
from memory.cli.options import Project, limit
from memory.cli.output import Json, moment, one_line, print_json, say, table
from memory.cli.times import moment_of
from memory.crud import MAX_PAGE
from memory.database import Transaction
from memory.errors import InvalidInput
from memory.feed import FeedPage

__all__ = ["changes"]


Writer = Annotated[
    str, typer.Argument(help="Who wrote: claude, codex, opencode …", metavar="CLIENT")
]
From = Annotated[
    str | None,
    typer.Option("--since", help="A time, 2h, 3d or 1w ago, or a cursor printed before."),
]


def changes(
    client: Writer,
    *,
    since: From = None,
    project: Project = None,
    everything: Annotated[
        bool, typer.Option("--include-system", help="Harness text and sessions' attributes too.")
    ] = False,
    most: Annotated[int, limit("How many entries", most=MAX_PAGE - 1)] = 50,
    as_json: Json = False,
) -> None:
    """Show what a client wrote: messages, values, events and states, oldest first."""
    place = _place(since)

    async def find(session: Transaction) -> tuple[FeedPage, dict[Any, str]]:
        project_id = (await project_named(session, project)).id if project else None
        page = await feed.changes(
            session,
            client=client,
            since=place,
            project_id=project_id,
            include_system=everything,
            limit=most,
        )
        return page, await project_names(session)

    page, names = read(find)
    if as_json:
        print_json(
            {
                "changes": [facts(each) for each in page.entries],
                "next_cursor": page.next_cursor,
                "has_more": page.has_more,
                "waiting": page.waiting,
            }
        )
    else:
        _show(client, page, names)


def _show(client: str, page: FeedPage, names: dict[Any, str]) -> None:
    rows = [
        [
            moment(each.recorded_at),
            one_line(names.get(each.project_id, "-")),
            one_line(each.role or each.kind),
            summary(each),
        ]
        for each in page.entries
    ]
    if rows:
        table(["recorded", "project", "what", "text"], rows)
    else:
        say(f"Nothing new by {one_line(client)}.")
    if page.waiting:
        say(f"{page.waiting} more wait for a transaction that still runs.")
    say(f"{'More' if page.has_more else 'Later'}: --since {page.next_cursor}")


def _place(since: str | None) -> str | datetime | None:
    """Return a time where one was given, else the text as a cursor."""
    try:
        return moment_of("--since", since, now=datetime.now(UTC))
    except InvalidInput:
        if since is None or len(since) < 12:
            raise
        return since
