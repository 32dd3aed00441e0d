"""search_history page by page through a real server: cursors, the turns beside a hit, marks."""

import json
from typing import Any

import pytest
from mcp_process import Server

pytest_plugins = ["mcp_fixtures"]
pytestmark = pytest.mark.timeout(300)

TOPIC = "capybara"


@pytest.fixture(scope="module")
async def session(server: Server) -> str:
    """Start a session of thirty turns about one thing."""
    project = (await server.call("create_project", name="Paged"))["project_id"]
    started = await server.call(
        "start_session",
        provider="p",
        source_session_id="paged",
        project_id=project,
        title="Where they live",
    )
    for number in range(30):
        answer = await server.call(
            "append_message",
            session_id=started["session_id"],
            source_message_id=f"page-{number}",
            content=f"{TOPIC} number {number} " + "of the river " * (number % 5),
            original_timestamp=f"2026-01-01T10:{number:02}:00Z",
            role=("user", "assistant")[number % 2],
            order=number,
        )
        assert answer["is_error"] is False
    return str(started["session_id"])


async def pages(server: Server, **options: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while not found or cursor:
        answer = await server.call("search_history", **options, **cursor)
        assert answer["is_error"] is False
        found.append(answer)
        cursor = {"cursor": answer["next_cursor"]} if answer["next_cursor"] else {}
    return found


@pytest.mark.usefixtures("session")
async def test_the_cursor_leads_through_all_matches_once(server: Server) -> None:
    found = await pages(server, query=TOPIC, limit=8)
    ids = [hit["id"] for page in found for hit in page["hits"]]
    assert len(ids) == len(set(ids)) == 30
    assert [len(page["hits"]) for page in found] == [8, 8, 8, 6]
    assert "more matches" in json.dumps(found[0]["notes"])
    assert not found[-1].get("notes")


@pytest.mark.usefixtures("session")
async def test_an_answer_that_is_full_goes_on_behind_the_last_hit_that_it_shows(
    server: Server,
) -> None:
    found = await pages(server, query=TOPIC, limit=30, context=1)
    assert found[0]["truncated"] is True
    ids = [hit["id"] for page in found for hit in page["hits"]]
    assert len(ids) == len(set(ids)) == 30


async def test_a_hit_says_where_it_stands_and_what_stands_beside_it(
    server: Server, session: str
) -> None:
    answer = await server.call("search_history", query=f'"{TOPIC} number 7 "', limit=1, context=1)
    [hit] = answer["hits"]
    assert (hit["session_id"], hit["session_title"]) == (session, "Where they live")
    assert (hit["project"], hit["source_client"], hit["role"]) == (
        "Paged",
        "test-client",
        "assistant",
    )
    assert hit["time"] == "2026-01-01T10:07:00Z"
    assert f"«{TOPIC}»" in hit["snippet"]
    assert hit["before"]["text"].startswith(f"{TOPIC} number 6")
    assert (hit["after"]["role"], hit["after"]["text"][:17]) == ("user", f"{TOPIC} number 8"[:17])
    plain = await server.call("search_history", query=TOPIC, limit=1)
    assert not {"before", "after"} & set(plain["hits"][0])


@pytest.mark.usefixtures("session")
async def test_a_cursor_of_another_query_or_a_damaged_one_is_refused(server: Server) -> None:
    cursor = (await server.call("search_history", query=TOPIC, limit=2))["next_cursor"]
    for given in (
        {"query": "river", "cursor": cursor},
        {"query": TOPIC, "role": "user", "cursor": cursor},
        {"query": TOPIC, "cursor": cursor[:-1]},
        {"query": TOPIC, "cursor": "no cursor"},
    ):
        answer = await server.call("search_history", **given)
        assert (answer["is_error"], answer["code"]) == (True, "bad_cursor")
        assert "next_cursor" in answer["error"]


@pytest.mark.usefixtures("session")
async def test_context_takes_0_or_1(server: Server) -> None:
    for context in (2, -1, 1_000):
        answer = await server.call("search_history", query=TOPIC, context=context)
        assert (answer["is_error"], answer["code"]) == (True, "invalid_argument")
    assert (await server.call("search_history", query=TOPIC, context=0))["is_error"] is False


@pytest.mark.usefixtures("session")
async def test_nothing_found_is_said_in_one_sentence_and_has_no_next_page(server: Server) -> None:
    answer = await server.call("search_history", query="axolotl")
    assert (answer["total"], answer["hits"], answer["next_cursor"]) == (0, [], None)
    assert answer["notes"] == ["No entry matches."]
