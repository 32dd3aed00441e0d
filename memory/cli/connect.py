"""The commands that connect the three clients to this ledger."""

import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from rich.text import Text

from memory.cli.output import Json, console, print_json
from memory.settings import Settings

__all__ = ["NAME", "Connection", "connect", "connections", "show_connections"]

NAME: Final = "shared-memory"
"""The name under which the clients know the server."""

# -P: Python must not take a folder called memory in the client's directory for ours.
_ARGUMENTS: Final = ("-P", "-m", "memory.mcp_server")
_PASSED: Final = (
    "MEMORY_LEDGER",
    "MEMORY_MACHINE",
    "MEMORY_OWNER_URL",
    "MEMORY_PG_BIN",
    "MEMORY_PG_PORT",
    "MEMORY_USE_EMBEDDINGS",
    "PG_MAX_OVERFLOW",
    "PG_POOL_SIZE",
)
_SECRET: Final = frozenset({"DATABASE_URL", "MEMORY_OWNER_URL"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """How one client is connected: its name, the command to type, and what to know about it."""

    client: str
    command: str
    about: str


def connect(*, as_json: Json = False) -> None:
    """Print the commands that connect the clients."""
    found = connections(os.environ)
    if as_json:
        print_json({"connections": [_facts(each) for each in found]})
    else:
        show_connections(found)


def connections(
    environment: Mapping[str, str], *, python: str = sys.executable
) -> list[Connection]:
    """Return each client's command for the ledger that this environment names.

    An address with a password stands there as the variable it comes from, to be filled in by the
    shell. Flags as Claude Code 2.1.197, Codex 0.171.0 and OpenCode 1.18.33 take them.
    """
    server = shlex.join([python, *_ARGUMENTS])
    given = _environment(environment)

    def options(flag: str) -> str:
        return " ".join(f"{flag} {name}={_written(name, value)}" for name, value in given.items())

    return [
        Connection(
            client="Claude Code",
            command=f"claude mcp add -s user {NAME} {options('-e')} -- {server}",
            about="For every project; with -s project it is written to .mcp.json of this one.",
        ),
        Connection(
            client="Codex",
            command=f"codex mcp add {NAME} {options('--env')} -- {server}",
            about="Written to ~/.codex/config.toml.",
        ),
        Connection(
            client="OpenCode",
            command=f"opencode mcp add {NAME} {options('--env')} -- {server}",
            about="Written to the user's opencode.json, so for every project.",
        ),
    ]


def show_connections(found: list[Connection]) -> None:
    """Print the commands for people, each on a line of its own to be copied."""
    screen = console()
    for each in found:
        screen.print(Text.assemble((each.client, "bold"), (f"  {each.about}", "dim")))
        screen.print(Text(f"  {each.command}"))


def _environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what the server has to be told: Codex passes nothing else on, the others everything.

    DATABASE_URL is always among it, empty for the embedded server: a project's own shell may hold
    another application's address under that name.
    """
    told = {"DATABASE_URL": environment.get("DATABASE_URL", "").strip()}
    home = Settings.from_environment(environment).home
    bare = {name: environment[name] for name in ("HOME",) if name in environment}
    if home != Settings.from_environment(bare).home:
        told["MEMORY_HOME"] = str(home)
    return told | {name: environment[name] for name in _PASSED if environment.get(name)}


def _written(name: str, value: str) -> str:
    return f'"${name}"' if value and name in _SECRET else shlex.quote(value) if value else ""


def _facts(each: Connection) -> dict[str, Any]:
    return {"client": each.client, "command": each.command, "about": each.about}
