"""The server ends with its client, however that ends, and drops no call that was sent."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from mcp_process import SECONDS, Json, Server, eventually, is_alive

pytestmark = pytest.mark.timeout(300)


async def loaded(server: Server) -> None:
    await server.open()
    await server.call("status")


async def fresh(server: Server) -> None:
    await server.open()


async def silent(server: Server) -> None:
    assert server.process.returncode is None


Stage = Callable[[Server], Awaitable[None]]
STAGES: list[Stage] = [silent, fresh, loaded]


@pytest.mark.parametrize("stage", STAGES)
async def test_it_ends_when_the_pipe_is_closed(stage: Stage, environment: dict[str, str]) -> None:
    async with Server(environment) as server:
        await stage(server)
        assert await server.end() == 0
    assert not server.errors


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_it_ends_on_a_signal(number: signal.Signals, environment: dict[str, str]) -> None:
    async with Server(environment) as server:
        await loaded(server)
        assert await server.end(number) == 0
    assert not server.errors


async def test_it_ends_on_a_signal_while_it_loads(environment: dict[str, str]) -> None:
    async with Server(environment) as server:
        await fresh(server)
        assert await server.end(signal.SIGTERM) == 0


async def test_calls_that_were_sent_before_the_pipe_was_closed_are_answered(
    environment: dict[str, str],
) -> None:
    opening = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "script", "version": "1"},
    }
    event: Json = {"name": "record_event", "arguments": {"type": "from a script"}}
    requests = [("initialize", opening), *[("tools/call", event)] * 5]
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for number, (method, params) in enumerate(requests)
    ]
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "memory.mcp_server"],
        input="\n".join(lines),
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=SECONDS,
    )
    answers = {message["id"]: message for message in map(json.loads, done.stdout.splitlines())}
    assert sorted(answers) == list(range(6))
    assert all('"is_error":false' in str(answers[number]) for number in range(1, 6))


async def test_it_ends_when_its_parent_is_killed_although_the_pipe_stays_open(
    environment: dict[str, str],
) -> None:
    """A client that is killed cannot close a pipe that somebody else holds as well."""
    reader, writer = os.pipe()
    parent_code = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-m', 'memory.mcp_server'],"
        " stdin=int(sys.argv[1]))\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    parent = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        parent_code,
        str(reader),
        env=environment,
        pass_fds=[reader],
        stdout=asyncio.subprocess.PIPE,
    )
    child = int(await parent.stdout.readline())
    os.write(writer, b"no json\n")
    assert b"-32700" in await parent.stdout.readline()  # it is there and watches
    assert is_alive(child)
    parent.kill()
    await parent.wait()

    async def is_gone() -> bool:
        return not is_alive(child)

    await eventually(is_gone)
    os.close(reader)
    os.close(writer)


async def test_it_ends_when_the_client_no_longer_reads(environment: dict[str, str]) -> None:
    reader, writer = os.pipe()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "memory.mcp_server",
        env=environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=writer,
    )
    os.close(reader)
    os.close(writer)
    process.stdin.write(b'{"jsonrpc":"2.0","id":1}\n')
    assert await asyncio.wait_for(process.wait(), SECONDS) == 0
    process.stdin.close()


async def test_a_server_that_cannot_be_loaded_says_so_to_the_client_and_on_stderr(
    environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "mcp.py").write_text("raise ImportError('no SDK here')\n")
    environment["PYTHONPATH"] = f"{tmp_path}{os.pathsep}{environment['PYTHONPATH']}"
    async with Server(environment) as server:
        await server.open()
        answer = await server.ask("tools/call", {"name": "status"})
        assert answer["error"]["code"] == -32603
        assert await asyncio.wait_for(server.process.wait(), SECONDS) == 1
    assert b"no SDK here" in server.errors


async def test_unknown_words_on_the_command_line_are_refused(environment: dict[str, str]) -> None:
    for words, code in [(["--help"], 0), (["serve"], 2)]:
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-m", "memory.mcp_server", *words],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code
        assert "usage" in done.stderr
        assert not done.stdout
