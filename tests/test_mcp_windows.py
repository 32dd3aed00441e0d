"""Thirty windows are thirty servers, which together leave the database room for others."""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack

import pytest
from mcp_process import Server, eventually
from test_mcp_broken_off import connected

from memory.settings import Settings

pytestmark = pytest.mark.timeout(600)

WINDOWS = 30
TOO_MANY = 60
AT_ONCE = 4  # servers that are started at the same time; each loads the SDK
CALLS = 3  # of each kind, sent together by each window


async def opened(stack: AsyncExitStack, environment: Mapping[str, str]) -> list[Server]:
    """Start the servers, a few at once, until each has answered a call."""
    turns = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> Server:
        async with turns:
            client = ("claude-code", "codex-mcp-client", "opencode")[number % 3]
            server = Server(environment, client=client)
            await stack.enter_async_context(server)
            await server.open()
            await server.call("status")
            return server

    return list(await asyncio.gather(*map(one, range(WINDOWS))))


async def work(server: Server, number: int) -> None:
    """Send calls together; each must succeed."""
    calls = [("record_event", {"type": f"w{number} {each}"}) for each in range(CALLS)]
    calls += [("search_history", {"query": f"w{number}"})] * CALLS
    sent = [
        await server.request("tools/call", {"name": name, "arguments": arguments})
        for name, arguments in calls
    ]
    for each in sent:
        answer = await server.answer_to(each)
        assert '"is_error":false' in answer["result"]["content"][0]["text"]


async def test_thirty_servers_that_are_called_at_once_stay_under_sixty_connections(
    environment: dict[str, str], settings: Settings
) -> None:
    """Every connection to the database counts; passes of the background are waited for.

    What commits while another window indexes may wait for the next write, so not all is indexed.
    """
    looker = await connected(settings)
    is_over = asyncio.Event()
    most = 0

    async def look_on() -> None:
        nonlocal most
        while not is_over.is_set():
            found = await looker.fetchval(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                " AND pid <> pg_backend_pid()"
            )
            most = max(most, found)
            await asyncio.sleep(0.02)  # the servers need the processor too

    async def is_indexed() -> bool:
        other = await connected(settings)
        try:
            found = await other.fetchval("SELECT count(*) FROM search")
        finally:
            await other.close()
        return bool(found >= WINDOWS)

    watching = asyncio.create_task(look_on())
    try:
        async with AsyncExitStack() as stack:
            servers = await opened(stack, environment)
            await asyncio.gather(*(work(each, number) for number, each in enumerate(servers)))
            await eventually(is_indexed)
    finally:
        is_over.set()
        await watching
        await looker.close()
    assert WINDOWS <= most < TOO_MANY
