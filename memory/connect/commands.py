"""How the clients are connected by hand: their own commands, and the JSON that any other takes."""

import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from memory.connect.server import NAME, Server, server_of

__all__ = ["Connection", "connections", "generic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """How one client is connected: its name, the command to type, and what to know about it."""

    client: str
    command: str
    about: str


def connections(
    environment: Mapping[str, str], *, python: str = sys.executable
) -> list[Connection]:
    """Return each client's command for the ledger that this environment names.

    A variable with a password is handed on by its name, as each client does it; flags as Claude Code
    2.1.332, Codex 0.171.0 and OpenCode 1.18.33 take them.
    """
    server = server_of(environment, python=python)
    about = "Written to ~/.codex/config.toml"
    if server.passed:
        about += f"; add env_vars = {json.dumps(list(server.passed))} to the server's table there"
    return [
        Connection(
            client="Claude Code",
            command=f"claude mcp add -s user {_added(server, '-e', '${%s}')}",
            about="For every project; with -s project it is written to .mcp.json of this one.",
        ),
        Connection(
            client="Codex",
            command=f"codex mcp add {_added(server, '--env', '')}",
            about=f"{about}.",
        ),
        Connection(
            client="OpenCode",
            command=f"opencode mcp add {_added(server, '--env', '{env:%s}')}",
            about="Written to the user's opencode.json, so for every project.",
        ),
    ]


def generic(server: Server) -> str:
    """Return the JSON that other clients take, several lines."""
    entry = {"command": server.python, "args": server.arguments, "env": dict(server.environment)}
    return json.dumps({"mcpServers": {NAME: entry}}, indent=2, ensure_ascii=False)


def _added(server: Server, flag: str, reference: str) -> str:
    """Return what follows a client's `mcp add`; ``reference`` is how it writes a variable."""
    options = {
        name: shlex.quote(value) if value else "" for name, value in server.environment.items()
    }
    if reference:
        options |= {name: shlex.quote(f"{reference % name}") for name in server.passed}
    given = " ".join(f"{flag} {name}={value}" for name, value in options.items())
    command = shlex.join([server.python, *server.arguments])
    return " ".join(filter(None, (NAME, given, "--", command)))
