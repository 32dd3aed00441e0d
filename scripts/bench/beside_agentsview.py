"""Measure the import beside agentsview's: the same store, one after the other, on one machine.

Run: python scripts/bench/beside_agentsview.py PROGRAM [--bytes 200M] [--files N] [--rounds 3]
PROGRAM is the path of agentsview's program, installed into an environment of its own:
``python -m venv DIR && DIR/bin/pip install agentsview``. Each of the two gets a copy of the store
in a home of its own. What is measured: a full import (ours without and with the search index,
theirs has it in the import), a second one with nothing new, and the seconds from a row that a
client appends until a search finds it, while both watch.
"""

import argparse
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from generate_store import generate, size_of
from import_store import environment_of, imported, sizes
from throwaway import machine, server

from memory.settings import Settings

ROOT = Path(__file__).resolve().parent.parent.parent
CLIENTS = ("claude", "codex", "opencode")
GIVE_UP_SECONDS = 120.0
LOOK_SECONDS = 0.02
SESSION = "0a000000-0000-4000-8000-00000000000a"


def appended(home: Path, word: str) -> None:
    """Append a prompt to a transcript of Claude Code, as the client does."""
    path = home / ".claude" / "projects" / "-home-dev-bench" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    now = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
    row = {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/dev/bench",
        "sessionId": SESSION,
        "version": "2.1.197",
        "type": "user",
        "message": {"role": "user", "content": f"please look for {word} at once"},
        "uuid": f"{word[-8:]}-0000-4000-8000-000000000000",
        "timestamp": now,
    }
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")


def seconds_until_found(home: Path, find: Callable[[str], bool], rounds: int) -> list[float]:
    """Return the seconds from each appended row until it is found."""
    taken = []
    for number in range(rounds):
        word = f"zebra{time.time_ns() % 10**8:08d}"
        time.sleep(3 + number % 3)  # so that what came before has settled
        began = time.perf_counter()
        appended(home, word)
        while not find(word):
            if time.perf_counter() - began > GIVE_UP_SECONDS:
                break
            time.sleep(LOOK_SECONDS)
        taken.append(time.perf_counter() - began)
    return taken


class Theirs:
    """agentsview over one home."""

    def __init__(self, program: Path, home: Path) -> None:
        """Remember both; nothing is started yet."""
        self._program = str(program)
        self._environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = int(probe.getsockname()[1])

    def run(self, *arguments: str, **environment: str) -> str:
        """Run a command to its end and return what it printed."""
        done = subprocess.run(
            [self._program, *arguments],
            env={**self._environment, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout

    def sync(self) -> float:
        """Import without its server and return the seconds."""
        began = time.perf_counter()
        self.run("sync", AGENTSVIEW_NO_DAEMON="1")
        return time.perf_counter() - began

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Let its server watch until the block ends."""
        process = subprocess.Popen(
            [self._program, "serve", "--no-browser", "--port", str(self._port)],
            env=self._environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for(lambda: is_open(self._port))
            time.sleep(10)  # its first look at everything
            yield
        finally:
            process.terminate()
            process.wait()

    def finds(self, word: str) -> bool:
        """Tell whether a search of its server finds the word."""
        answer = json.loads(self.run("session", "search", word, "--include-one-shot", "--json"))
        return bool(answer["matches"])


class Ours:
    """The importers' watch over one home, and a server of the tools to search with."""

    def __init__(self, home: Path, settings: Settings) -> None:
        """Remember both; nothing is started yet."""
        self._environment = {**environment_of(settings), "HOME": str(home)}

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Let the watch run until the block ends."""
        errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed below
        process = subprocess.Popen(
            [sys.executable, "-m", "importers", "--watch", "--json"],
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        tools = subprocess.Popen(
            [sys.executable, "-m", "memory.mcp_server"],
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        try:
            if process.stdout is None or tools.stdin is None or tools.stdout is None:
                raise AssertionError
            process.stdout.readline()  # the first pass is over
            opening = {"protocolVersion": "2025-06-18", "capabilities": {}}
            self._tools = tools
            self._ask("initialize", {**opening, "clientInfo": {"name": "bench", "version": "1"}})
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            if tools.stdin is not None:
                tools.stdin.close()
            tools.wait()
            process.wait()
            errors.close()

    def finds(self, word: str) -> bool:
        """Tell whether a search by the tools finds the word."""
        given = {"name": "search_history", "arguments": {"query": word}}
        answer = json.loads(self._ask("tools/call", given)["content"][0]["text"])
        if answer["is_error"]:
            raise SystemExit(answer["error"])
        return bool(answer["hits"])

    def _ask(self, method: str, params: Mapping[str, Any]) -> Any:
        tools = self._tools
        if tools.stdin is None or tools.stdout is None:
            raise AssertionError
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        tools.stdin.write(json.dumps(message).encode() + b"\n")
        tools.stdin.flush()
        return json.loads(tools.stdout.readline())["result"]


def is_open(port: int) -> bool:
    """Tell whether something listens at a port of this machine."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait_for(is_so: Callable[[], bool]) -> None:
    """Ask again and again until it is so. Raises SystemExit after GIVE_UP_SECONDS."""
    began = time.perf_counter()
    while not is_so():
        if time.perf_counter() - began > GIVE_UP_SECONDS:
            raise SystemExit("agentsview's server did not start")
        time.sleep(LOOK_SECONDS)


def row(name: str, theirs: str, ours: str) -> None:
    """Print one line of the table."""
    print(f"{name:44}{theirs:>14}{ours:>14}")


def median(times: list[float]) -> str:
    """Return the median and the largest of some seconds."""
    return f"{statistics.median(times):.2f} / {max(times):.2f}"


def main() -> None:
    """Measure both and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("program", type=Path)
    parser.add_argument("--bytes", type=size_of, default=size_of("200M"), dest="size")
    parser.add_argument("--files", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    given.client, given.skip_index, given.no_split = list(CLIENTS), False, True
    with (
        tempfile.TemporaryDirectory(prefix="shared-memory-beside-") as folder,
        server() as settings,
    ):
        home = Path(folder, "ours")
        generate(home, size=given.size, files=given.files)
        other = Path(shutil.copytree(home, Path(folder, "theirs")))
        files, size = sizes(home, CLIENTS)
        print(machine())
        theirs, ours = Theirs(given.program, other), Ours(home, settings)
        taken, again = theirs.sync(), theirs.sync()
        found = imported(home, settings, given)
        whole = found["seconds"] + found["index"]
        print(
            f"{size / 1e6:.1f} MB, {files} files; load {os.getloadavg()[0]:.1f} after the imports"
        )
        row("", "agentsview", "ours")
        row("import, MB/s", f"{size / 1e6 / taken:.1f}", f"{size / 1e6 / found['seconds']:.1f}")
        row("import with the search index, MB/s", "the same", f"{size / 1e6 / whole:.1f}")
        row("import, files/s", f"{files / taken:.1f}", f"{files / found['seconds']:.1f}")
        row("nothing changed, s", f"{again:.2f}", f"{found['again'][0]:.2f}")
        with theirs.serving():
            their_times = seconds_until_found(other, theirs.finds, given.rounds)
        with ours.serving():
            our_times = seconds_until_found(home, ours.finds, given.rounds)
        row("append to findable, s, median / most", median(their_times), median(our_times))


if __name__ == "__main__":
    main()
