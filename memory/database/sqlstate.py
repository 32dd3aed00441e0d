"""Driver errors become the ledger's own, told apart by SQLSTATE alone."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from asyncpg import InterfaceError as AsyncpgInterfaceError
from asyncpg import PostgresError
from sqlalchemy.exc import DBAPIError, InterfaceError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from memory.database.unreachable import unreachable
from memory.errors import (
    AppendOnly,
    Conflict,
    InvalidInput,
    LedgerError,
    SchemaMismatch,
    Unavailable,
)
from memory.settings import Settings

__all__ = ["is_transient", "sqlstate_of", "translated"]

# 23505 among them: whoever lost a race for a unique key finds the winner's row on the next try.
_TRANSIENT: Final = frozenset({"40001", "40P01", "23505"})

# SQLSTATE, or its class of two characters, to (error, code, message); empty = the error's own.
_SCHEMA: Final = (SchemaMismatch, "", "")
_AUTH: Final = (
    Unavailable,
    "auth_failed",
    "The database refused the user or password; check DATABASE_URL.",
)
_NO_ENTRY: Final = (
    Unavailable,
    "auth_failed",
    "The database lets this user not in from here; see sslmode in DATABASE_URL, or its pg_hba.conf.",
)
_VALUE: Final = (
    InvalidInput,
    "",
    "The database refused a value; shorten or simplify the argument.",
)
_BUSY: Final = (Unavailable, "busy", "Other writers were in the way; try again.")
_GONE: Final = (Unavailable, "", "")
_ERRORS: Final[Mapping[str, tuple[type[LedgerError], str, str]]] = {
    "23001": (AppendOnly, "", ""),
    "23505": (
        Conflict,
        "",
        "Another writer appended the same thing at the same moment; try again.",
    ),
    "3F000": _SCHEMA,
    "42P01": _SCHEMA,
    "42703": _SCHEMA,
    "42P07": (
        SchemaMismatch,
        "schema_unknown",
        "Tables with the ledger's names but no version stand here; use another database.",
    ),
    "42501": (
        LedgerError,
        "permission_denied",
        "The database role lacks the right for this; see MEMORY_OWNER_URL in the README.",
    ),
    "28P01": _AUTH,
    "28000": _NO_ENTRY,
    "3D000": (
        Unavailable,
        "no_database",
        "The database named in DATABASE_URL does not exist; create it first.",
    ),
    "53300": (
        Unavailable,
        "too_many_connections",
        "The database has no free connection; close some clients, or raise max_connections.",
    ),
    "53100": (Unavailable, "disk_full", "The database's disk is full; free some space."),
    "57P03": (Unavailable, "starting", "The database is starting or recovering; try again soon."),
    "55P03": _BUSY,
    "57014": (Unavailable, "too_slow", "The database took too long and stopped; narrow the call."),
    "40001": _BUSY,
    "40P01": _BUSY,
    "22": _VALUE,
    "23": _VALUE,
    "54": _VALUE,
    "08": _GONE,
    "57": _GONE,
    "58": _GONE,
    "": _GONE,
}


def sqlstate_of(error: BaseException) -> str:
    """Return the SQLSTATE of a driver's error, or an empty string."""
    origin = getattr(error, "orig", None) or error
    state = getattr(origin, "sqlstate", None)
    if isinstance(state, str):
        return state
    first = origin.args[0] if origin.args else None  # pg8000 keeps a dict of fields
    return str(first.get("C", "")) if isinstance(first, dict) else ""


def is_transient(error: BaseException) -> bool:
    """Tell whether the same transaction may succeed when it is run again."""
    return sqlstate_of(error) in _TRANSIENT


@contextmanager
def translated(settings: Settings | None = None, *, is_owner: bool = False) -> Iterator[None]:
    """Raise the ledger's error in place of a driver's.

    Settings, and whether the connection is the owner's, say what to do when there is none.
    """
    try:
        yield
    except LedgerError:
        raise
    except PoolTimeout:
        raise Unavailable(
            "All database connections of this process are in use; try again, or raise PG_POOL_SIZE.",
            code="too_many_connections",
        ) from None
    except (DBAPIError, PostgresError) as error:
        raise _by_state(error, settings, is_owner=is_owner) from error
    except (OSError, TimeoutError, InterfaceError, AsyncpgInterfaceError) as error:
        raise unreachable(error, settings, is_owner=is_owner) from error
    except SQLAlchemyError as error:
        raise LedgerError from error


def _by_state(error: BaseException, settings: Settings | None, *, is_owner: bool) -> LedgerError:
    """Return the ledger's error for a driver's; nothing of its text is kept, it may hold user data."""
    state = sqlstate_of(error)
    for prefix in (state, state[:2]):
        if prefix in _ERRORS:
            kind, code, message = _ERRORS[prefix]
            if (kind, code) == _GONE[:2]:
                return unreachable(error, settings, is_owner=is_owner)
            return kind(message, code=code)
    return LedgerError(f"The database failed with SQLSTATE {state}; its log says more.")
