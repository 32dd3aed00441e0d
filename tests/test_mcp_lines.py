"""Lines on the wire: malformed ones are answered, long ones work, stdout carries nothing else."""

import asyncio
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_process import MODERN, Json, Server

from memory.mcp_server import wire
from memory.mcp_server.messages import Malformed, failure, parse, request_id
from memory.mcp_server.wire import Wire, encode

pytest_plugins = ["mcp_fixtures"]
pytestmark = pytest.mark.timeout(300)

DEEP = (
    b'{"jsonrpc":"2.0","id":"deep","method":"x","params":{"a":' + b"[" * 5000 + b"]" * 5000 + b"}}"
)
DIGITS = b'{"method":"x","params":{"a":' + b"1" * 5000 + b'},"jsonrpc":"2.0","id":77}'

MALFORMED: dict[str, tuple[bytes, int, object]] = {
    "no json": (b"hello", -32700, None),
    "half a message": (b'{"jsonrpc":"2.0","id":1,"method"', -32700, 1),
    "a batch": (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, None),
    "a string": (b'"ping"', -32600, None),
    "no version": (b'{"id":5,"method":"ping"}', -32600, 5),
    "another version": (b'{"jsonrpc":"1.0","id":5,"method":"ping"}', -32600, 5),
    "no method": (b'{"jsonrpc":"2.0","id":"x"}', -32600, "x"),
    "a method that is a number": (b'{"jsonrpc":"2.0","id":5,"method":5}', -32600, 5),
    "params that are a list": (
        b'{"jsonrpc":"2.0","id":5,"method":"ping","params":[1]}',
        -32600,
        5,
    ),
    "an id that is null": (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
    "an id that is a fraction": (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, None),
    "an id that is true": (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, None),
    "an id with half a character": (
        b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}',
        -32600,
        None,
    ),
    "a method with half a character": (
        b'{"jsonrpc":"2.0","id":5,"method":"\\ud800"}',
        -32600,
        5,
    ),
    "too deep a nesting": (DEEP, -32600, "deep"),
    "a number of thousands of digits": (DIGITS, -32700, 77),
}


async def test_malformed_lines_are_answered_before_and_after_the_sdk_is_there(
    environment: dict[str, str],
) -> None:
    async with Server(environment) as server:
        for is_ready in (False, True):
            for name, (line, code, found) in MALFORMED.items():
                await server.send_line(line)
                answer = await server.read()
                assert (answer["error"]["code"], answer["id"]) == (code, found), (name, is_ready)
            if not is_ready:
                await server.open()
                await server.call("status")
        assert not (await server.call("list_projects"))["is_error"]


async def test_blank_lines_and_foreign_answers_are_passed_over(
    environment: dict[str, str],
) -> None:
    async with Server(environment) as server:
        await server.send_line(b"")
        await server.send_line(b"  \r")
        await server.send_line(b'{"jsonrpc":"2.0","id":9,"result":{}}')
        await server.send_line(b'{"jsonrpc":"2.0","id":9,"result":7}')
        await server.send_line(b'{"jsonrpc":"2.0","method":"notifications/unknown"}')
        assert (await server.open())["id"] == 1
        await server.call("status")
        await server.send_line(b'{"jsonrpc":"2.0","id":9,"error":{}}')
        assert not (await server.call("status"))["is_error"]


async def test_bytes_that_are_no_utf_8_are_replaced(server: Server) -> None:
    call = {"name": "create_project", "arguments": {"name": "a?b"}}
    message = {"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": call}
    await server.send_line(json.dumps(message).encode().replace(b"a?b", b"a\xffb"))
    answer = await server.answer_to("x")
    assert json.loads(answer["result"]["content"][0]["text"])["name"] == "a\ufffdb"


async def test_a_line_of_ten_megabytes_works(server: Server) -> None:
    session = await server.call("start_session", provider="p", source_session_id="s")
    text = "0123456789 " * 1_000_000
    answer = await server.call(
        "append_message",
        session_id=session["session_id"],
        source_message_id="long",
        content=text,
        original_timestamp="2026-01-01T00:00:00Z",
    )
    stored = await server.call("get_message", message_id=answer["message_id"])
    assert stored["message"]["content_length"] == len(text)


async def test_a_hundred_calls_at_once_are_each_answered_once(environment: dict[str, str]) -> None:
    async with Server(environment, era=MODERN) as server:
        await server.open()
        numbers = []
        for number in range(50):
            for name, arguments in [
                ("record_event", {"type": f"e{number}"}),
                ("record_fact", {"key": "k", "value": f"v{number}"}),
            ]:
                call = {"name": name, "arguments": arguments}
                numbers.append(await server.request("tools/call", call))
        answers = [await server.answer_to(number) for number in numbers]
        assert all('"is_error":false' in str(answer).replace("\\", "") for answer in answers)
        # Writes are recorded in the order in which they were sent.
        facts = [json.loads(answer["result"]["content"][0]["text"]) for answer in answers[1::2]]
        assert [fact["version"] for fact in facts] == list(range(1, 51))
    sent = [json.loads(line) for line in server.lines]
    assert sorted(message["id"] for message in sent) == list(range(1, 102))


async def test_ids_that_look_alike_are_two_requests(server: Server) -> None:
    for found in (7, "7", -3, 0, "", 2**60):
        await server.send({"jsonrpc": "2.0", "id": found, "method": "ping"})
        answer = await server.read()
        assert (answer["id"], type(answer["id"])) == (found, type(found))


async def test_a_cancelled_call_leaves_the_next_one_working(server: Server) -> None:
    await server.call("status")
    for number in range(20):
        call = {"name": "record_event", "arguments": {"type": f"cancelled {number}"}}
        found = await server.request("tools/call", call)
        await server.send(
            {
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": found, "reason": "changed my mind"},
            }
        )
    late = {"requestId": 1, "reason": "AbortError"}  # as OpenCode sends at its end
    await server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": late})
    for _ in range(5):
        assert not (await server.call("record_event", type="kept"))["is_error"]
    assert not (await server.call("list_projects"))["is_error"]


async def test_whatever_prints_stdout_carries_json_rpc_alone(
    environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import builtins, os, subprocess, sys\n"
        "original, loud = builtins.__import__, {'mcp', 'sqlalchemy', 'asyncpg', 'memory.tools'}\n"
        "def noisy(name, *rest, **options):\n"
        "    if name in loud:\n"
        "        loud.discard(name)\n"
        "        print('printed while importing', name, flush=True)\n"
        "        os.write(1, b'written to descriptor 1\\n')\n"
        "        subprocess.run(['echo', 'said by a child'])\n"
        "        sys.__stdout__.write('through the original stream\\n')\n"
        "        assert sys.stdin.read() == ''\n"
        "    return original(name, *rest, **options)\n"
        "builtins.__import__ = noisy\n"
    )
    environment["PYTHONPATH"] = f"{tmp_path}{os.pathsep}{environment['PYTHONPATH']}"
    async with Server(environment) as server:
        await server.open()
        assert not (await server.call("record_event", type="t"))["is_error"]
        assert not (await server.call("status"))["is_error"]
        server.process.stdin.close()
        while line := await server.process.stdout.readline():
            server.lines.append(line)
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in server.lines)
    assert b"written to descriptor 1" in server.errors
    assert b"said by a child" in server.errors


async def test_a_client_that_does_not_read_does_not_stop_the_others_calls(server: Server) -> None:
    numbers = [await server.request("tools/list") for _ in range(60)]  # 800 kB of answers
    await asyncio.wait_for(server.process.stdin.drain(), 30)
    for number in numbers:
        assert len((await server.answer_to(number))["result"]["tools"]) > 10


def test_a_line_that_is_too_long_is_answered_with_its_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_LINE_BYTES", 1000)
    monkeypatch.setattr(wire, "EDGE_BYTES", 100)
    first = b'{"jsonrpc":"2.0","id":"first","method":"x","params":{"a":"' + b"x" * 5000 + b'"}}\n'
    last = b'{"method":"x","params":{"id":3,"a":"' + b"x" * 2500 + b'"},"jsonrpc":"2.0","id":12}\n'
    neither = b"x" * 1700 + b"\n"
    exact = b"y" * 999 + b"\n"
    reader, writer = os.pipe()
    os.write(writer, first + last + neither + exact + b"rest")
    os.close(writer)
    with os.fdopen(reader, "rb") as source:
        lines = Wire(source, -1)
        for found in ("first", 12, None):
            line, cut = lines.read()
            assert cut
            with pytest.raises(Malformed) as error:
                parse(line, cut=cut)
            assert error.value.answer["id"] == found
        assert lines.read() == (exact, False)
        assert lines.read() == (b"rest", False)
        assert lines.read() == (b"", False)


def test_a_client_that_is_gone_is_noticed_when_it_is_written_to() -> None:
    reader, target = os.pipe()
    os.close(reader)
    broken = []
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - a plain file
        pipe = Wire(nothing, target)
        pipe.on_broken = lambda: broken.append(True)
        pipe.send(failure(-1, "x", 1))
    os.close(target)
    assert broken == [True]


def told(line: bytes) -> Json:
    """Return the message in a line, or what its sender is told."""
    try:
        return parse(line)
    except Malformed as error:
        return error.answer


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
def test_any_json_is_a_message_or_a_told_error(value: object) -> None:
    found = told(json.dumps(value).encode())
    assert found["jsonrpc"] == "2.0"
    assert json.loads(encode(found))


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_a_told_error(line: bytes) -> None:
    found = told(line)
    assert request_id(found) is None or b'"id"' in line


@given(st.text())
def test_whatever_is_sent_is_one_line_of_json(text: str) -> None:
    line = encode({"a": text})
    assert line.count(b"\n") == 1
    assert json.loads(line) == {"a": text}
