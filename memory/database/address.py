"""Addresses of databases: one URL in, what each driver takes out.

The application uses asyncpg, Alembic uses pg8000. Both understand different query parameters, so
the few that matter are read here and handed to each driver in its own form.
"""

import ssl
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from memory import postgres
from memory.errors import InvalidInput
from memory.settings import Settings

__all__ = [
    "Address",
    "application_address",
    "application_role",
    "owner_address",
    "parse",
    "search_path",
]

_LAST_PORT: Final = 65_535
_SCHEMES: Final = frozenset(
    {
        "postgres",
        "postgresql",
        "postgresql+asyncpg",
        "postgresql+pg8000",
        "postgresql+psycopg",
        "postgresql+psycopg2",
    }
)
_PARAMETERS: Final = frozenset({"ssl", "sslmode", "sslrootcert", "application_name", "host"})
_NOT_IN_HOSTS: Final = frozenset("@[] ")
"""Signs of a password that was not encoded, or of a bracket that does not end."""

_SSL_MODES: Final = frozenset({"disable", "allow", "prefer", "require", "verify-ca", "verify-full"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A database's address, without driver; its text never shows the password."""

    url: URL
    ssl_mode: str = ""
    ssl_root: str = ""
    application_name: str = "shared-memory"
    socket_folder: str = ""

    def __str__(self) -> str:
        """Return the URL with the password hidden."""
        return self.url.render_as_string(hide_password=True)

    @property
    def asyncpg(self) -> tuple[URL, dict[str, Any]]:
        """The URL and connect arguments for SQLAlchemy's asyncpg dialect."""
        arguments: dict[str, Any] = {}
        if self.ssl_mode:
            secure = self.ssl_mode.startswith("verify") or self.ssl_root
            arguments["ssl"] = self._ssl_context() if secure else self.ssl_mode
        url = self.url.set(drivername="postgresql+asyncpg")
        if self.socket_folder:
            arguments["host"] = self.socket_folder
        return url, arguments

    @property
    def pg8000(self) -> tuple[URL, dict[str, Any]]:
        """The URL and connect arguments for SQLAlchemy's pg8000 dialect."""
        arguments: dict[str, Any] = {"application_name": self.application_name}
        if self.ssl_mode in {"require", "verify-ca", "verify-full"}:
            arguments["ssl_context"] = self._ssl_context()
        if self.socket_folder:
            port = self.url.port or 5432
            arguments["unix_sock"] = f"{self.socket_folder}/.s.PGSQL.{port}"
        return self.url.set(drivername="postgresql+pg8000"), arguments

    def _ssl_context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.ssl_root or None)
        context.check_hostname = self.ssl_mode == "verify-full"
        if not self.ssl_mode.startswith("verify") and not self.ssl_root:
            # `require` alone encrypts and verifies nothing; with a root it verifies, as libpq does.
            context.verify_mode = ssl.CERT_NONE
        return context


def parse(text: str, *, variable: str = "DATABASE_URL") -> Address:
    """Read a database URL.

    Raises InvalidInput, which names the variable and never repeats the URL, when it is unusable.
    """
    url = _read(text, variable)
    query = {
        name: value if isinstance(value, str) else value[-1] for name, value in url.query.items()
    }
    unknown = sorted(set(query) - _PARAMETERS)
    if unknown:
        known = ", ".join(sorted(_PARAMETERS))
        # What follows a ? in a password that was not encoded looks like a parameter, too.
        named = f" {unknown[0]!r}" if unknown[0].isidentifier() and text.count("@") <= 1 else ""
        message = f"{variable} has an unknown parameter{named}; these are understood: {known}."
        raise InvalidInput(message)
    mode = query.get("sslmode") or query.get("ssl") or ""
    mode = {"true": "require", "false": "disable"}.get(mode.lower(), mode.lower())
    if mode and mode not in _SSL_MODES:
        message = f"{variable} has an unknown sslmode; one of {', '.join(sorted(_SSL_MODES))}."
        raise InvalidInput(message)
    host = query.get("host", "")
    if host and not host.startswith("/"):
        url = url.set(host=host)
    return Address(
        url=url.set(query={}, drivername="postgresql"),
        ssl_mode=mode,
        ssl_root=query.get("sslrootcert", ""),
        application_name=query.get("application_name", "shared-memory"),
        socket_folder=host if host.startswith("/") else "",
    )


def _read(text: str, variable: str) -> URL:
    """Return a PostgreSQL URL with a port and a host that may be one. Raises InvalidInput."""
    example = "postgresql://USER:PASSWORD@HOST:5432/DATABASE"
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        url = None
    if url is None or _NOT_IN_HOSTS & set(url.host or "") or _has_stray_words(text):
        message = (
            f"{variable} is no database URL; it looks like {example}, where a password's own"
            " @ / : ? # [ ] and % are written as %40 %2F %3A %3F %23 %5B %5D and %25."
        )
        raise InvalidInput(message)
    if url.port is not None and not 1 <= url.port <= _LAST_PORT:
        # Without an @ it may be a password that no host follows.
        named = f"the port {url.port}" if "@" in text else "a port that cannot be"
        raise InvalidInput(f"{variable} names {named}; ports go from 1 to {_LAST_PORT}.")
    if url.drivername not in _SCHEMES:
        message = f"{variable} has to be a PostgreSQL URL such as {example}."
        raise InvalidInput(message)
    return url


def _has_stray_words(text: str) -> bool:
    """Return whether words without a value follow a ?, as of a password that was not encoded."""
    query = (text.partition("@")[2] or text).partition("?")[2]
    return any("=" not in each for each in query.split("&") if each)


def application_address(settings: Settings) -> Address:
    """Return the address that the application connects to; starts the embedded server if it is ours."""
    if settings.database_url:
        return parse(settings.database_url)
    postgres.ensure(settings)
    return parse(postgres.application_url(settings))


def owner_address(settings: Settings) -> Address:
    """Return the address of the role that may change the schema.

    That is MEMORY_OWNER_URL, else the embedded server's own role when the database is there, else
    the role in DATABASE_URL.
    """
    if settings.owner_url:
        return parse(settings.owner_url, variable="MEMORY_OWNER_URL")
    if not settings.database_url:
        postgres.ensure(settings)
        return parse(postgres.owner_url(settings))
    given = parse(settings.database_url)
    if postgres.is_embedded(settings, settings.database_url) and given.url.database:
        return parse(postgres.owner_url(settings, database=given.url.database))
    return given


def application_role(settings: Settings) -> str:
    """Return the name of the role that appends and reads, as it may stand in quotes in SQL.

    Raises InvalidInput for a name with quotes, which no honest role has.
    """
    given = parse(settings.database_url).url.username if settings.database_url else None
    role = given or postgres.APPLICATION
    if "'" in role or '"' in role or "\\" in role:
        raise InvalidInput("DATABASE_URL names a role with quotes in it; use a plain name.")
    return role


def search_path(settings: Settings) -> str:
    """Return the search path of the ledger's schema; pgvector's types stand in ``public``."""
    return "public" if settings.ledger == "public" else f'"{settings.ledger}", public'
