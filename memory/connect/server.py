"""The command that a client starts, and what it has to be told: never a secret."""

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import memory
from memory.database import parse
from memory.errors import InvalidInput
from memory.settings import Settings

__all__ = ["KNOWN", "NAME", "Server", "is_brief", "is_ours", "is_server", "server_of"]

NAME: Final = "shared-memory"
"""The name under which the clients know the server."""

# -P: Python must not take a folder called memory in the client's directory for ours.
_ISOLATED: Final = ("-P", "-m")
_TOLD: Final = (
    "MEMORY_LEDGER",
    "MEMORY_MACHINE",
    "MEMORY_OWNER_URL",
    "MEMORY_PG_BIN",
    "MEMORY_PG_PORT",
    "MEMORY_USE_EMBEDDINGS",
    "PG_MAX_OVERFLOW",
    "PG_POOL_SIZE",
)
_REQUIRED: Final = "MEMORY_REQUIRE_DATABASE_URL"
KNOWN: Final = frozenset({"DATABASE_URL", "MEMORY_HOME", _REQUIRED, *_TOLD})
"""The variables that choose the ledger and how it is used; what stands in a file is this program's."""

_ADDRESSES: Final = frozenset({"DATABASE_URL", "MEMORY_OWNER_URL"})
_IMPORTERS: Final = "importers"
_BRIEF: Final = "memory.brief"
_PROGRAM: Final = "memory-import"
_SERVER: Final = "memory.mcp_server"
_RUNS: Final = re.compile(
    rf"(?:^|[\s/'\"=]){re.escape(_SERVER)}(?=$|[\s'\";])|(?:^|[\s/'\"=])memory-mcp(?=$|[\s'\";])"
)
"""Our server in a word of a command line, which may itself be the line of a shell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """How the MCP server is started.

    ``environment`` may stand in a client's file. ``passed`` names the variables that hold a
    password: a client's file says only that they are handed on. ``hooks`` is the program that hooks
    start, see docs/hooks.md.
    """

    python: str
    environment: Mapping[str, str]
    passed: Sequence[str] = ()
    hooks: Sequence[str] = (_PROGRAM,)

    @property
    def arguments(self) -> list[str]:
        """What follows the command."""
        return [*_ISOLATED, _SERVER]

    def hook(self, client: str) -> str:
        """Return the line of a shell that a client's hook runs, its JSON on standard input."""
        return shlex.join([*self.hooks, "--hook", client, *self._told()])

    def brief(self, client: str) -> str:
        """Return the line of a shell that prints what a session is told when it begins."""
        told = [f"{name}={shlex.quote(value)}" for name, value in self.environment.items()]
        command = [self.python, *_ISOLATED, _BRIEF, f"--client={client}"]
        return " ".join([*told, shlex.join(command)])

    def brief_command(self, client: str) -> list[str]:
        """Return the program that prints what a session is told when it begins."""
        told = [f"{name}={value}" for name, value in self.environment.items()]
        return ["env", *told, self.python, *_ISOLATED, _BRIEF, f"--client={client}"]

    def notify(self, client: str, then: Sequence[str] = ()) -> list[str]:
        """Return the program that a client starts with its JSON as last argument.

        ``then`` is the user's own, which goes on being started with the same JSON.
        """
        ours = [*self.hooks, "--notify", client, *self._told()]
        return [*ours, "--then", *then] if then else ours

    def _told(self) -> list[str]:
        return [
            word for name, value in self.environment.items() for word in ("-e", f"{name}={value}")
        ]


def server_of(environment: Mapping[str, str], *, python: str = sys.executable) -> Server:
    """Return the server of the ledger that this environment names.

    DATABASE_URL is always told, empty for the embedded server: a project's own shell may hold
    another application's address under that name. Where it is only handed on, the server is told
    to do without no other. Codex 0.171.0 gives a server nothing that its file
    does not name, the other clients everything they have.
    """
    told = {"DATABASE_URL": environment.get("DATABASE_URL", "").strip()}
    home = Settings.from_environment(environment).home
    bare = {name: environment[name] for name in ("HOME",) if name in environment}
    if home != Settings.from_environment(bare).home:
        told["MEMORY_HOME"] = str(home)
    told |= {name: environment[name] for name in _TOLD if environment.get(name)}
    passed = [name for name, value in told.items() if name in _ADDRESSES and _has_password(value)]
    open_ones = {name: value for name, value in told.items() if name not in passed}
    if "DATABASE_URL" in passed:
        open_ones[_REQUIRED] = "1"
    return Server(python=python, environment=open_ones, passed=passed, hooks=_hooks(python))


def _hooks(python: str) -> list[str]:
    """Return the quickest way to start a hook: its file, where the importers stand beside us."""
    file = Path(memory.__file__).resolve().parent.parent / _IMPORTERS / "hook.py"
    if file.is_file():
        return [python, "-I", "-S", str(file)]
    return [python, *_ISOLATED, _IMPORTERS]


def is_ours(words: Sequence[str], option: str) -> bool:
    """Return whether a command line starts our importers with this option."""
    if option not in words:
        return False
    program = words[max(0, words.index(option) - 1)]
    return program == _IMPORTERS or program.endswith((f"{_IMPORTERS}/hook.py", _PROGRAM))


def is_server(entry: Any) -> bool:
    """Return whether a client's entry starts our server, whoever wrote it and however long ago."""
    if not isinstance(entry, dict):
        return False
    words: list[Any] = []
    for each in (entry.get("command"), entry.get("args")):
        words += each if isinstance(each, list) else [each]
    return any(isinstance(word, str) and _RUNS.search(word) for word in words)


def is_brief(words: Sequence[str]) -> bool:
    """Return whether a command line prints our brief."""
    return _BRIEF in words


def _has_password(url: str) -> bool:
    """Return whether an address holds a password; one that cannot be read counts as holding one."""
    try:
        return bool(url) and bool(parse(url).url.password)
    except InvalidInput:
        return True
