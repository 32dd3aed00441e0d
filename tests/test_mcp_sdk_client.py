"""The SDK's own client against our server, as another implementation of both eras."""

import json
import sys

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from memory.mcp_server.identity import INSTRUCTIONS
from memory.tools import TOOLS

pytestmark = pytest.mark.timeout(300)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_sdk_s_client_works_in_either_era(mode: str, environment: dict[str, str]) -> None:
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "memory.mcp_server"], env=environment, cwd="/"
    )
    async with Client(stdio_client(parameters), mode=mode) as client:
        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == [tool.name for tool in TOOLS]
        assert client.instructions == INSTRUCTIONS
        prompts = (await client.list_prompts()).prompts
        assert [each.name for each in prompts] == ["recall", "handoff", "decide"]
        assert (await client.list_resources()).resources == []
        made = await client.call_tool("create_project", {"name": "By the SDK"})
        answer = json.loads(made.content[0].text)
        assert (made.is_error, answer["is_error"], answer["is_new"]) == (False, False, True)
        assert made.structured_content is None
        wrong = await client.call_tool("create_project", {"nmae": "x"})
        assert wrong.is_error is False
        assert json.loads(wrong.content[0].text)["code"] == "invalid_argument"
