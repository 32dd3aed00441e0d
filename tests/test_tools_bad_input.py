"""Every bad input of the requirements, through a real server: told, nothing stored, on it goes."""

import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from mcp_process import Server

pytest_plugins = ["mcp_fixtures"]
pytestmark = pytest.mark.timeout(300)

Rows = Callable[[], Awaitable[int]]

KEY = "sk-ant-" + "api03-" + "Zx9Qk2Lm7Vb4Nc8Rt5Wd1Yh6"
NOBODY = str(uuid.uuid4())
SESSION = "a session"  # stands for the id of the module's session
PROJECT = "a project"

MESSAGE = {
    "session_id": SESSION,
    "source_message_id": "m-1",
    "content": "text",
    "original_timestamp": "2026-01-01T00:00:00Z",
}
FACT = {"key": "k", "value": "v", "project_id": PROJECT}
STATE = {"project_id": PROJECT, "state_json": {"done": 1}}

CASES: dict[str, tuple[str, Any, str]] = {
    # ids
    "an unknown message": ("get_message", {"message_id": NOBODY}, "not_found"),
    "an unknown session": ("read_session", {"session_id": NOBODY}, "not_found"),
    "an unknown session to append to": (
        "append_message",
        {**MESSAGE, "session_id": NOBODY},
        "not_found",
    ),
    "an unknown project": ("inspect_project_history", {"project_id": NOBODY}, "not_found"),
    "an unknown project of a session": (
        "start_session",
        {"provider": "p", "source_session_id": "new", "project_id": NOBODY},
        "not_found",
    ),
    "an unknown project of a fact": ("record_fact", {**FACT, "project_id": NOBODY}, "not_found"),
    "an unknown session of a fact": ("record_fact", {**FACT, "session_id": NOBODY}, "not_found"),
    "an unknown project of an event": (
        "record_event",
        {"type": "t", "project_id": NOBODY},
        "not_found",
    ),
    "an unknown project of a context": (
        "get_project_context",
        {"project_id": NOBODY},
        "not_found",
    ),
    "an unknown project of changes": (
        "find_changes",
        {"other_client": "codex", "project_id": NOBODY},
        "not_found",
    ),
    "an unknown project of a search": (
        "search_history",
        {"query": "x", "project_id": NOBODY},
        "not_found",
    ),
    "a malformed id": ("get_message", {"message_id": "1234"}, "invalid_argument"),
    "a project nobody made": ("record_fact", {**FACT, "project_id": "no such shop"}, "not_found"),
    "a malformed project id": ("record_fact", {**FACT, "project_id": f"{NOBODY}0"}, "not_found"),
    "a project without name": ("record_fact", {**FACT, "project_id": " "}, "invalid_argument"),
    "an endless project": ("record_fact", {**FACT, "project_id": "x" * 501}, "too_large"),
    "a malformed beginning": ("get_message", {"message_id": "0199a1b2-xyz"}, "invalid_argument"),
    "a beginning of nothing": ("get_message", {"message_id": "deadbeef"}, "not_found"),
    "how long ago, to be recorded": (
        "record_fact",
        {**FACT, "occurred_at": "2h"},
        "bad_timestamp",
    ),
    "too long ago": ("search_history", {"query": "x", "since": "999999w"}, "bad_timestamp"),
    "an injected id": ("get_message", {"message_id": "x' OR '1'='1"}, "invalid_argument"),
    # cursors and times
    "a bad cursor": (
        "read_session",
        {"session_id": SESSION, "cursor": "A" * 40},
        "bad_cursor",
    ),
    "a short cursor": ("read_session", {"session_id": SESSION, "cursor": "%"}, "bad_cursor"),
    "a bad cursor of changes": (
        "find_changes",
        {"other_client": "codex", "since": "A" * 40},
        "bad_cursor",
    ),
    "neither cursor nor time": (
        "find_changes",
        {"other_client": "codex", "since": "yesterday"},
        "bad_cursor",
    ),
    "a cursor of projects that is none": ("list_projects", {"cursor": "x"}, "bad_cursor"),
    "a bad cursor of a history": (
        "inspect_project_history",
        {"project_id": PROJECT, "after": "A" * 40},
        "bad_cursor",
    ),
    "a bad time": (
        "append_message",
        {**MESSAGE, "original_timestamp": "last week"},
        "bad_timestamp",
    ),
    "a time as a number": (
        "append_message",
        {**MESSAGE, "original_timestamp": 1767225600},
        "invalid_argument",
    ),
    "a day that is none": (
        "find_changes",
        {"other_client": "codex", "since": "2026-02-30T00:00:00Z"},
        "bad_timestamp",
    ),
    "a time outside of all time": (
        "append_message",
        {**MESSAGE, "original_timestamp": "0001-01-01T00:00:00+14:00"},
        "bad_timestamp",
    ),
    "the first second of all time": (
        "append_message",
        {**MESSAGE, "original_timestamp": "0001-01-01T00:00:00Z"},
        "bad_timestamp",
    ),
    "the last second of all time": (
        "append_message",
        {**MESSAGE, "original_timestamp": "9999-12-31T23:59:59-14:00"},
        "bad_timestamp",
    ),
    "a time before all clocks of a fact": (
        "record_fact",
        {**FACT, "occurred_at": "0001-01-01T00:00:00Z"},
        "bad_timestamp",
    ),
    "a far future of an event": (
        "record_event",
        {"type": "t", "occurred_at": "9999-12-31T23:59:59Z"},
        "bad_timestamp",
    ),
    "a since before all clocks": (
        "find_changes",
        {"other_client": "codex", "since": "0001-01-01T00:00:00Z"},
        "bad_timestamp",
    ),
    "an until after all time": (
        "search_history",
        {"query": "x", "until": "9999-12-31T23:59:59Z"},
        "bad_timestamp",
    ),
    "an after before all clocks": (
        "inspect_project_history",
        {"project_id": PROJECT, "after": "1969-12-31T23:59:59Z"},
        "bad_timestamp",
    ),
    "an as_of after all time": (
        "get_project_context",
        {"project_id": PROJECT, "as_of": "9000-01-01T00:00:00Z"},
        "bad_timestamp",
    ),
    "a bad as_of": (
        "get_project_context",
        {"project_id": PROJECT, "as_of": "then"},
        "bad_timestamp",
    ),
    # limits
    "a limit of 0": ("read_session", {"session_id": SESSION, "limit": 0}, "invalid_argument"),
    "a negative limit": ("search_history", {"query": "x", "limit": -1}, "invalid_argument"),
    "a limit that is a string": (
        "read_session",
        {"session_id": SESSION, "limit": "10"},
        "invalid_argument",
    ),
    "a limit that is true": (
        "read_session",
        {"session_id": SESSION, "limit": True},
        "invalid_argument",
    ),
    "a limit that is a fraction": (
        "read_session",
        {"session_id": SESSION, "limit": 1.5},
        "invalid_argument",
    ),
    "a negative offset": (
        "get_message",
        {"message_id": NOBODY, "offset": -1},
        "invalid_argument",
    ),
    # content
    "empty content": ("append_message", {**MESSAGE, "content": " \n"}, "invalid_argument"),
    "an empty value": ("record_fact", {**FACT, "value": ""}, "invalid_argument"),
    "an empty key": ("record_fact", {**FACT, "key": " "}, "invalid_argument"),
    "an empty project name": ("create_project", {"name": ""}, "invalid_argument"),
    "an empty query": ("search_history", {"query": ""}, "empty_query"),
    "too much content": (
        "append_message",
        {**MESSAGE, "content": "x" * (16 * 1024 * 1024 + 1)},
        "too_large",
    ),
    "too many bytes of content": (
        "append_message",
        {**MESSAGE, "content": "ü" * (8 * 1024 * 1024 + 1)},
        "too_large",
    ),
    "too long a source id": (
        "append_message",
        {**MESSAGE, "source_message_id": "x" * 513},
        "too_large",
    ),
    "too many bytes of a source id": (
        "append_message",
        {**MESSAGE, "source_message_id": "\N{SNOWMAN}" * 200},
        "too_large",
    ),
    "too many bytes of a session's source id": (
        "start_session",
        {"provider": "p", "source_session_id": "\N{SNOWMAN}" * 171},
        "too_large",
    ),
    "too many bytes of a record's source id": (
        "record_fact",
        {**FACT, "source_message_id": "\N{SNOWMAN}" * 171},
        "too_large",
    ),
    "too long a key": ("record_fact", {**FACT, "key": "k" * 1025}, "too_large"),
    "too many bytes of a key": ("record_fact", {**FACT, "key": "\N{SNOWMAN}" * 342}, "too_large"),
    "too long a type": ("record_event", {"type": "t" * 201}, "too_large"),
    "too long a name": ("create_project", {"name": "n" * 201}, "too_large"),
    "too deep a payload": ("append_message", {**MESSAGE, "payload": None}, "too_large"),
    # credentials
    "a secret in a message": (
        "append_message",
        {**MESSAGE, "content": f"use {KEY} now"},
        "credential",
    ),
    "a secret in a payload": (
        "append_message",
        {**MESSAGE, "payload": {"a": [{"b": KEY}]}},
        "credential",
    ),
    "a secret in a role": ("append_message", {**MESSAGE, "role": KEY}, "credential"),
    "a secret in a source id": (
        "append_message",
        {**MESSAGE, "source_message_id": KEY},
        "credential",
    ),
    "a secret in a title": (
        "start_session",
        {"provider": "p", "source_session_id": "new", "title": KEY},
        "credential",
    ),
    "a secret in a name": ("create_project", {"name": KEY}, "credential"),
    "a secret in a description": (
        "create_project",
        {"name": "n", "description": f"with {KEY}"},
        "credential",
    ),
    "a secret in a value": ("record_fact", {**FACT, "value": KEY}, "credential"),
    "a secret in a key": ("record_fact", {**FACT, "key": KEY}, "credential"),
    "a secret in a rationale": (
        "record_decision",
        {"key": "k", "decision": "d", "rationale": KEY, "project_id": PROJECT},
        "credential",
    ),
    "a secret in a preference": ("record_preference", {**FACT, "value": KEY}, "credential"),
    "a secret in an event": (
        "record_event",
        {"type": "t", "payload": {"header": KEY}, "project_id": PROJECT},
        "credential",
    ),
    "a secret in an event's type": (
        "record_event",
        {"type": KEY, "project_id": PROJECT},
        "credential",
    ),
    "a secret in a state": (
        "record_project_state",
        {**STATE, "state_json": {"token": KEY}},
        "credential",
    ),
    "a secret as source client": ("record_fact", {**FACT, "source_client": KEY}, "credential"),
    # types and names
    "arguments that are a string": ("record_fact", "key=value", "invalid_argument"),
    "arguments that are a list": ("record_fact", ["k", "v"], "invalid_argument"),
    "arguments that are a number": ("status", 7, "invalid_argument"),
    "content that is a number": ("append_message", {**MESSAGE, "content": 7}, "invalid_argument"),
    "content that is an object": (
        "append_message",
        {**MESSAGE, "content": {}},
        "invalid_argument",
    ),
    "a payload that is a list": (
        "append_message",
        {**MESSAGE, "payload": [1]},
        "invalid_argument",
    ),
    "a state that is text": (
        "record_project_state",
        {**STATE, "state_json": '{"a": 1}'},
        "invalid_argument",
    ),
    "an order that is text": ("append_message", {**MESSAGE, "order": "first"}, "invalid_argument"),
    "an order beyond 64 bits": ("append_message", {**MESSAGE, "order": 2**63}, "invalid_argument"),
    "a kind that is none": (
        "search_history",
        {"query": "x", "kind": "rumour"},
        "invalid_argument",
    ),
    "a switch that is text": (
        "search_history",
        {"query": "x", "include_system": "yes"},
        "invalid_argument",
    ),
    "a missing argument": ("record_fact", {"key": "k"}, "invalid_argument"),
    "a required null": ("record_fact", {"key": None, "value": "v"}, "invalid_argument"),
    "an unknown argument": ("record_fact", {**FACT, "scope": "all"}, "invalid_argument"),
    "an unknown tool": ("forget_everything", {}, "unknown_tool"),
    # conflicts and the rest
    "a conflict": (
        "append_message",
        {**MESSAGE, "source_message_id": "taken", "content": "else"},
        "conflict",
    ),
    "a head that is not there": (
        "record_fact",
        {**FACT, "key": "unheard-of", "expected_id": NOBODY},
        "conflict",
    ),
    "no project at all": ("get_project_context", {}, "no_project"),
    "a session without project": ("get_project_context", {"session_id": SESSION}, "no_project"),
}


@pytest.fixture(scope="module")
async def ids(server: Server) -> dict[str, str]:
    """Return the ids that the cases name."""
    session = await server.call("start_session", provider="p", source_session_id="s-1")
    project = await server.call("create_project", name="Shop")
    found = {SESSION: session["session_id"], PROJECT: project["project_id"]}
    taken = {**MESSAGE, "session_id": session["session_id"], "source_message_id": "taken"}
    assert not (await server.call("append_message", **taken))["is_error"]
    return found


@pytest.mark.parametrize("case", CASES)
async def test_bad_input_is_told_and_nothing_is_stored(
    case: str, server: Server, ids: dict[str, str], rows: Rows
) -> None:
    tool, arguments, code = CASES[case]
    if isinstance(arguments, dict):
        arguments = {
            name: ids.get(value, value) if isinstance(value, str) else value
            for name, value in arguments.items()
        }
    if case == "too deep a payload":
        arguments["payload"] = nested(900)
    before = await rows()
    answer = await server.call_with(tool, arguments)
    assert (answer["is_error"], answer["code"]) == (True, code), answer
    assert len(answer["error"]) > 20
    assert await rows() == before
    assert KEY not in str(answer)
    assert not (await server.call("list_projects"))["is_error"]


async def test_no_error_and_no_log_repeats_a_secret(server: Server, ids: dict[str, str]) -> None:
    for tool, arguments in [
        ("get_message", {"message_id": KEY}),
        ("record_fact", {**FACT, "project_id": KEY}),
        ("record_fact", {**FACT, KEY: "v"}),
        ("find_changes", {"other_client": "codex", "since": KEY}),
        ("read_session", {"session_id": ids[SESSION], "cursor": KEY}),
        ("search_history", {"query": "x", "kind": KEY}),
        (KEY, {}),
    ]:
        answer = await server.call_with(tool, arguments)
        assert answer["is_error"] is True
        assert KEY not in str(answer)
    assert KEY.encode() not in server.errors


async def test_an_unknown_argument_is_answered_with_the_right_names(server: Server) -> None:
    answer = await server.call("record_fact", kye="k", value="v")
    assert "Did you mean key?" in answer["error"]
    assert "expected_id" in answer["error"]


async def test_an_id_of_too_many_bytes_is_told_by_its_name_and_one_of_the_most_is_taken(
    server: Server, ids: dict[str, str]
) -> None:
    most, over = "\N{SNOWMAN}" * 170, "\N{SNOWMAN}" * 171
    message = {**MESSAGE, "session_id": ids[SESSION]}
    for tool, name, arguments in [
        ("start_session", "source_session_id", {"provider": "p"}),
        ("append_message", "source_message_id", message),
        ("record_event", "source_message_id", {"type": "t"}),
    ]:
        refused = await server.call_with(tool, {**arguments, name: over})
        assert refused["error"] == f"{name} takes at most 512 bytes of UTF-8."
        assert (await server.call_with(tool, {**arguments, name: most}))["is_error"] is False


async def test_ordinary_text_is_no_secret(server: Server, ids: dict[str, str]) -> None:
    for number, text in enumerate(["risk-averse", "task-123", "sk-learn", "a desk-mounted lamp"]):
        message = {**MESSAGE, "session_id": ids[SESSION], "source_message_id": f"plain-{number}"}
        answer = await server.call("append_message", **{**message, "content": text})
        assert answer["is_error"] is False


async def test_a_huge_limit_is_taken_down_and_told(server: Server, ids: dict[str, str]) -> None:
    for limit in (201, 10**9, 10**30):
        answer = await server.call("read_session", session_id=ids[SESSION], limit=limit)
        assert answer["is_error"] is False
        assert answer["notes"] == [
            "limit was taken down to 200, the most this tool returns at once."
        ]


async def test_a_time_without_zone_is_utc_and_that_is_told(
    server: Server, ids: dict[str, str]
) -> None:
    message = {**MESSAGE, "session_id": ids[SESSION], "source_message_id": "no-zone"}
    answer = await server.call(
        "append_message", **{**message, "original_timestamp": "2026-03-01T09:30:00"}
    )
    assert "read as UTC" in answer["notes"][0]
    stored = await server.call("get_message", message_id=answer["message_id"])
    assert stored["message"]["original_timestamp"] == "2026-03-01T09:30:00Z"


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("a\x00b", "a\u2400b"),
        ("a\ud800b", "a\ufffdb"),
        ("a\ud83d\ude00b", "a\U0001f600b"),
        ("x' OR '1'='1", "x' OR '1'='1"),
        ("100 % _under_", "100 % _under_"),
        ("\\u0000", "\\u0000"),
    ],
)
async def test_what_postgresql_refuses_is_kept_visibly(
    sent: str, kept: str, server: Server, ids: dict[str, str]
) -> None:
    message = {**MESSAGE, "session_id": ids[SESSION], "source_message_id": f"odd {sent!a}"}
    message |= {"content": sent, "payload": {sent: [sent]}}
    answer = await server.call("append_message", **message)
    assert answer["is_error"] is False
    again = await server.call("append_message", **message)
    assert again["duplicate"] is True
    stored = (await server.call("get_message", message_id=answer["message_id"]))["message"]
    assert stored["content"] == kept
    assert stored["payload"][kept] == [kept]
    fact = await server.call("record_fact", project_id=ids[PROJECT], key=f"k {sent}", value=sent)
    assert fact["is_error"] is False


async def test_numbers_that_json_has_not_are_kept_as_words(
    server: Server, ids: dict[str, str]
) -> None:
    message = {**MESSAGE, "session_id": ids[SESSION], "source_message_id": "nan"}
    message["payload"] = {"a": float("nan"), "b": 10**40}
    answer = await server.call("append_message", **message)
    stored = (await server.call("get_message", message_id=answer["message_id"]))["message"]
    assert stored["payload"] == {"a": "NaN", "b": 10**40, "replaced_characters": 1}


async def test_content_of_more_than_a_megabyte_is_stored_whole(
    server: Server, ids: dict[str, str]
) -> None:
    text = " ".join(f"word{number}" for number in range(200_000))
    message = {**MESSAGE, "session_id": ids[SESSION], "source_message_id": "large"}
    answer = await server.call("append_message", **{**message, "content": text})
    assert answer["is_error"] is False
    stored = await server.call("get_message", message_id=answer["message_id"], offset=len(text) - 9)
    assert stored["message"]["content"] == text[-9:]
    assert stored["message"]["content_length"] == len(text)


def nested(levels: int) -> dict[str, Any]:
    """Return an object in an object in an object."""
    found: dict[str, Any] = {}
    for _ in range(levels):
        found = {"a": found}
    return found
