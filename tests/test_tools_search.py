"""search_history through a real server: found by whoever asks, quoted, counted, and told when not."""

import itertools
from typing import Any

import pytest
from mcp_process import Json, Server

pytest_plugins = ["mcp_fixtures"]
pytestmark = pytest.mark.timeout(300)

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
async def project(server: Server) -> str:
    answer = await server.call("create_project", name="Searched")
    return str(answer["project_id"])


@pytest.fixture(scope="module")
async def session(server: Server, project: str) -> str:
    answer = await server.call(
        "start_session", provider="p", source_session_id="s", project_id=project
    )
    return str(answer["session_id"])


async def append(server: Server, session: str, content: str, **changes: Any) -> str:
    given: Json = {
        "session_id": session,
        "source_message_id": f"m-{next(_numbers)}",
        "content": content,
        "original_timestamp": "2026-01-01T10:00:00Z",
        "role": "user",
    }
    answer = await server.call("append_message", **{**given, **changes})
    return str(answer["message_id"])


async def found(server: Server, query: str, **options: Any) -> list[str]:
    answer = await server.call("search_history", query=query, **options)
    assert answer["is_error"] is False
    return [hit["id"] for hit in answer["hits"]]


async def test_a_writer_finds_its_own_write_at_once(server: Server, session: str) -> None:
    written = await append(server, session, "the zanzibar gateway refused the handshake")
    answer = await server.call("search_history", query="why did zanzibar refuse?")
    [hit] = answer["hits"]
    assert hit["id"] == written
    assert "zanzibar" in hit["snippet"]
    assert (hit["role"], hit["source_client"], hit["project"]) == (
        "user",
        "test-client",
        "Searched",
    )
    assert hit["time"] == "2026-01-01T10:00:00Z"
    assert (answer["total"], answer["semantic"]) == (1, "off")


async def test_records_of_every_kind_are_found_by_key_and_by_value(
    server: Server, project: str
) -> None:
    by = {"project_id": project}
    wanted = {
        (await server.call("record_fact", key="marzipan.port", value="5433", **by))["id"],
        (await server.call("record_preference", key="sweets", value="marzipan, always", **by))[
            "id"
        ],
        (
            await server.call(
                "record_decision", key="d", decision="none", rationale="marzipan melts", **by
            )
        )["id"],
        (await server.call("record_event", type="spill", payload={"of": "marzipan"}, **by))["id"],
        (await server.call("record_project_state", state_json={"open": "marzipan"}, **by))["id"],
    }
    assert set(await found(server, "marzipan")) == wanted


async def test_one_search_spans_clients_and_may_be_narrowed(server: Server, session: str) -> None:
    ids = {
        client: await append(server, session, f"quokka seen by {client}", source_client=client)
        for client in ("claude", "codex", "opencode")
    }
    assert set(await found(server, "quokka")) == set(ids.values())
    assert await found(server, "quokka", source_client="codex-mcp-client") == [ids["codex"]]
    assert await found(server, "quokka", source_client="nobody") == []


async def test_filters_narrow_by_project_session_kind_role_and_time(
    server: Server, session: str, project: str
) -> None:
    message = await append(server, session, "wombat", role="assistant")
    old = await append(server, session, "wombat old", original_timestamp="2024-05-01T00:00:00Z")
    fact = (await server.call("record_fact", key="wombat", value="v"))["id"]
    system = await append(server, session, "wombat rules", role="system")
    assert set(await found(server, "wombat", project_id=project)) == {message, old}
    assert set(await found(server, "wombat", session_id=session)) == {message, old}
    assert await found(server, "wombat", kind="fact") == [fact]
    assert await found(server, "wombat", role="assistant") == [message]
    assert await found(server, "wombat", until="2024-12-31") == [old]
    assert message in await found(server, "wombat", since="2026-01-01T00:00:00Z")
    assert system in await found(server, "wombat", include_system=True)


@pytest.mark.parametrize(
    ("content", "query"),
    [
        ("see src/pkg/foo_bar.py for it", "foo_bar.py"),
        ("run it with --dry-run-only", "--dry-run-only"),
        ("it failed with E12345 again", "E12345"),
        ("class GatewayHandlerFactory", "gateway handler factory"),
        ("数据库决定使用新的引擎", "数据库"),
        ("Мы выбрали хранилище", "хранилище"),
        ("the error was `ENOSPC: no space left`", '"no space left"'),
    ],
)
async def test_code_and_other_languages_are_found(
    content: str, query: str, server: Server, session: str
) -> None:
    written = await append(server, session, content)
    assert written in await found(server, query)


@pytest.mark.parametrize(
    "query",
    ["what did we do", "' OR '1'='1", ":*", "&|!()", "% _ \\", "a\x00b", "\ud800", "x" * 200_000],
)
async def test_no_query_breaks_the_server(query: str, server: Server) -> None:
    answer = await server.call("search_history", query=query)
    assert answer["is_error"] is False or answer["code"] == "empty_query"
    assert not (await server.call("list_projects"))["is_error"]


async def test_an_entry_is_found_by_its_id(server: Server, session: str) -> None:
    written = await append(server, session, "found by name alone")
    assert (await found(server, written))[0] == written


async def test_finding_nothing_is_said_in_words(server: Server) -> None:
    answer = await server.call("search_history", query="xylophonistically")
    assert (answer["hits"], answer["total"], answer["total_is_exact"]) == ([], 0, True)
    assert answer["notes"]


async def test_many_hits_are_cut_to_the_answer_and_that_is_told(
    server: Server, session: str
) -> None:
    for number in range(60):
        await append(server, session, f"numbat {number} " + "filler words around it " * 60)
    answer = await server.call("search_history", query="numbat", limit=100)
    assert answer["truncated"] is True
    assert answer["total"] >= 60
    assert 3 <= len(answer["hits"]) < 60
    assert any("narrow them" in note for note in answer["notes"])


async def test_a_superseded_value_says_what_replaced_it(server: Server, project: str) -> None:
    old = await server.call("record_fact", key="k", value="pangolin one", project_id=project)
    new = await server.call("record_fact", key="k", value="pangolin two", project_id=project)
    answer = await server.call("search_history", query="pangolin")
    replaced = {hit["id"]: hit.get("superseded_by") for hit in answer["hits"]}
    assert replaced.get(old["id"], new["id"]) == new["id"]
    assert replaced[new["id"]] is None


async def test_a_query_of_any_size_never_makes_an_answer_too_large(
    server: Server, session: str
) -> None:
    huge = "nudibranch" * 9_000
    wide = [
        f"{number}" + "\N{GRINNING FACE}\N{CJK UNIFIED IDEOGRAPH-6570}" * 60
        for number in range(150)
    ]
    for text in (huge, " ".join(wide), " ".join(f"{'w' * 70}{number}" for number in range(150))):
        written = await append(server, session, text)
        answer = await server.call("search_history", query=text, session_id=session)
        [hit, *_] = [each for each in answer["hits"] if each["id"] == written]
        assert hit["words"]
        assert all(len(word) <= 80 for word in hit["words"])
    assert hit["more_words"] > 50
    assert len(hit["words"]) + hit["more_words"] == 100


async def test_names_as_long_as_they_may_be_leave_the_answers_their_size(server: Server) -> None:
    long = "\N{GRINNING FACE}" * 500
    started = await server.call(
        "start_session",
        provider=long,
        source_session_id="\N{GRINNING FACE}" * 128,
        title=long,
        source_client=long,
    )
    assert started["is_error"] is False
    written = await append(
        server,
        started["session_id"],
        "sizeable " + long * 20,
        role=long,
        provider=long,
        source_client=long,
        source_message_id="\N{GRINNING FACE}" * 128,
        payload={"a": long[:100]},
    )
    by = {"session_id": started["session_id"]}
    assert (await server.call("read_session", **by))["messages"][0]["id"] == written
    assert (await server.call("get_message", message_id=written))["message"]["id"] == written
    await server.call("record_fact", key="\N{GRINNING FACE}" * 200, value=f"sizeable {long}", **by)
    assert len(await found(server, "sizeable")) == 2
    changes = await server.call("find_changes", other_client="*")
    assert changes["is_error"] is False
