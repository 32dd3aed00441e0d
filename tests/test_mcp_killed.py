"""A client that is killed leaves no server behind, whatever the server does at that moment."""

import asyncio
import json
import os
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from mcp_process import SECONDS, is_alive
from sqlalchemy import make_url
from test_mcp_broken_off import EVENT, events, stopped_writes, until_waiting

from memory.settings import Settings

pytestmark = pytest.mark.timeout(300)

GONE_SECONDS = 5  # after which nothing of a killed client's server is left

OPENING = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "script", "version": "1"},
}
CLIENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-m", "memory.mcp_server"], stdin=int(sys.argv[1]))
print(child.pid, flush=True)
child.wait()
"""


@dataclass
class Client:
    """A process that has started a server, and the pipe to that server.

    The pipe outlives it, as one does that another process of the client's holds as well.
    """

    process: asyncio.subprocess.Process
    server: int
    pipe: int

    def say(self, number: int, method: str, params: object) -> None:
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        os.write(self.pipe, json.dumps(message).encode() + b"\n")

    async def heard(self) -> bytes:
        return await asyncio.wait_for(self.process.stdout.readline(), SECONDS)

    async def open(self) -> None:
        self.say(1, "initialize", OPENING)
        assert b'"serverInfo"' in await self.heard()

    async def kill(self, *, closes_pipe: bool = False) -> None:
        """Kill the client, with or without the end of the pipe; the server must be gone in time."""
        assert is_alive(self.server)
        self.process.kill()
        await self.process.wait()
        if closes_pipe:
            os.close(self.pipe)
            self.pipe = -1
        async with asyncio.timeout(GONE_SECONDS):
            while is_alive(self.server):  # noqa: ASYNC110 - no event reaches us from there
                await asyncio.sleep(0.02)


@asynccontextmanager
async def client(environment: Mapping[str, str]) -> AsyncIterator[Client]:
    """Start a client with its server."""
    reader, writer = os.pipe()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", CLIENT, str(reader)),
        env=dict(environment),
        pass_fds=[reader],
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        server = int(await asyncio.wait_for(process.stdout.readline(), SECONDS))
        os.close(reader)
        mine = Client(process=process, server=server, pipe=writer)
        yield mine
        if mine.pipe >= 0:
            os.close(mine.pipe)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_a_server_that_was_asked_nothing_yet_is_gone(environment: dict[str, str]) -> None:
    async with client(environment) as mine:
        os.write(mine.pipe, b"no json\n")
        assert b"-32700" in await mine.heard()  # it is there and watches
        await mine.kill()


async def test_an_idle_server_is_gone(environment: dict[str, str]) -> None:
    async with client(environment) as mine:
        await mine.open()
        mine.say(2, "tools/call", {"name": "list_projects", "arguments": {}})
        assert b'"is_error\\":false' in await mine.heard()
        await mine.kill()


@pytest.mark.parametrize("closes_pipe", [False, True])
async def test_a_server_that_waits_for_the_database_in_a_call_is_gone(
    environment: dict[str, str], settings: Settings, *, closes_pipe: bool
) -> None:
    async with client(environment) as mine:
        await mine.open()
        async with stopped_writes(settings) as looker:
            mine.say(2, "tools/call", EVENT)
            await until_waiting(looker, 1)
            await mine.kill(closes_pipe=closes_pipe)
    assert await events(settings) == []


async def test_a_server_that_waits_for_a_database_which_does_not_answer_is_gone(
    environment: dict[str, str], settings: Settings
) -> None:
    loop = asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.setblocking(False)
        url = make_url(settings.database_url).set(host="127.0.0.1", port=silent.getsockname()[1])
        address = {"DATABASE_URL": url.render_as_string(hide_password=False)}
        async with client({**environment, **address}) as mine:
            await mine.open()
            mine.say(2, "tools/call", {"name": "list_projects", "arguments": {}})
            connection, _ = await asyncio.wait_for(loop.sock_accept(silent), SECONDS)
            with connection:
                await mine.kill()


async def test_a_server_that_is_still_being_loaded_is_gone(environment: dict[str, str]) -> None:
    async with client(environment) as mine:
        await mine.open()  # it loads the SDK from here on
        await mine.kill()
