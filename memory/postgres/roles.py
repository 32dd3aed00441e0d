"""Roles, databases and their rights, set so that a second time changes nothing."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from pg8000 import native

from memory.errors import InvalidInput, ServerFailure
from memory.postgres.home import APPLICATION, DATABASE, OWNER, Home
from memory.postgres.scram import verifier
from memory.postgres.server import Server

__all__ = ["add_database", "check_name", "set_up"]

_LONGEST_NAME: Final = 63  # bytes; PostgreSQL cuts longer names
_CONNECT_TIMEOUT: Final = 30.0
_KEPT: Final = frozenset({"postgres", "template0", "template1"})
_OTHER_DATABASES: Final = (
    "SELECT datname FROM pg_database "
    "WHERE datallowconn AND NOT datistemplate AND datname NOT IN ('postgres', :name)"
)


def set_up(home: Home, server: Server) -> None:
    """Make the application's role and its database, and bring vector up to date everywhere."""
    with _connection(home, server, "postgres") as connection:
        exists = connection.run("SELECT 1 FROM pg_roles WHERE rolname = :name", name=APPLICATION)
        verb = "ALTER" if exists else "CREATE"
        # A verifier, not the password: no log and no statistics view ever sees the password.
        connection.run(
            f"{verb} ROLE {APPLICATION} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION "
            f"NOBYPASSRLS PASSWORD {native.literal(verifier(home.password(APPLICATION)))}"
        )
        for name in ("postgres", "template1"):
            connection.run(f"REVOKE ALL ON DATABASE {name} FROM PUBLIC")
        others = [row[0] for row in connection.run(_OTHER_DATABASES, name=DATABASE)]
    add_database(home, server, DATABASE)
    for name in others:
        _update_vector(home, server, name)


def add_database(home: Home, server: Server, name: str) -> None:
    """Make a database of the owner's, with vector, to which the application may connect."""
    quoted = native.identifier(name)
    with _connection(home, server, "postgres") as connection:
        if not connection.run("SELECT 1 FROM pg_database WHERE datname = :name", name=name):
            connection.run(f"CREATE DATABASE {quoted} OWNER {OWNER}")
        connection.run(f"REVOKE ALL ON DATABASE {quoted} FROM PUBLIC")
        connection.run(f"GRANT CONNECT ON DATABASE {quoted} TO {APPLICATION}")
    with _connection(home, server, name) as connection:
        connection.run("SET client_min_messages = warning")
        connection.run("CREATE EXTENSION IF NOT EXISTS vector")
        connection.run("ALTER EXTENSION vector UPDATE")
        connection.run("REVOKE CREATE ON SCHEMA public FROM PUBLIC")


def _update_vector(home: Home, server: Server, name: str) -> None:
    """Bring a database's vector up to the programs' version, if it has vector at all."""
    with _connection(home, server, name) as connection:
        if connection.run("SELECT 1 FROM pg_extension WHERE extname = 'vector'"):
            connection.run("SET client_min_messages = warning")
            connection.run("ALTER EXTENSION vector UPDATE")


def check_name(name: str) -> None:
    """Raise InvalidInput unless a database may be made under this name."""
    if not name or "\0" in name or len(name.encode()) > _LONGEST_NAME or name in _KEPT:
        raise InvalidInput(
            f"{name[:80]!r} cannot be the name of a database: it takes 1 to {_LONGEST_NAME} bytes, "
            f"and {', '.join(sorted(_KEPT))} are PostgreSQL's own."
        )


@contextmanager
def _connection(home: Home, server: Server, database: str) -> Iterator[native.Connection]:
    try:
        connection = native.Connection(
            OWNER,
            database=database,
            password=home.password(OWNER),
            timeout=_CONNECT_TIMEOUT,
            ssl_context=False,
            application_name="memory set-up",
            **_address(server),
        )
        try:
            yield connection
        finally:
            connection.close()
    except (native.Error, OSError) as error:
        raise _failure(error, home) from error


def _address(server: Server) -> dict[str, str | int]:
    if server.socket_dir is None:
        return {"host": server.host, "port": server.port}
    return {"unix_sock": str(server.socket_dir / f".s.PGSQL.{server.port}")}


def _fields(error: BaseException | None) -> Mapping[str, str]:
    """Return what the server said, which the driver hides when it cannot say good-bye any more."""
    while error is not None:
        if isinstance(error, native.DatabaseError) and isinstance(error.args[0], dict):
            return error.args[0]
        error = error.__cause__ or error.__context__
    return {}


def _failure(error: Exception, home: Home) -> ServerFailure:
    fields = _fields(error)
    state, message = fields.get("C", ""), fields.get("M", str(error))
    details = {"sqlstate": state, "reason": message, "path": str(home.path)}
    if state == "28P01":
        return ServerFailure(
            f"The password in {home.password_file(OWNER)} is not the one of the data in "
            f"{home.data}. Put back the file that belongs to these data, or remove it and start "
            "again: the owner then gets a new password.",
            code="auth_failed",
            details=details,
        )
    if state in {"53100", "58030"}:
        return ServerFailure(
            f"The disk that holds {home.path} is full or fails: {message}. Free some space and "
            "start again; what is missing is then made.",
            code="disk_full",
            details=details,
        )
    if state in {"58P01", "0A000"} and "vector" in message:
        return ServerFailure(
            "These PostgreSQL programs have no pgvector. Install it for them, or unset "
            "MEMORY_PG_BIN to use the package's programs.",
            code="no_binaries",
            details=details,
        )
    return ServerFailure(
        f"The embedded PostgreSQL could not be set up: {message}. Start it again; what is missing "
        "is then made.",
        details=details,
    )
