"""A real server process under test, spoken to line by line, as the clients do.

Three openings were read from the clients themselves: Claude Code asks ``server/discover`` of
2026-07-28, OpenCode ``initialize`` 2025-11-25, Codex ``initialize`` 2025-06-18.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

SECONDS = 90  # for one answer, on a busy machine

MODERN = "2026-07-28"
ERAS = (MODERN, "2025-11-25", "2025-06-18")

Json = dict[str, Any]


@dataclass
class Server:
    """One server process and its client's end of the pipes."""

    environment: Mapping[str, str]
    era: str = "2025-11-25"
    client: str = "test-client"
    directory: str = "/"
    command: tuple[str, ...] = (sys.executable, "-m", "memory.mcp_server")
    meta: Json = field(default_factory=dict)
    lines: list[bytes] = field(default_factory=list)
    errors: bytearray = field(default_factory=bytearray)
    _number: int = 0
    _answers: dict[Any, Json] = field(default_factory=dict)

    async def __aenter__(self) -> Self:
        self.process = await asyncio.create_subprocess_exec(
            *self.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=dict(self.environment),
            cwd=self.directory,
            limit=2**26,
        )
        self._listener = asyncio.create_task(self._read_errors())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.process.returncode is None:
            self.process.stdin.close()
            try:
                await asyncio.wait_for(self.process.wait(), SECONDS)
            except TimeoutError:
                self.process.kill()
                await self.process.wait()
                raise
        await self._listener

    async def open(self) -> Json:
        """Do what this era's client does first; return the server's answer."""
        if self.era == MODERN:
            return await self.ask("server/discover")
        opening = {
            "protocolVersion": self.era,
            "capabilities": {},
            "clientInfo": {"name": self.client, "version": "1"},
        }
        answer = await self.ask("initialize", opening)
        await self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    async def call(self, tool: str, /, _meta: Json | None = None, **arguments: Any) -> Json:
        """Call a tool; return the object in its answer's text."""
        return await self.call_with(tool, arguments, _meta)

    async def call_with(self, tool: str, arguments: Any, _meta: Json | None = None) -> Json:
        """Call a tool with arguments of any shape; return the object in its answer's text."""
        params = {"name": tool, "arguments": arguments, "_meta": {**self.meta, **(_meta or {})}}
        answer = await self.ask("tools/call", params)
        return read_text(answer)

    async def ask(self, method: str, params: Json | None = None) -> Json:
        """Send a request and return its answer."""
        return await self.answer_to(await self.request(method, params))

    async def request(self, method: str, params: Json | None = None) -> int:
        """Send a request and return its id."""
        self._number += 1
        params = dict(params or {})
        if self.era == MODERN:
            params["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": self.client, "version": "1"},
                **params.get("_meta", {}),
            }
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        await self.send(message)
        return self._number

    async def send(self, message: Any) -> None:
        """Send one message."""
        await self.send_line(json.dumps(message).encode())

    async def send_line(self, line: bytes) -> None:
        """Send one line as it is."""
        self.process.stdin.write(line + b"\n")
        await self.process.stdin.drain()

    async def answer_to(self, number: Any) -> Json:
        """Return the answer with this id, whenever it comes."""
        while number not in self._answers:
            message = await self.read()
            self._answers[message.get("id")] = message
        return self._answers.pop(number)

    async def read(self) -> Json:
        """Return the next message of the server."""
        line = await asyncio.wait_for(self.process.stdout.readline(), SECONDS)
        if not line:
            message = f"The server has ended: {self.errors.decode()}"
            raise EOFError(message)
        self.lines.append(line)
        return json.loads(line)

    async def end(self, number: signal.Signals | None = None) -> int:
        """Close the pipe, or send a signal; return the exit code."""
        if number is None:
            self.process.stdin.close()
        else:
            self.process.send_signal(number)
        return await asyncio.wait_for(self.process.wait(), SECONDS)

    async def _read_errors(self) -> None:
        while part := await self.process.stderr.read(4096):
            self.errors += part


def read_text(answer: Json) -> Json:
    """Return the object in the text of a tool's answer, having checked its form."""
    result = answer["result"]
    assert result.get("isError", False) is False
    assert "structuredContent" not in result
    [content] = result["content"]
    assert content["type"] == "text"
    assert len(content["text"].encode()) <= 10_000
    found = json.loads(content["text"])
    assert next(iter(found)) == "is_error"
    return found


async def eventually(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait until a condition holds that other processes bring about."""
    async with asyncio.timeout(SECONDS):
        while not await condition():  # noqa: ASYNC110 - no event reaches us from there
            await asyncio.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Tell whether a process is there and no zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as stat:  # noqa: PTH123 - read at once
        return stat.read().rpartition(")")[2].split()[0] != "Z"
