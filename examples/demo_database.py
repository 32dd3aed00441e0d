"""The demo's own database: chosen with care, made anew, and never anybody's ledger."""

from dataclasses import dataclass, replace
from typing import Any, Final

import asyncpg

from memory import postgres
from memory.database import Address, parse
from memory.database.schema import init_schema
from memory.errors import InvalidInput
from memory.settings import Settings

__all__ = ["DATABASE", "fresh_database"]

DATABASE: Final = "memory_demo"

_MARK: Final = "made by the demo of Shared Memory, which resets it"
_LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1", ""})
_KEPT: Final = frozenset({"memory", "postgres", "template0", "template1"})


@dataclass(frozen=True, slots=True)
class _Target:
    """Where the demo's database is: for the servers, and for the role that makes it."""

    application: str
    owner: str

    @property
    def name(self) -> str:
        return parse(self.application).url.database or ""


async def fresh_database(settings: Settings) -> Settings:
    """Make the demo's database anew and return the settings that name it, schema included.

    That is DEMO_DATABASE_URL, else `memory_demo` on the embedded server. Raises InvalidInput
    when it is the ledger itself, or holds what no demo has made.
    """
    target = _given(settings) if settings.demo_database_url else _embedded(settings)
    connection = await _connect(target.owner, database="postgres")
    try:
        await _refuse_others(connection, target)
        await connection.execute(f'DROP DATABASE IF EXISTS "{target.name}" WITH (FORCE)')
        if settings.demo_database_url:
            await connection.execute(f'CREATE DATABASE "{target.name}"')
        else:
            postgres.ensure_database(settings, target.name)
        await connection.execute(f"COMMENT ON DATABASE \"{target.name}\" IS '{_MARK}'")
    finally:
        await connection.close()
    demo = replace(settings, database_url=target.application, owner_url=target.owner)
    await init_schema(demo)
    return demo


def _embedded(settings: Settings) -> _Target:
    # The embedded server's, wherever DATABASE_URL points: that may be another program's database.
    ours = replace(settings, database_url="")
    postgres.ensure(ours)
    return _Target(
        application=postgres.application_url(ours, database=DATABASE),
        owner=postgres.owner_url(ours, database=DATABASE),
    )


def _given(settings: Settings) -> _Target:
    demo = parse(settings.demo_database_url, variable="DEMO_DATABASE_URL")
    name = demo.url.database or ""
    if name in _KEPT or not name.replace("_", "").isalnum():
        raise InvalidInput(
            f"DEMO_DATABASE_URL names the database {name!r}, and the demo resets its database; name"
            f" one of its own, such as {DATABASE}."
        )
    if settings.database_url and _place(demo) == _place(parse(settings.database_url)):
        raise InvalidInput(
            "DEMO_DATABASE_URL and DATABASE_URL name the same database, and the demo resets its"
            f" database; name one of its own, such as {DATABASE}."
        )
    url = settings.demo_database_url
    if postgres.is_embedded(settings, url):
        return _Target(application=url, owner=postgres.owner_url(settings, database=name))
    return _Target(application=url, owner=url)


def _place(address: Address) -> tuple[str, int, str]:
    url = address.url
    host = url.host or address.socket_folder
    return ("local" if host in _LOCAL else host, url.port or 5432, url.database or "")


async def _refuse_others(connection: Any, target: _Target) -> None:
    """Raise InvalidInput when the database exists and holds tables that no demo has made."""
    mark = await connection.fetchrow(
        "SELECT shobj_description(oid, 'pg_database') AS words FROM pg_database WHERE datname = $1",
        target.name,
    )
    if mark is None or mark["words"] == _MARK:
        return
    inside = await _connect(target.owner, database=target.name)
    try:
        tables = await inside.fetchval(
            "SELECT count(*) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace"
            " WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema')"
        )
    finally:
        await inside.close()
    if tables:
        raise InvalidInput(
            f"The database {target.name} holds tables that no demo has made. Name another in"
            " DEMO_DATABASE_URL, or drop it yourself."
        )


async def _connect(url: str, *, database: str) -> Any:
    address = parse(url)
    plain = address.url.set(database=database).render_as_string(hide_password=False)
    options = {"host": address.socket_folder} if address.socket_folder else {}
    return await asyncpg.connect(plain, ssl=address.ssl_mode or None, **options)
