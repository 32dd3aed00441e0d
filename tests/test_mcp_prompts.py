"""What the clients that show prompts and resources get; nothing else depends on either."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_process import ERAS, Server

from memory.errors import LedgerError
from memory.tools.prompts import MAX_ARGUMENT, PROMPTS, asked

pytestmark = pytest.mark.timeout(300)


@pytest.mark.parametrize("era", ERAS)
async def test_prompts_and_resources_are_there_in_every_era(
    era: str, environment: dict[str, str]
) -> None:
    async with Server(environment, era=era) as server:
        await server.open()
        project = await server.call("create_project", name="Sea & Sky")
        fact = await server.call(
            "record_fact", key="k", value="v", project_id=project["project_id"]
        )
        session = await server.call("start_session", provider="p", source_session_id="s")
        listed = (await server.ask("prompts/list"))["result"]["prompts"]
        assert [each["name"] for each in listed] == ["recall", "handoff", "decide"]
        filled = {"name": "recall", "arguments": {"topic": 'the "port"'}}
        [message] = (await server.ask("prompts/get", filled))["result"]["messages"]
        assert message["role"] == "user"
        assert message["content"]["text"].endswith('\n\n{"topic": "the \\"port\\""}')
        assert (await server.ask("resources/list"))["result"]["resources"] == []
        found = (await server.ask("resources/templates/list"))["result"]["resourceTemplates"]
        templates = [each["uriTemplate"] for each in found]
        ids = [project["project_id"], session["session_id"], fact["id"]]
        keys = ["facts", "messages", "message"]
        for template, name, key in zip(templates, ids, keys, strict=True):
            uri = template.replace("{id}", name)
            answer = await server.ask("resources/read", {"uri": uri})
            [content] = answer["result"]["contents"]
            assert (content["uri"], content["mimeType"]) == (uri, "application/json")
            assert key in json.loads(content["text"])
        for method, params in [
            ("prompts/get", {"name": "recall"}),
            ("prompts/get", {"name": "nothing"}),
            ("resources/read", {"uri": "memory://project/x"}),
            ("resources/read", {"uri": "file:///etc/passwd"}),
            ("resources/read", {"uri": f"memory://entry/{session['session_id']}"}),
        ]:
            error = (await server.ask(method, params))["error"]
            assert error["code"] == -32602
            assert error["message"]
        assert not (await server.call("list_projects"))["is_error"]


def test_prompts_name_only_tools_that_there_are_and_leave_no_room_for_orders() -> None:
    for prompt in PROMPTS:
        filled = {each.name: "x" for each in prompt.questions}
        assert asked(prompt.name, filled) == (prompt, f"{prompt.text}\n\n{json.dumps(filled)}")
        assert len(prompt.text) <= 1_000


@given(st.text(), st.dictionaries(st.sampled_from(["topic", "note", "x"]), st.text(max_size=5)))
def test_any_prompt_that_is_asked_for_is_answered_or_refused_in_words(
    name: str, filled: dict[str, str]
) -> None:
    for each in (name, "recall", "handoff"):
        with contextlib.suppress(LedgerError):
            assert asked(each, filled)[0].name == each


def test_a_prompt_that_is_filled_in_too_long_is_refused() -> None:
    with pytest.raises(LedgerError) as error:
        asked("recall", {"topic": "x" * (MAX_ARGUMENT + 1)})
    assert error.value.code == "too_large"
