"""What each tool promises, through a real server on a real ledger."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest
from conftest import child_environment
from mcp_process import Json, Server

from memory.drafts import session_id_of
from memory.settings import Settings

pytest_plugins = ["mcp_fixtures"]
pytestmark = pytest.mark.timeout(300)

Rows = Callable[[], Awaitable[int]]

_numbers = itertools.count(1)


async def new_session(server: Server, **arguments: Any) -> str:
    answer = await server.call(
        "start_session",
        **{"provider": "p", "source_session_id": f"s-{next(_numbers)}", **arguments},
    )
    return str(answer["session_id"])


async def new_project(server: Server) -> str:
    answer = await server.call("create_project", name=f"Project {next(_numbers)}")
    return str(answer["project_id"])


def message(session_id: str, **changes: Any) -> Json:
    return {
        "session_id": session_id,
        "source_message_id": f"m-{next(_numbers)}",
        "content": "hello",
        "original_timestamp": "2026-01-01T10:00:00Z",
        **changes,
    }


async def test_a_session_is_started_once(server: Server, rows: Rows) -> None:
    arguments = {"provider": "claude", "source_session_id": "abc", "title": "First"}
    first = await server.call("start_session", **arguments)
    before = await rows()
    again = await server.call("start_session", **arguments)
    assert (first["is_new"], again["is_new"]) == (True, False)
    assert first["session_id"] == again["session_id"] == str(session_id_of("claude", "abc"))
    assert await rows() == before


async def test_two_servers_that_start_one_session_at_once_get_one(
    server: Server, ledger: Settings
) -> None:
    async with Server(child_environment(ledger)) as other:
        await other.open()
        arguments = {"provider": "p", "source_session_id": "race"}
        answers = await asyncio.gather(
            *(each.call("start_session", **arguments) for each in (server, other))
        )
    assert answers[0]["session_id"] == answers[1]["session_id"]
    assert sorted(answer["is_new"] for answer in answers) == [False, True]


async def test_a_later_title_is_the_newest_and_the_first_project_stays(server: Server) -> None:
    first, second = await new_project(server), await new_project(server)
    arguments = {"provider": "p", "source_session_id": "titled"}
    await server.call("start_session", **arguments, title="Old", project_id=first)
    answer = await server.call("start_session", **arguments, title="New", project_id=second)
    assert (answer["title"], answer["project_id"]) == ("New", first)
    assert answer["notes"] == ["The session was there already and stays in its first project."]


async def test_a_message_is_appended_once(server: Server, rows: Rows) -> None:
    given = message(await new_session(server))
    first = await server.call("append_message", **given)
    before = await rows()
    again = await server.call("append_message", **given)
    same_time = await server.call(
        "append_message", **{**given, "original_timestamp": "2026-01-01T11:00:00+01:00"}
    )
    assert (first["duplicate"], again["duplicate"], same_time["duplicate"]) == (False, True, True)
    assert first["message_id"] == again["message_id"] == same_time["message_id"]
    assert await rows() == before


@pytest.mark.parametrize(
    "change",
    [
        {"content": "other"},
        {"role": "assistant"},
        {"payload": {"a": 2}},
        {"original_timestamp": "2026-01-01T10:00:01Z"},
    ],
)
async def test_the_same_source_id_with_anything_else_is_a_conflict(
    change: Json, server: Server
) -> None:
    given = message(await new_session(server), role="user", payload={"a": 1})
    first = await server.call("append_message", **given)
    stored = await server.call("get_message", message_id=first["message_id"])
    answer = await server.call("append_message", **{**given, **change})
    assert (answer["is_error"], answer["code"]) == (True, "conflict")
    assert answer["existing_id"] == first["message_id"]
    assert await server.call("get_message", message_id=first["message_id"]) == stored


async def test_equal_source_ids_of_two_sessions_do_not_collide(server: Server) -> None:
    given = message("", source_message_id="same")
    answers = [
        await server.call("append_message", **{**given, "session_id": await new_session(server)})
        for _ in range(2)
    ]
    assert [answer["duplicate"] for answer in answers] == [False, False]
    assert answers[0]["message_id"] != answers[1]["message_id"]


async def test_every_field_of_a_message_comes_back(server: Server) -> None:
    payload = {"model": "m", "nested": [1, 2.5, None, {"ключ": "値"}], "flag": True}
    given = message(
        await new_session(server),
        content="Grüße, 世界 \N{ROCKET}\n\tcode()",
        role="user",
        order=7,
        payload=payload,
        provider="elsewhere",
        source_client="My Client",
        original_timestamp="2026-01-01T10:00:00.123456+02:00",
    )
    appended = await server.call("append_message", **given)
    got = (await server.call("get_message", message_id=appended["message_id"]))["message"]
    [read] = (await server.call("read_session", session_id=given["session_id"]))["messages"]
    expected = {**given, "original_timestamp": "2026-01-01T08:00:00.123456Z"}
    for stored in (got, read):
        assert {name: stored[name] for name in expected} == expected
        assert stored["id"] == appended["message_id"]
        assert datetime.fromisoformat(stored["recorded_at"]) <= datetime.now(UTC)


async def test_a_session_is_read_in_order_without_loss_while_others_append(
    server: Server, ledger: Settings
) -> None:
    session = await new_session(server)
    for number in range(30):
        await server.call("append_message", **message(session, content=f"{number}", order=number))
    async with Server(child_environment(ledger)) as other:
        await other.open()
        seen: list[str] = []
        cursor = None
        for later in itertools.count(100):
            page = await server.call("read_session", session_id=session, limit=4, cursor=cursor)
            seen += [each["content"] for each in page["messages"]]
            cursor = page["next_cursor"]
            if cursor is None:
                break
            if later < 105:
                late = message(session, content=f"{later}", order=later)
                await other.call("append_message", **late)
    assert seen == [str(number) for number in (*range(30), *range(100, 105))]


async def test_a_cursor_of_one_session_is_refused_in_another(server: Server) -> None:
    first, second = await new_session(server), await new_session(server)
    for session in (first, second):
        for number in range(3):
            await server.call("append_message", **message(session, order=number))
    page = await server.call("read_session", session_id=first, limit=1)
    cursor = page["next_cursor"]
    mixed = await server.call("read_session", session_id=second, cursor=cursor)
    assert (mixed["is_error"], mixed["code"]) == (True, "bad_cursor")
    rest = await server.call("read_session", session_id=first, cursor=cursor)
    assert [each["order"] for each in rest["messages"]] == [1, 2]


async def test_messages_without_order_follow_by_time(server: Server) -> None:
    session = await new_session(server)
    for content, order, second in [("d", None, 9), ("b", 2, 8), ("c", None, 1), ("a", 1, 9)]:
        at = f"2026-01-01T10:00:0{second}Z"
        given = message(session, content=content, original_timestamp=at)
        await server.call("append_message", **given, **({"order": order} if order else {}))
    page = await server.call("read_session", session_id=session)
    assert "".join(each["content"] for each in page["messages"]) == "abcd"


@pytest.mark.parametrize("tool", ["record_fact", "record_preference", "record_decision"])
async def test_a_new_value_supersedes_and_the_old_one_stays(tool: str, server: Server) -> None:
    project = await new_project(server)
    name = "decision" if tool == "record_decision" else "value"
    section = {"record_fact": "facts", "record_decision": "decisions"}.get(tool, "preferences")
    first = await server.call(tool, key="k", project_id=project, **{name: "old"})
    second = await server.call(tool, key="k", project_id=project, **{name: "new"})
    assert (second["version"], second["supersedes"]) == (2, first["id"])
    context = await server.call("get_project_context", project_id=project)
    assert [each[name] for each in context[section] if "every_project" not in each] == ["new"]
    history = await server.call("inspect_project_history", project_id=project)
    assert [each[name] for each in history["entries"]] == ["old", "new"]
    assert (await server.call("get_message", message_id=first["id"]))["message"][
        "superseded_by"
    ] == second["id"]


async def test_the_same_value_again_is_known(server: Server, rows: Rows) -> None:
    project = await new_project(server)
    given = {"key": "k", "value": "v", "project_id": project}
    first = await server.call("record_fact", _meta={"callId": "call-1"}, **given)
    before = await rows()
    again = await server.call("record_fact", _meta={"callId": "call-2"}, **given)
    assert (first["is_new"], again["is_new"], again["id"]) == (True, False, first["id"])
    assert await rows() == before
    other = await server.call("record_fact", **given, source_client="somebody")
    assert other["is_new"] is True  # a second witness is a fact of its own


async def test_an_outdated_head_is_a_conflict_that_shows_the_head(server: Server) -> None:
    project = await new_project(server)
    given = {"key": "k", "project_id": project}
    seen = await server.call("record_fact", **given, value="1")
    newer = await server.call("record_fact", **given, value="2", expected_id=seen["id"])
    assert newer["is_new"] is True
    late = await server.call("record_fact", **given, value="3", expected_id=seen["id"])
    assert (late["code"], late["head"]["id"], late["head"]["value"]) == (
        "conflict",
        newer["id"],
        "2",
    )


async def test_a_decision_keeps_its_reasons(server: Server) -> None:
    project = await new_project(server)
    await server.call(
        "record_decision", key="db", decision="PostgreSQL", rationale="JSON", project_id=project
    )
    [decision] = (await server.call("get_project_context", project_id=project))["decisions"]
    assert (decision["decision"], decision["rationale"]) == ("PostgreSQL", "JSON")


async def test_a_preference_without_project_holds_in_every_project(server: Server) -> None:
    answer = await server.call("record_preference", key="language", value="British English")
    assert answer["project_id"] is None
    assert "belongs to no project" in answer["notes"][0]
    context = await server.call("get_project_context", project_id=await new_project(server))
    [preference] = [each for each in context["preferences"] if each["key"] == "language"]
    assert (preference["value"], preference["every_project"]) == ("British English", True)


async def test_a_preference_said_in_a_project_can_be_made_to_hold_everywhere(
    server: Server, rows: Rows
) -> None:
    project, other = await new_project(server), await new_project(server)
    session = await new_session(server, project_id=project)
    given = {"key": "quotes", "session_id": session}
    here = await server.call("record_preference", **given, value="double")
    first = await server.call("record_preference", **given, value="single", everywhere=True)
    assert (here["project_id"], first["project_id"]) == (project, None)
    assert (first["every_project"], first["is_new"], first.get("notes", [])) == (True, True, [])
    stored = await server.call("get_message", message_id=first["id"])
    assert stored["message"]["payload"]["said_in_session"] == session
    again = await server.call("record_preference", **given, value="single", everywhere=True)
    assert (again["is_new"], again["id"]) == (False, first["id"])
    newer = await server.call(
        "record_preference", **given, value="both", everywhere=True, expected_id=first["id"]
    )
    assert newer["supersedes"] == first["id"]
    context = await server.call("get_project_context", project_id=other)
    found = [each["value"] for each in context["preferences"] if each["key"] == "quotes"]
    assert found == ["both"]
    before = await rows()
    both = await server.call(
        "record_preference", **given, value="v", everywhere=True, project_id=project
    )
    assert (both["is_error"], both["code"]) == (True, "invalid_argument")
    assert await rows() == before


async def test_events_are_all_kept_and_come_back_whole(server: Server) -> None:
    project = await new_project(server)
    given = {"type": "release", "payload": {"version": "1.2"}, "project_id": project}
    ids = {(await server.call("record_event", **given, text="out"))["id"] for _ in range(2)}
    events = (await server.call("get_project_context", project_id=project))["events"]
    assert {event["id"] for event in events} == ids
    for event in events:
        assert (event["type"], event["text"], event["payload"]) == (
            "release",
            "out",
            {"version": "1.2"},
        )


async def test_the_last_state_is_the_current_one(server: Server) -> None:
    project = await new_project(server)
    for done in (1, 2):
        state = {"done": [f"step {number}" for number in range(done)], "next": None}
        await server.call("record_project_state", project_id=project, state_json=state)
    context = await server.call("get_project_context", project_id=project)
    assert context["state"]["state"] == {"done": ["step 0", "step 1"], "next": None}
    history = await server.call("inspect_project_history", project_id=project)
    assert [len(each["state"]["done"]) for each in history["entries"]] == [1, 2]


async def test_a_context_spans_all_sessions_and_clients_of_a_project(server: Server) -> None:
    project = await new_project(server)
    sessions = [await new_session(server, project_id=project) for _ in range(2)]
    for number, session in enumerate(sessions):
        await server.call(
            "record_fact",
            key=f"k{number}",
            value="v",
            session_id=session,
            source_client=f"client-{number}",
        )
    context = await server.call("get_project_context", session_id=sessions[0])
    assert context["project"]["project_id"] == project
    assert {fact["source_client"] for fact in context["facts"]} == {"client-0", "client-1"}


async def test_a_context_as_of_a_time_shows_what_held_then(server: Server) -> None:
    project = await new_project(server)
    await server.call("record_fact", key="k", value="then", project_id=project)
    between = datetime.now(UTC)
    await server.call("record_fact", key="k", value="now", project_id=project)
    context = await server.call(
        "get_project_context", project_id=project, as_of=between.isoformat()
    )
    assert [fact["value"] for fact in context["facts"]] == ["then"]


async def test_a_history_is_paged_by_cursor_and_by_time(server: Server) -> None:
    project = await new_project(server)
    for number in range(5):
        await server.call("record_fact", key="k", value=f"{number}", project_id=project)
    seen: list[str] = []
    after = None
    while True:
        page = await server.call(
            "inspect_project_history", project_id=project, limit=2, after=after
        )
        seen += [each["value"] for each in page["entries"]]
        after = page["next_cursor"]
        if after is None:
            break
    assert seen == ["0", "1", "2", "3", "4"]
    third = (await server.call("inspect_project_history", project_id=project))["entries"][2]
    page = await server.call(
        "inspect_project_history", project_id=project, after=third["recorded_at"]
    )
    assert [each["value"] for each in page["entries"]] == ["3", "4"]


async def test_a_record_is_linked_to_its_session_and_message(server: Server) -> None:
    session = await new_session(server, project_id=await new_project(server))
    source = message(session, source_message_id="source")
    appended = await server.call("append_message", **source)
    fact = await server.call(
        "record_fact", key="k", value="v", session_id=session, source_message_id="source"
    )
    stored = (await server.call("get_message", message_id=fact["id"]))["message"]
    assert stored["session_id"] == session
    assert stored["payload"]["source_message_id"] == "source"
    assert stored["payload"]["source_entry_id"] == appended["message_id"]


async def test_find_changes_shows_every_kind_of_another_client_alone(server: Server) -> None:
    project = await new_project(server)
    session = await new_session(server, project_id=project)
    began = datetime.now(UTC).isoformat()
    for client in ("codex", "claude"):
        await server.call(
            "append_message", **message(session, content=f"by {client}", source_client=client)
        )
        by = {"project_id": project, "source_client": client}
        await server.call("record_fact", key=f"k-{client}", value=f"by {client}", **by)
        await server.call("record_event", type=f"by {client}", **by)
        await server.call("record_project_state", state_json={"by": client}, **by)
    found = await server.call("find_changes", other_client="codex-mcp-client", since=began)
    assert [each["kind"] for each in found["changes"]] == [
        "message",
        "fact",
        "event",
        "project_state",
    ]
    assert {each["source_client"] for each in found["changes"]} == {"codex"}
    nothing = await server.call(
        "find_changes", other_client="codex", project_id=await new_project(server)
    )
    assert nothing["changes"] == []


async def test_own_writes_are_never_among_the_changes(server: Server) -> None:
    began = datetime.now(UTC).isoformat()
    project = await new_project(server)
    await server.call("record_fact", key="own", value="v", project_id=project)
    await server.call("record_fact", key="k", value="v", project_id=project, source_client="other")
    everybody = await server.call("find_changes", other_client="*", since=began)
    assert [each["source_client"] for each in everybody["changes"]] == ["other"]
    own = await server.call("find_changes", other_client="test-client", since=began)
    assert own["changes"] == []
    assert "your own name" in own["notes"][0]


async def test_changes_are_paged_beyond_the_limit_and_go_on_later(server: Server) -> None:
    project = await new_project(server)
    by = {"project_id": project, "source_client": "pager"}
    for number in range(7):
        await server.call("record_event", type=f"e{number}", **by)
    seen: list[str] = []
    since: str = (datetime.now(UTC) - timedelta(hours=1)).replace(tzinfo=None).isoformat()
    more = True
    while more:
        page = await server.call("find_changes", other_client="pager", since=since, limit=3)
        seen += [each["type"] for each in page["changes"]]
        since, more = page["next_cursor"], page["has_more"]
    assert seen == [f"e{number}" for number in range(7)]
    await server.call("record_event", type="later", **by)
    page = await server.call("find_changes", other_client="pager", since=since)
    assert [each["type"] for each in page["changes"]] == ["later"]


async def test_a_write_of_one_server_is_seen_by_the_next_call_of_another(
    server: Server, ledger: Settings
) -> None:
    async with Server(child_environment(ledger), client="codex-mcp-client") as other:
        await other.open()
        project = await new_project(server)
        listed = await other.call("list_projects")
        assert project in {each["project_id"] for each in listed["projects"]}
        await server.call("record_fact", key="k", value="seen", project_id=project)
        context = await other.call("get_project_context", project_id=project)
        assert [fact["value"] for fact in context["facts"]] == ["seen"]
        session = await new_session(server)
        await server.call("append_message", **message(session, content="seen"))
        page = await other.call("read_session", session_id=session)
        assert [each["content"] for each in page["messages"]] == ["seen"]


async def test_a_project_of_the_same_name_is_the_same_project(server: Server) -> None:
    first = await server.call("create_project", name="Same Name", description="one")
    again = await server.call("create_project", name="same name", description="two")
    assert again["project_id"] == first["project_id"]
    assert (again["is_new"], again["description"]) == (False, "one")


async def test_status_says_who_is_there_and_what_the_ledger_holds(server: Server) -> None:
    await server.call("append_message", **message(await new_session(server)))
    answer = await server.call("status")
    assert (answer["client"], answer["database"]["is_reachable"]) == ("test-client", True)
    mine = next(each for each in answer["clients"] if each["source_client"] == "test-client")
    assert mine["entries"] >= 1


async def test_no_tool_changes_or_removes_a_row(server: Server, ledger: Settings) -> None:
    project = await new_project(server)
    session = await new_session(server, project_id=project)
    connection = await asyncpg.connect(ledger.owner_url.replace("+asyncpg", ""))

    async def stored() -> dict[str, str]:
        tables = ("entries", "sessions", "projects")
        found = {}
        for table in tables:
            rows = await connection.fetch(f"SELECT id, xmin::text, t::text AS row FROM {table} t")
            found |= {f"{table} {row['id']}": f"{row['xmin']} {row['row']}" for row in rows}
        return found

    try:
        before = await stored()
        for value in ("1", "2"):
            for tool in ("record_fact", "record_preference"):
                await server.call(tool, key="k", value=value, project_id=project)
            await server.call("record_decision", key="k", decision=value, session_id=session)
            await server.call("record_event", type=value, project_id=project)
            state = {"state_json": {"at": value}}
            await server.call("record_project_state", project_id=project, **state)
            await server.call("append_message", **message(session))
            await new_session(server, source_session_id="renamed", title=value)
        after = await stored()
    finally:
        await connection.close()
    assert len(after) > len(before)
    assert {name: after[name] for name in before} == before
