"""A conversation with an MCP server as a client has it: start, handshake, list, one tool call."""

import json
import os
import selectors
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any, Final

__all__ = ["SECONDS", "Talk", "talk"]

SECONDS: Final = 30.0
"""How long a server has for everything; Claude Code 2.1.332 gives up after as many."""

_ENDING_SECONDS: Final = 5.0
_LONGEST: Final = 4 * 1024 * 1024  # bytes of one answer
_PROTOCOL: Final = "2025-06-18"
_WORDS: Final = 300  # characters of what a server says on standard error


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """What came of it: ``failure`` is empty when everything went well.

    ``seconds`` passed until the handshake was answered. ``answer`` is the tool's, None when no tool
    was called.
    """

    failure: str = ""
    version: str = ""
    tools: int = 0
    seconds: float = 0.0
    answer: Mapping[str, Any] | None = None


def talk(
    command: Sequence[str], environment: Mapping[str, str], *, tool: str, timeout: float = SECONDS
) -> Talk:
    """Start a server, and end it again; ``tool`` is called without arguments, none when empty."""
    started = time.monotonic()
    try:
        process = subprocess.Popen(  # noqa: S603 - what the user's client would start
            list(command),
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
        )
    except (OSError, ValueError) as error:
        return Talk(failure=f"{command[0]} cannot be started: {error}")
    try:
        return _spoken(process, tool, started=started, deadline=started + timeout)
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = str(error) if isinstance(error, OSError) else "it answers no MCP"
        return Talk(failure=f"{reason}{_last_words(process)}")
    finally:
        _end(process)


def _spoken(
    process: "subprocess.Popen[bytes]", tool: str, *, started: float, deadline: float
) -> Talk:
    """Say everything at once, as some clients do, and read the answers."""
    opening = {
        "protocolVersion": _PROTOCOL,
        "capabilities": {},
        "clientInfo": {"name": "memory-doctor", "version": "1"},
    }
    requests: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": opening},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list", "params": {}},
    ]
    if tool:
        called = {"name": tool, "arguments": {}}
        requests.append({"id": 3, "method": "tools/call", "params": called})
    lines = [json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in requests]
    _pipe(process.stdin).write("".join(lines).encode())
    _pipe(process.stdin).flush()
    answers: dict[Any, Any] = {}
    seconds = 0.0
    for line in _lines(_pipe(process.stdout), deadline):
        message = json.loads(line)
        answers[message.get("id")] = message.get("result")
        if 1 in answers and not seconds:
            seconds = time.monotonic() - started
        if (3 if tool else 2) in answers:
            break
    return Talk(
        version=answers[1]["serverInfo"]["version"],
        tools=len(answers[2]["tools"]),
        seconds=seconds,
        answer=json.loads(answers[3]["content"][0]["text"]) if tool else None,
    )


def _lines(stream: IO[bytes], deadline: float) -> Iterator[bytes]:
    """Yield lines as they come. Raises OSError when the stream ends, or the time does."""
    rest = b""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while len(rest) <= _LONGEST:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise OSError("it did not answer in time")
            piece = os.read(stream.fileno(), 1 << 16)
            if not piece:
                raise OSError("it ended without an answer")
            *whole, rest = (rest + piece).split(b"\n")
            yield from whole
    raise OSError("its answer is too long")


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise OSError("it has no pipes")
    return stream


def _last_words(process: "subprocess.Popen[bytes]") -> str:
    """Return what a server said last, after it is told to end."""
    try:
        said = process.communicate(timeout=_ENDING_SECONDS)[1]  # it closes the input itself
    except (subprocess.TimeoutExpired, ValueError, OSError):
        return ""
    lines = said.decode(errors="replace").strip().splitlines()
    return f": {lines[-1][:_WORDS]}" if lines else ""


def _end(process: "subprocess.Popen[bytes]") -> None:
    with suppress(OSError, ValueError):
        _pipe(process.stdin).close()
    try:
        process.wait(_ENDING_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
