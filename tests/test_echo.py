from functools import partial

from importers.echo import marked
from memory import crud, feed, search
from memory.database import Database
from memory.drafts import Draft, Kind, SessionDraft

SESSION = SessionDraft(provider="codex", source_session_id="s", source_client="codex")


def draft(role: str, content: str, *, source_id: str, **payload: object) -> Draft:
    return Draft(
        kind=Kind.MESSAGE,
        content=content,
        source_client="codex",
        provider="codex",
        session_id=SESSION.id,
        source_id=source_id,
        role=role,
        payload=payload,
    )


CONVERSATION = [
    draft("user", "Which queue do we use?", source_id="1"),
    draft("tool_call", "search_history: queue", source_id="2", tool="search_history", call_id="a",
          namespace="mcp__shared-memory"),
    draft("tool_result", "Output: the queue is NATS", source_id="3", call_id="a"),
    draft("tool_call", "x_record_fact: queue", source_id="4", tool="shared-memory_record_fact"),
    draft("tool_result", '{"is_error":false,"hits":["queue"]}', source_id="5", call_id="later"),
    draft("tool_call", "search_history: queue", source_id="6", tool="other_search", call_id="b"),
    draft("tool_result", "the queue of another program", source_id="7", call_id="b"),
    draft("system", "queue instructions", source_id="8"),
]  # fmt: skip


def test_our_own_tools_calls_and_answers_are_told_apart_from_others() -> None:
    assert [each.role for each in marked(CONVERSATION)] == [
        "user",
        "memory_call",
        "memory_result",
        "memory_call",
        "memory_result",
        "tool_call",
        "tool_result",
        "system",
    ]


async def test_a_search_and_the_changes_show_what_was_said_and_not_our_echo(
    database: Database,
) -> None:
    await database.transact(lambda s: crud.start_session(s, SESSION))
    drafts = marked(CONVERSATION)
    await database.transact(lambda s: crud.append(s, drafts, imported=True))
    request = search.Request(query="queue", limit=20)
    found = await database.transact(lambda s: search.search(s, request))
    said = {"1", "6", "7"}
    assert {hit.entry.source_id for hit in found.hits} == said
    page = await database.transact(partial(feed.changes, include_system=False))
    assert {entry.source_id for entry in page.entries} == said
    everything = search.Request(query="queue", limit=20, include_system=True)
    found = await database.transact(lambda s: search.search(s, everything))
    assert found.total == len(CONVERSATION)
