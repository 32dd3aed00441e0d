"""The errors of the ledger, one tree.

LedgerError                 internal
├── InvalidInput            invalid_argument (also bad_cursor, bad_timestamp, empty_query, too_large)
├── NotFound                not_found
├── Conflict                conflict
├── Credential              credential
├── AppendOnly              append_only
├── Unavailable             unavailable (also auth_failed, too_many_connections, busy …)
├── SchemaMismatch          schema_missing (also schema_outdated, schema_newer, schema_unknown)
└── ServerFailure           server_failed (also port_taken, disk_full, no_binaries, server_stopped …)

A class's docstring is its default message. ``code`` is for programs, the message for people and
models: it says what to do next, by a command that works as it is typed on this machine, and never
repeats a secret.
"""

from collections.abc import Mapping
from typing import ClassVar

from memory.program import typed

__all__ = [
    "AppendOnly",
    "Conflict",
    "Credential",
    "InvalidInput",
    "LedgerError",
    "NotFound",
    "SchemaMismatch",
    "ServerFailure",
    "Unavailable",
]


class LedgerError(Exception):
    """Something went wrong inside the ledger; the log of this process says more."""

    default_code: ClassVar[str] = "internal"

    def __init__(
        self,
        message: str = "",
        *,
        code: str = "",
        details: Mapping[str, object] | None = None,
    ) -> None:
        """Keep the message, the code and what else the caller may show (JSON-safe values)."""
        super().__init__(typed(message or self.__doc__ or ""))
        self.code = code or self.default_code
        self.details: Mapping[str, object] = details or {}


class InvalidInput(LedgerError):
    """An argument is not what this call takes."""

    default_code = "invalid_argument"


class NotFound(LedgerError):
    """Nothing in the ledger has this id."""

    default_code = "not_found"


class Conflict(LedgerError):
    """Something else stands there already."""

    default_code = "conflict"


class Credential(LedgerError):
    """The text holds a credential, so nothing was stored; take it out and call again."""

    default_code = "credential"


class AppendOnly(LedgerError):
    """The ledger is append-only: entries are never changed or removed."""

    default_code = "append_only"


class Unavailable(LedgerError):
    """The database cannot be reached; start it with `memory pg start`, or check DATABASE_URL."""

    default_code = "unavailable"


class SchemaMismatch(LedgerError):
    """The database holds no ledger yet; run `memory setup --no-import`, or start the MCP server."""

    default_code = "schema_missing"


class ServerFailure(LedgerError):
    """The embedded PostgreSQL did not start; its log says why."""

    default_code = "server_failed"
