"""The importers as a service manager runs them: which program, told what, and no secret in it."""

import os
import shlex
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

from memory import crud_secret, postgres
from memory.errors import Credential, InvalidInput
from memory.settings import Settings

__all__ = ["PASSED", "SECRETS", "Daemon", "config_home", "daemon_of"]

PASSED: Final = (
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "CODEX_SQLITE_HOME",
    "MEMORY_HOME",
    "MEMORY_LEDGER",
    "MEMORY_LOG_LEVEL",
    "MEMORY_MACHINE",
    "MEMORY_PG_BIN",
    "MEMORY_PG_PORT",
    "MEMORY_USE_EMBEDDINGS",
    "OPENCODE_DB",
    "PG_MAX_OVERFLOW",
    "PG_POOL_SIZE",
    "PI_CODING_AGENT_DIR",
    "PI_CODING_AGENT_SESSION_DIR",
    "PYTHONPATH",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
)
"""What the importers read from the environment and a service manager would not know."""

_ADDRESSES: Final = ("DATABASE_URL", "MEMORY_OWNER_URL")
SECRETS: Final = Path("shared-memory") / "import.env"  # in the folder of configurations


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    """A program, its environment, and the file, mode 0600, with what only its owner may read."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    secrets: Path | None


def config_home(environment: Mapping[str, str], home: Path) -> Path:
    """Return the folder of the user's configurations."""
    return Path(environment.get("XDG_CONFIG_HOME") or home / ".config").absolute()


def daemon_of(environment: Mapping[str, str], home: Path) -> Daemon:
    """Return the watch of this Python with the settings of an environment.

    Raises InvalidInput for a value that no file of a service manager can hold, and Credential for
    a password that is not in the file for such.
    """
    told = {name: environment[name] for name in PASSED if environment.get(name)}
    if "PYTHONPATH" in told:
        parts = told["PYTHONPATH"].split(os.pathsep)
        told["PYTHONPATH"] = os.pathsep.join(str(Path(part).absolute()) for part in parts)
    secrets = config_home(environment, home) / SECRETS
    kept = _names_in(secrets)
    told |= {name: url for name, url in _addresses(environment).items() if name not in (kept or ())}
    for name, value in told.items():
        if not value.isprintable():
            raise InvalidInput(f"{name} holds a character that no unit can; unset or change it.")
        if name in _ADDRESSES and _has_password(value):
            raise Credential(_way_to(secrets, name))
        crud_secret.refuse(value, where=name)
    return Daemon(
        command=(sys.executable, "-P", "-m", "importers", "--watch"),
        environment=told,
        secrets=None if kept is None else secrets,
    )


def _addresses(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the addresses that have to be told: the embedded server's own is found without."""
    given = {name: environment[name] for name in _ADDRESSES if environment.get(name)}
    settings = Settings.from_environment(environment)
    return {name: url for name, url in given.items() if not postgres.is_embedded(settings, url)}


def _has_password(url: str) -> bool:
    parts = urlsplit(url)
    return bool(parts.password) or "password" in parse_qs(parts.query)


def _names_in(secrets: Path) -> set[str] | None:
    """Return what the file for secrets sets, None without one. Raises InvalidInput."""
    try:
        facts = secrets.lstat()
    except FileNotFoundError:
        return None
    is_private = stat.S_ISREG(facts.st_mode) and not facts.st_mode & 0o077
    if not is_private or facts.st_uid != os.geteuid():
        raise InvalidInput(
            f"{secrets} has to be a file of yours that nobody else may read: chmod 600"
            f" {shlex.quote(str(secrets))}"
        )
    lines = secrets.read_text("utf-8").splitlines()
    return {line.partition("=")[0].strip() for line in lines if "=" in line}


def _way_to(secrets: Path, name: str) -> str:
    return (
        f"{name} holds a password, which no unit may: units can be read by everybody. Put it into"
        f" a file of your own, then install again: mkdir -p {shlex.quote(str(secrets.parent))} &&"
        f" (umask 077; printf '{name}=%s\\n' \"${name}\" >> {shlex.quote(str(secrets))})"
    )
