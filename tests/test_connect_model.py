"""The mock model of scripts/check-clients does as a prompt says, in all three interfaces."""

import contextlib
import http.client
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts" / "clients"))

from mock_model import Model, plan

PROMPT = f"Please. {plan(('status', {'a': 1}))}"


@pytest.fixture
def model() -> Iterator[Model]:
    """Return a model that answers."""
    with Model() as running:
        yield running


def ask(model: Model, path: str, body: dict[str, Any]) -> str:
    connection = http.client.HTTPConnection(model.url.removeprefix("http://"), timeout=30)
    connection.request("POST", path, json.dumps(body))
    with contextlib.closing(connection):
        return connection.getresponse().read().decode()


def test_it_calls_the_next_tool_of_the_plan_and_then_ends(model: Model) -> None:
    tools = [{"name": "mcp__shared-memory__status"}]
    asked: list[dict[str, Any]] = [{"role": "user", "content": PROMPT}]
    first = json.loads(ask(model, "/v1/messages", {"messages": asked, "tools": tools}))
    assert first["content"][0]["name"] == "mcp__shared-memory__status"
    assert first["content"][0]["input"] == {"a": 1}
    asked += [
        {"role": "assistant", "content": first["content"]},
        {"role": "user", "content": [{"type": "tool_result", "content": "{}"}]},
    ]
    last = json.loads(ask(model, "/v1/messages", {"messages": asked, "tools": tools}))
    assert last["content"] == [{"type": "text", "text": "done"}]
    assert len(model.requests) == 2


def test_it_calls_from_javascript_what_codex_gives_no_name_of(model: Model) -> None:
    exec_tool = {"type": "namespace", "name": "functions", "tools": [{"name": "exec"}]}
    asked = [
        {"type": "additional_tools", "role": "developer", "tools": [exec_tool]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": PROMPT}]},
    ]
    said = ask(model, "/v1/responses", {"input": asked, "stream": True})
    assert "custom_tool_call" in said
    assert "tools.mcp__shared_memory__status" in said


def test_a_request_without_tools_such_as_for_a_title_gets_words(model: Model) -> None:
    asked = [{"role": "user", "content": PROMPT}]
    said = json.loads(ask(model, "/v1/chat/completions", {"messages": asked}))
    assert said["choices"][0]["message"]["content"] == "done"
