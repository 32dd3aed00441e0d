"""The tools take what people take: a project's name, the first digits of an id, how long ago."""

from datetime import UTC, datetime, timedelta

import pytest
from mcp_process import Server

from memory.program import typed

pytest_plugins = ["mcp_fixtures"]
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
async def project(server: Server) -> str:
    return str((await server.call("create_project", name="Lighthouse"))["project_id"])


@pytest.fixture(scope="module")
async def session(server: Server, project: str) -> str:
    answer = await server.call(
        "start_session", provider="p", source_session_id="s", project_id="lighthouse"
    )
    assert answer["project_id"] == project
    return str(answer["session_id"])


async def test_each_tool_takes_a_projects_name_in_any_case(
    server: Server, project: str, session: str
) -> None:
    fact = await server.call("record_fact", key="lamp", value="700 W", project_id="LIGHTHOUSE")
    assert (fact["is_error"], fact["project_id"]) == (False, project)
    state = {"state_json": {"open": ["lamp"]}}
    state = await server.call("record_project_state", project_id="Lighthouse", **state)
    assert state["project_id"] == project
    context = await server.call("get_project_context", project_id=" lighthouse ")
    assert (context["project"]["project_id"], context["facts"][0]["key"]) == (project, "lamp")
    history = await server.call("inspect_project_history", project_id="lighthouse")
    assert len(history["entries"]) == 2
    found = await server.call("search_history", query="lamp", project_id="lighthouse")
    assert found["total"] == 2
    read = await server.call("read_session", session_id=session)
    assert read["session"]["project_id"] == project
    changes = await server.call("find_changes", other_client="*", project_id="lighthouse")
    assert changes["is_error"] is False


async def test_a_name_that_is_nearly_one_is_answered_with_those_it_may_be(
    server: Server, project: str
) -> None:
    await server.call("create_project", name="Light House")
    missed = await server.call("get_project_context", project_id="Lighthuose")
    assert (missed["is_error"], missed["code"]) == (True, "not_found")
    assert "Did you mean 'Lighthouse'" in missed["error"]
    assert project not in missed["error"]
    unheard = await server.call("record_fact", key="k", value="v", project_id="sk-nothing-alike")
    assert unheard["code"] == "not_found"
    assert "sk-nothing-alike" not in unheard["error"], "it may be a secret"


async def test_the_first_digits_of_an_id_are_enough_when_they_name_one(
    server: Server, session: str
) -> None:
    read = await server.call("read_session", session_id=session[:8])
    assert read["session"]["session_id"] == session
    first, second = [
        await server.call(
            "append_message",
            session_id=session[:13],
            source_message_id=f"m{number}",
            content=f"message {number}",
            original_timestamp="2026-01-01T10:00:00Z",
        )
        for number in range(2)
    ]
    whole = await server.call("get_message", message_id=first["message_id"][:35])
    if first["message_id"][:35] != second["message_id"][:35]:
        assert whole["message"]["id"] == first["message_id"]
    ambiguous = await server.call("get_message", message_id=first["message_id"][:8])
    assert ambiguous["code"] == "ambiguous"
    assert first["message_id"] in ambiguous["error"]


async def test_an_entry_is_no_session_and_a_session_no_entry(server: Server, session: str) -> None:
    wrong = await server.call("get_message", message_id=session[:8])
    assert (wrong["code"], session in wrong["error"]) == ("invalid_argument", True)
    event = await server.call("record_event", type="x", session_id=session)
    wrong = await server.call("read_session", session_id=event["id"][:35])
    assert wrong["code"] in {"invalid_argument", "ambiguous"}


async def test_readers_take_how_long_ago_and_say_what_they_read(
    server: Server, project: str
) -> None:
    now = datetime.now(UTC)
    changes = await server.call("find_changes", other_client="*", since="2h")
    since = datetime.fromisoformat(changes["since"])
    assert abs(now - timedelta(hours=2) - since) < timedelta(minutes=10)
    assert any(note.startswith("since was read as 20") for note in changes["notes"])
    await server.call("record_event", type="beacon", project_id=project)
    for arguments, total in (({"since": "1d"}, 1), ({"since": "3 d"}, 1), ({"until": "1w"}, 0)):
        found = await server.call("search_history", query="beacon", **arguments)
        assert found["total"] == total, arguments
    context = await server.call("get_project_context", project_id=project, as_of="52w")
    assert (context["is_error"], context["events"]) == (False, [])
    history = await server.call("inspect_project_history", project_id=project, after="1h")
    assert history["entries"][-1]["type"] == "beacon"


async def test_a_window_without_a_project_is_told_what_to_do(environment: dict[str, str]) -> None:
    async with Server(environment, directory="/") as server:
        await server.open()
        nothing = await server.call("get_project_context")
        assert (nothing["is_error"], nothing["code"]) == (True, "no_project")
        assert "create_project makes one" in nothing["error"]
        assert typed("`memory import`") in nothing["error"]
        for number in range(6):
            await server.call("create_project", name=f"Project {number}")
        told = await server.call("get_project_context")
        assert told["code"] == "no_project"
        assert "project_id" in told["error"]
        assert "'Project 0', " in told["error"]
        assert "list_projects shows all 6" in told["error"]
        name = told["error"].split("'")[1]
        assert (await server.call("get_project_context", project_id=name))["is_error"] is False
        session = await server.call("start_session", provider="p", source_session_id="alone")
        alone = await server.call("get_project_context", session_id=session["session_id"])
        assert alone["error"].startswith("That session belongs to no project.")
