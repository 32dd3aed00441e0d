"""Where the clients are, and what their files say."""

import os
import re
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from memory.connect.files import Unwritable, read
from memory.connect.jsonc import parse
from memory.connect.server import NAME

__all__ = ["MISREAD", "Configured", "Places", "entry_of", "unreadable"]

MISREAD: Final = (KeyError, RecursionError, TypeError, ValueError)
"""What reading a client's file may raise: it may hold any value anywhere, and at any depth."""


_HANDED_ON: Final = (
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "USER",
)
_CLAUDES: Final = re.compile(r"\$\{(\w+)\}")
_OPENCODES: Final = re.compile(r"\{env:(\w+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The account's folders; ``project`` is None for what holds everywhere.

    ``hooks`` says whether a client is to tell when a turn is over. ``brief`` says whether a session is told at its start what holds, None for as it is. ``plugin`` is
    the file of the OpenCode plugin, None where this installation has none.
    """

    home: Path
    environment: Mapping[str, str]
    plugin: Path | None = None
    project: Path | None = None
    brief: bool | None = None
    hooks: bool = True

    @property
    def config(self) -> Path:
        """The folder of settings, as the XDG base directories have it."""
        chosen = self.environment.get("XDG_CONFIG_HOME", "")
        return Path(chosen) if chosen else self.home / ".config"

    def program(self, name: str) -> str | None:
        """Return the path of a program that a shell would find, None when there is none."""
        return shutil.which(name, path=self.environment.get("PATH", os.defpath))

    def json(self, path: Path, *, comments: bool) -> dict[str, Any]:
        """Return what a file of JSON holds, empty when it is not there. Raises Unwritable."""
        text = read(path).text
        try:
            value = parse(text, comments=comments).value if text.strip() else {}
        except MISREAD as error:
            raise unreadable(path, error) from None
        return value if isinstance(value, dict) else {}

    def toml(self, path: Path) -> dict[str, Any]:
        """Return what a file of TOML holds, empty when it is not there. Raises Unwritable."""
        try:
            return tomllib.loads(read(path).text)
        except MISREAD as error:
            raise unreadable(path, error) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """A server as a client's file has it: a command, and its environment.

    ``passed`` names the variables that the client hands on from its own environment.
    """

    path: Path
    command: Sequence[str]
    environment: Mapping[str, str]
    passed: Sequence[str] = ()

    def started_by(self, client: str, environment: Mapping[str, str]) -> dict[str, str]:
        """Return what a server is given when a client with this environment starts it.

        Codex 0.171.0 hands on little by itself, the others everything; Claude Code leaves the name of
        a variable that is not set as it stands, OpenCode puts in nothing (each seen in a run).
        """
        if client == "codex":
            inherited = {name: environment[name] for name in _HANDED_ON if name in environment}
            passed = {name: environment[name] for name in self.passed if name in environment}
            return {**inherited, **self.environment, **passed}

        def value(found: re.Match[str]) -> str:
            missing = found[0] if client == "claude" else ""
            return environment.get(found[1], missing)

        sign = _CLAUDES if client == "claude" else _OPENCODES
        given = {name: sign.sub(value, each) for name, each in self.environment.items()}
        return {**environment, **given}


def entry_of(servers: Any, path: Path, environment: str) -> Configured | None:
    """Read our server's entry among a client's; ``environment`` is how this one calls that.

    None for no entry.

    Raises Unwritable for an entry that is no command.
    """
    found = servers.get(NAME) if isinstance(servers, dict) else None
    if not isinstance(found, dict):
        return None
    command, arguments = found.get("command"), found.get("args", [])
    following = arguments if isinstance(arguments, list) else [arguments]
    words = command if isinstance(command, list) else [command, *following]
    given, passed = found.get(environment, {}), found.get("env_vars", [])
    is_shaped = isinstance(given, dict) and isinstance(passed, list)
    if not is_shaped or not all(isinstance(each, str) for each in [*words, *given.values()]):
        raise Unwritable(f"{path}: the entry is no command.", code="config_unreadable")
    return Configured(path=path, command=words, environment=given, passed=passed)


def unreadable(path: Path, error: Exception) -> Unwritable:
    """Return the error for a file that its client could not read either."""
    is_deep = isinstance(error, RecursionError)
    reason = "too many brackets inside brackets" if is_deep else error
    return Unwritable(
        f"{path} cannot be read ({reason}), so it is left alone; mend it, then run this again.",
        code="config_unreadable",
    )
