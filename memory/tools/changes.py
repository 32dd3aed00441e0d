"""The tool that tells what other clients wrote."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from memory import crud, feed
from memory.database import Transaction
from memory.drafts import canonical_client
from memory.tools.answers import room
from memory.tools.arguments import count, place, project, text
from memory.tools.pages import page_of
from memory.tools.quotes import iso, quote, shown
from memory.tools.tool import Answer, Call, Tool

__all__ = ["TOOLS"]

DEFAULT_DAYS: Final = 7
EVERYBODY: Final = "*"


async def _find_changes(session: Transaction, call: Call) -> Answer:
    own, other = call.caller.client, call["other_client"]
    if call["project_id"] is not None:
        await crud.get_project(session, call["project_id"])
    since = call["since"] or datetime.now(UTC) - timedelta(days=DEFAULT_DAYS)
    answer: Answer = {"own_client": shown(own)}
    notes = []
    if isinstance(since, datetime):
        answer["since"] = iso(since)
    if canonical_client(other) == own:
        notes.append("other_client is your own name; own writes are never among the changes.")
    page = await page_of(
        lambda limit: feed.changes(
            session,
            client=None if other == EVERYBODY else other,
            without_client=own,
            since=since,
            project_id=call["project_id"],
            include_system=False,
            limit=limit,
        ),
        quote,
        limit=call["limit"],
        room=room(answer),
    )
    found = page.found
    if found.waiting:
        notes.append(
            f"{found.waiting} more wait for an older transaction to end; next_cursor shows them"
            " then."
        )
    ending: dict[str, Any] = {**page.ending, "has_more": found.has_more}
    return {**answer, "changes": page.quotes, **ending, "notes": notes}


TOOLS: Final = (
    Tool(
        name="find_changes",
        title="Find changes by others",
        description=(
            "Find what another client wrote, of every kind, oldest first; own writes and harness text"
            " never appear."
            f" since is next_cursor of an earlier answer or a time, default {DEFAULT_DAYS} days"
            ' ago. next_cursor is always given, for the next look; "*" means every other client.'
        ),
        parameters=(
            text("other_client", 'such as claude, codex, opencode or "*"', required=True),
            place("since", "next_cursor, ISO 8601 (without zone UTC), or 2h, 3d, 1w ago"),
            project(),
            count(default=50, most=200),
        ),
        run=_find_changes,
    ),
)
