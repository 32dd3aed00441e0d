"""The documents say what is so: their commands are run, their names are looked up."""

import json
import os
import re
import shlex
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from memory.cli.app import COMMANDS
from memory.cli.connect import connections

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = Path(sys.executable).parent
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
CLIENTS = ("claude ", "codex ", "opencode ")
DOCUMENTS = sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").rglob("*.md"))


def run(script: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run lines of a document in the root, with the programs of the Python that runs the tests."""
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script.replace(".venv/bin/", f"{PROGRAMS}/")],
        env=environment,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


def runnable(block: str) -> str:
    """Return a block without what a test cannot do: reach the network, start a client."""
    lines = block.splitlines()
    return "\n".join(line for line in lines if not line.startswith((*CLIENTS, "scripts/up")))


@pytest.mark.parametrize("block", [block for block in BLOCKS if runnable(block)])
def test_every_command_in_the_readme_runs(block: str, environment: dict[str, str]) -> None:
    done = run(runnable(block), environment)
    assert done.returncode == 0, done.stdout + done.stderr


def test_up_ends_in_the_set_up_that_the_tests_run() -> None:
    assert "scripts/up" in "".join(BLOCKS)
    last = (ROOT / "scripts" / "up").read_text("utf-8").splitlines()[-1]
    assert last.startswith('exec "$venv/bin/memory" setup ')


def client_lines() -> list[str]:
    lines = "\n".join(BLOCKS).splitlines()
    return [line for line in lines if line.startswith(CLIENTS)]


def test_the_clients_commands_are_those_that_connect_prints() -> None:
    python = str(ROOT / ".venv" / "bin" / "python")
    printed = [each.command for each in connections({"HOME": os.environ["HOME"]}, python=python)]
    written = [line.replace('"$PWD/.venv/bin/python"', python) for line in client_lines()]
    assert written == printed


@pytest.mark.parametrize("line", client_lines())
def test_the_server_that_a_client_is_told_to_start_shows_the_tools_of_the_readme(
    line: str, environment: dict[str, str]
) -> None:
    words = shlex.split(line.replace("$PWD/.venv/bin", str(PROGRAMS)))
    command = words[words.index("--") + 1 :]
    requests = (
        {
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "documents", "version": "1"},
            },
        },
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    )
    done = subprocess.run(
        command,
        input="".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in requests),
        env=environment,
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    answers = {each["id"]: each for each in map(json.loads, done.stdout.splitlines())}
    assert answers[1]["result"]["serverInfo"]["name"] == "shared-memory"
    listed = {tool["name"] for tool in answers[2]["result"]["tools"]}
    table = README.partition("## Tools")[2].partition("##")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == listed


def test_documented_commands_are_those_there_are() -> None:
    there = set(COMMANDS) | {each.name for each in entry_points(group="memory.commands")}
    text = "\n".join(path.read_text("utf-8") for path in DOCUMENTS)
    named = set(re.findall(r"(?:`|bin/)memory ([a-z]+)", text))
    assert named == there


def test_every_setting_is_documented() -> None:
    source = (ROOT / "memory" / "settings.py").read_text("utf-8")
    settings = set(re.findall(r"env(?:\.get\(|, )\"([A-Z][A-Z_]+)\"", source)) - {"XDG_DATA_HOME"}
    assert {"DATABASE_URL", "MEMORY_HOME", "PG_POOL_SIZE"} <= settings
    assert {name for name in settings if f"`{name}`" not in README} == set()


def test_the_front_pages_are_short() -> None:
    for name in ("README.md", "ARCHITECTURE.md"):
        assert len((ROOT / name).read_text("utf-8").splitlines()) <= 150


def test_links_lead_somewhere() -> None:
    for path in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#]+)\)", path.read_text("utf-8")):
            if not target.startswith("https://"):
                assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_decisions_are_numbered_without_gaps() -> None:
    numbers = [int(path.name[:4]) for path in sorted((ROOT / "docs" / "decisions").glob("*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))
