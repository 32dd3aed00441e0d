"""The Claude Code plugin starts what connecting would start."""

import json
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from memory.connect.claude import EVENTS

PLUGIN = Path(__file__).resolve().parent.parent / "clients" / "claude-plugin"
REQUEST = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "claude-code", "version": "2"},
    },
}


def manifest(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((PLUGIN / name).read_text("utf-8"))
    return found


def test_the_plugin_has_the_hooks_and_the_version_of_this_program() -> None:
    assert set(manifest("hooks/hooks.json")["hooks"]) == set(EVENTS)
    plugin = manifest(".claude-plugin/plugin.json")
    assert plugin["version"] == version("shared-memory")
    # Longer names than 64 characters break a session of some providers.
    tool = (
        f"mcp__plugin_{plugin['name']}_{next(iter(plugin['mcpServers']))}__inspect_project_history"
    )
    assert len(tool) <= 60


def test_the_plugins_server_answers_from_an_installation_in_the_path(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    copy = tmp_path / "cache" / "plugin"  # as Claude Code copies an installed one
    shutil.copytree(PLUGIN, copy)
    programs = str(Path(sys.executable).parent)
    done = subprocess.run(
        [copy / "run", "server"],
        input=json.dumps(REQUEST) + "\n",
        env={**environment, "PATH": f"{programs}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert json.loads(done.stdout)["result"]["serverInfo"]["name"] == "shared-memory"


def test_a_plugin_without_the_program_says_so_and_lets_hooks_pass(tmp_path: Path) -> None:
    copy = tmp_path / "plugin"
    shutil.copytree(PLUGIN, copy)
    bare = {"PATH": "/usr/bin:/bin"}
    server = subprocess.run([copy / "run", "server"], env=bare, capture_output=True, check=False)
    assert server.returncode == 127
    assert b"scripts/up" in server.stderr
    hook = subprocess.run([copy / "run", "hook"], env=bare, capture_output=True, check=False)
    assert (hook.returncode, hook.stdout) == (0, b"")
