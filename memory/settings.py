"""What the environment says, read once by an entry point and passed down."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from memory import machine
from memory.errors import InvalidInput

__all__ = ["DEFAULT_PORT", "SERVICE_ACCOUNT", "Settings"]

DEFAULT_PORT: Final = 5433
SERVICE_ACCOUNT: Final = "shared-memory"

_UNSET: Final = "${DATABASE_URL}"
_MISSING: Final = (
    "DATABASE_URL is not set here, and this program was connected to the ledger that it names: start"
    " the client, or this program, where it is set. To use the embedded ledger, run `memory connect`"
    " where it is not set."
)
_TRUE: Final = frozenset({"1", "true", "yes", "on"})
_FALSE: Final = frozenset({"", "0", "false", "no", "off"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting of one process.

    ``database_url`` and ``owner_url`` are empty when the embedded server is to be used; ``owner_url``
    is the role that may change the schema, for servers where that is another role.
    ``port_is_pinned`` says that the user named the port, so that no other will do.
    ``leaves_stopped`` is set by programs in the background: they start no embedded server that
    somebody has stopped.
    """

    home: Path
    database_url: str = ""
    owner_url: str = ""
    demo_database_url: str = ""
    ledger: str = "public"
    pg_bin: str = ""
    port: int = DEFAULT_PORT
    port_is_pinned: bool = False
    leaves_stopped: bool = False
    pool_size: int = 10
    max_overflow: int = 10
    pool_is_default: bool = True
    use_embeddings: bool = False
    machine: str = ""
    log_level: str = "WARNING"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> "Settings":
        """Read the settings from environment variables.

        Raises InvalidInput, naming the variable and what it takes, when a value is unusable.
        """
        env = os.environ if environment is None else environment
        home = _home(env)
        return cls(
            home=home,
            database_url=_database_url(env),
            owner_url=env.get("MEMORY_OWNER_URL", "").strip(),
            demo_database_url=env.get("DEMO_DATABASE_URL", "").strip(),
            ledger=_ledger(env.get("MEMORY_LEDGER", "") or "public"),
            pg_bin=env.get("MEMORY_PG_BIN", ""),
            port=_integer(env, "MEMORY_PG_PORT", DEFAULT_PORT, lowest=1024, highest=65535),
            port_is_pinned=bool(env.get("MEMORY_PG_PORT", "").strip()),
            pool_size=_integer(env, "PG_POOL_SIZE", 10, lowest=1, highest=1000),
            max_overflow=_integer(env, "PG_MAX_OVERFLOW", 10, lowest=0, highest=1000),
            pool_is_default=not (env.get("PG_POOL_SIZE") or env.get("PG_MAX_OVERFLOW")),
            use_embeddings=_switch(env, "MEMORY_USE_EMBEDDINGS"),
            machine=env.get("MEMORY_MACHINE", "").strip() or machine.identify(home),
            log_level=_log_level(env.get("MEMORY_LOG_LEVEL", "") or "WARNING"),
        )


def _home(env: Mapping[str, str]) -> Path:
    """Return the folder of all data: MEMORY_HOME, else the account's own place for it."""
    chosen = env.get("MEMORY_HOME", "")
    if chosen:
        return Path(chosen).expanduser().absolute()
    if os.geteuid() == 0:
        return Path("/var/lib") / SERVICE_ACCOUNT
    data = env.get("XDG_DATA_HOME", "")
    return (Path(data) if data else Path.home() / ".local" / "share") / SERVICE_ACCOUNT


def _database_url(env: Mapping[str, str]) -> str:
    """Return the address, empty for the embedded server.

    A client may start a server without the variable that its file hands on. The embedded ledger in
    place of the one that is meant would look like a memory that has lost everything.
    """
    url = env.get("DATABASE_URL", "").strip()
    is_name = url == _UNSET  # as Claude Code leaves it
    if is_name or (not url and _switch(env, "MEMORY_REQUIRE_DATABASE_URL")):
        raise InvalidInput(_MISSING, code="database_url_missing")
    return url


def _integer(env: Mapping[str, str], name: str, default: int, *, lowest: int, highest: int) -> int:
    text = env.get(name, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and lowest <= int(text) <= highest):
        message = f"{name} takes a whole number from {lowest} to {highest}, not {text[:40]!r}."
        raise InvalidInput(message)
    return int(text)


def _switch(env: Mapping[str, str], name: str) -> bool:
    text = env.get(name, "").strip().lower()
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    message = f"{name} takes 1 or 0 (also true, yes, on; false, no, off), not {text[:40]!r}."
    raise InvalidInput(message)


def _ledger(name: str) -> str:
    is_plain = name.isidentifier() and name.isascii() and name == name.lower() and len(name) <= 63
    if is_plain and not name.startswith("pg_"):
        return name
    message = (
        "MEMORY_LEDGER takes a schema name of lower-case letters, digits and _ (at most 63),"
        " not beginning with pg_."
    )
    raise InvalidInput(message)


def _log_level(name: str) -> str:
    level = name.strip().upper()
    if level in {"DEBUG", "INFO", "WARNING", "ERROR"}:
        return level
    message = f"MEMORY_LOG_LEVEL takes DEBUG, INFO, WARNING or ERROR, not {name[:40]!r}."
    raise InvalidInput(message)
