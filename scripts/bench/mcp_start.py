"""Measure the MCP server as a client sees it: start, first call, steady calls, idle memory.

Run: python scripts/bench/mcp_start.py [--starts 7] [--calls 500]
It starts a throw-away database. Times are wall times of one run on one machine; what counts is
each row against `import mcp`, which any server built on the SDK has to wait for.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from throwaway import machine, pss, server

from memory import postgres
from memory.settings import Settings

ROOT = Path(__file__).resolve().parent.parent.parent
OPENING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


class Client:
    """One server process; requests are sent one at a time."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Start the server."""
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "memory.mcp_server"],
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._number = 0

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the pipe and wait for the server's end."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait()

    def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        """Send a request and return its result."""
        if self.process.stdin is None or self.process.stdout is None:
            raise AssertionError
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["result"]

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool and return its answer."""
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        answer = json.loads(result["content"][0]["text"])
        if answer["is_error"]:
            raise SystemExit(answer["error"])
        return answer

    def since_start(self) -> float:
        """Return the milliseconds since the server was started."""
        return (time.perf_counter() - self.started) * 1000


def import_sdk(environment: Mapping[str, str]) -> float:
    """Return the milliseconds until a process has imported the SDK's server."""
    begun = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", "import mcp.server.lowlevel"], env=dict(environment), check=True
    )
    return (time.perf_counter() - begun) * 1000


def start(environment: Mapping[str, str], database: int) -> dict[str, float]:
    """Return the milliseconds from the start to each answer of a new server, and the idle memory.

    ``database`` is PostgreSQL's process id; its memory is that of all its processes, one
    connection of the server's among them.
    """
    with Client(environment) as client:
        client.ask("initialize", OPENING)
        found = {"initialize": client.since_start()}
        client.ask("tools/list", {})
        found["tools/list"] = client.since_start()
        client.call("list_projects")
        found["first tool call"] = client.since_start()
        return {
            **found,
            "idle server, Pss MB": pss(client.process.pid),
            "idle PostgreSQL, Pss MB": pss(database),
        }


def timed(count: int, run: Callable[[int], object]) -> list[float]:
    """Return the milliseconds of each of so many runs, after a tenth of them to warm up."""
    for number in range(-(count // 10), 0):
        run(number)
    times = []
    for number in range(count):
        begun = time.perf_counter()
        run(number)
        times.append((time.perf_counter() - begun) * 1000)
    return times


def steady(environment: Mapping[str, str], calls: int) -> dict[str, list[float]]:
    """Return the milliseconds of single calls of a server that has been running."""
    with Client(environment) as client:
        client.ask("initialize", OPENING)
        session = client.call("start_session", provider="bench", source_session_id="s")

        def append(number: int) -> Any:
            return client.call(
                "append_message",
                session_id=session["session_id"],
                source_message_id=f"m{number}",
                content=f"message {number} " * 20,
                original_timestamp="2026-01-01T00:00:00Z",
            )

        message_id = append(10**9)["message_id"]
        return {
            "ping (the SDK alone)": timed(calls, lambda _number: client.ask("ping", {})),
            "get_message": timed(
                calls, lambda _number: client.call("get_message", message_id=message_id)
            ),
            "append_message": timed(calls, append),
        }


def environment_of(settings: Settings) -> dict[str, str]:
    """Return a clean environment, as a client gives it, that names the database."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(settings.home),
        "PYTHONPATH": str(ROOT),
        "MEMORY_HOME": str(settings.home),
        "DATABASE_URL": settings.database_url,
        "MEMORY_OWNER_URL": settings.owner_url,
    }


def main() -> None:
    """Measure and print two tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--starts", type=int, default=7)
    parser.add_argument("--calls", type=int, default=500)
    options = parser.parse_args()
    with server() as settings:
        environment = environment_of(settings)
        running = postgres.state(settings)
        if running is None:
            raise SystemExit("The throw-away server is gone; its log was removed with it.")
        start(environment, running.pid)  # builds the schema and fills the file cache
        print(machine())
        sdk = statistics.median(import_sdk(environment) for _ in range(options.starts))
        rows = [start(environment, running.pid) for _ in range(options.starts)]
        print(f"\n{'from the start, median':28}{'ms':>9}{'of import mcp':>16}")
        print(f"{'import mcp':28}{sdk:9.0f}{1:16.2f}")
        for name in rows[0]:
            middle = statistics.median(row[name] for row in rows)
            share = "" if "MB" in name else f"{middle / sdk:16.2f}"
            print(f"{name:28}{middle:9.0f}{share}")
        print(f"\n{'one call after another, ms':28}{'p50':>9}{'p99':>9}")
        for name, times in steady(environment, options.calls).items():
            ordered = sorted(times)
            last = ordered[int(len(ordered) * 0.99)]
            print(f"{name:28}{statistics.median(ordered):9.2f}{last:9.2f}")
        print(machine())


if __name__ == "__main__":
    main()
