"""What the ledger's connections hold on to, and what they come through."""

import asyncio
import socket
import ssl
from dataclasses import replace
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from sqlalchemy import make_url, text

from memory import postgres
from memory.database import Database, Transaction, connection
from memory.database.address import parse
from memory.database.schema import owner_engine
from memory.errors import InvalidInput, SchemaMismatch, Unavailable
from memory.settings import Settings

pytest_plugins = ("home_fixtures",)

# Made by openssl req -x509 -newkey ec -days 36500 -subj /CN=db.example; nobody has its key.
ROOT_CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBgTCCASegAwIBAgIUabNYZGv/fZRqlHcXPtmbUWEZyd8wCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKZGIuZXhhbXBsZTAgFw0yNjExMjkyMDE0MTJaGA8yMTI2MTEw
NTIwMTQxMlowFTETMBEGA1UEAwwKZGIuZXhhbXBsZTBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABAZz1vR67e4H+lUBNek3zCZ87YQMYQAuvtcPecKnsGIm5YxaM+Qo
Kiv7Y23z1Tj+B3Dod/yXKA/u3Q1e/I7q26CjUzBRMB0GA1UdDgQWBBSRP4qsD74+
qSerLbsWarHr2NHlBDAfBgNVHSMEGDAWgBSRP4qsD74+qSerLbsWarHr2NHlBDAP
BgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIHpnPa5MY114sa3920yJ
ELFytoVPLmKWHu/KHZkOPx+GAiEA4D6ntAfXdrPLiySdOEgSdSlMzDV8vXreTI/7
DOHZ8kY=
-----END CERTIFICATE-----
"""


async def one(session: Transaction) -> int:
    return int(await session.scalar(text("SELECT 1")) or 0)


# --- the embedded server may stop, and come back elsewhere ---------------------------------------


async def test_an_open_database_starts_the_embedded_server_that_was_stopped(
    home: Settings,
) -> None:
    database = Database(home)
    try:
        assert await database.transact(one) == 1
        assert await asyncio.to_thread(postgres.stop, home)
        assert await database.transact(one) == 1
        assert postgres.state(home) is not None
    finally:
        await database.close()


async def test_an_open_database_follows_the_embedded_server_to_another_port(
    home: Settings,
) -> None:
    database = Database(home)
    try:
        assert await database.transact(one) == 1
        assert await asyncio.to_thread(postgres.stop, home)
        with socket.create_server(("127.0.0.1", home.port)):
            moved = await asyncio.to_thread(postgres.ensure, home)
        assert moved.port != home.port
        assert await database.transact(one) == 1
    finally:
        await database.close()


async def test_a_server_of_the_users_own_is_not_looked_for_elsewhere(running: Settings) -> None:
    url = postgres.application_url(running)
    given = replace(
        running, database_url=make_url(url).set(port=1).render_as_string(hide_password=False)
    )
    database = Database(given, ensure_schema=False)
    with pytest.raises(Unavailable) as raised:
        await database.transact(one)
    assert raised.value.code == "unavailable"
    await database.close()


# --- nothing waits for ever ----------------------------------------------------------------------


async def test_each_connection_bounds_statements_and_locks(database: Database) -> None:
    async def shown(session: Transaction) -> list[str]:
        names = ("statement_timeout", "lock_timeout", "jit")
        return [str(await session.scalar(text(f"SHOW {name}"))) for name in names]

    assert await database.transact(shown) == ["2min", "20s", "off"]


async def test_a_statement_that_takes_too_long_ends_in_an_error(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_STATEMENT_SECONDS", 1)
    database = Database(settings)
    with pytest.raises(Unavailable) as raised:
        await database.transact(lambda session: session.execute(text("SELECT pg_sleep(100)")))
    assert raised.value.code == "too_slow"
    assert await database.transact(one) == 1
    await database.close()


async def test_a_lock_that_nobody_gives_back_ends_in_an_error(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_LOCK_SECONDS", 1)
    url = make_url(settings.owner_url).set(drivername="postgresql")
    holder = await asyncpg.connect(url.render_as_string(hide_password=False))
    await holder.execute("BEGIN; LOCK TABLE entries")
    database = Database(settings)
    try:
        with pytest.raises(Unavailable) as raised:
            await database.transact(lambda s: s.execute(text("SELECT count(*) FROM entries")))
        assert raised.value.code == "busy"
    finally:
        await holder.close()
        await database.close()


# --- a ledger that cannot be used ----------------------------------------------------------------


async def test_a_refused_schema_leaves_no_connection_open(settings: Settings) -> None:
    url = make_url(settings.owner_url).set(drivername="postgresql")
    watcher = await asyncpg.connect(
        url.render_as_string(hide_password=False), server_settings={"application_name": "watcher"}
    )
    await watcher.execute("UPDATE alembic_version SET version_num = 'of_tomorrow'")
    database = Database(settings)
    with pytest.raises(SchemaMismatch) as raised:  # kept: it holds what its frames held
        await database.transact(one)
    assert raised.value.code == "schema_newer"
    open_ones = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND application_name <> 'watcher'"
    )
    deadline = asyncio.get_running_loop().time() + 30
    while await watcher.fetchval(open_ones):
        assert asyncio.get_running_loop().time() < deadline, "a connection stays open"
        await asyncio.sleep(0.05)
    await watcher.close()
    await database.close()


# --- addresses -----------------------------------------------------------------------------------


def test_a_host_in_the_query_is_the_host() -> None:
    address = parse("postgresql://me:secret@/ledger?host=db.example")
    assert (address.url.host, address.socket_folder) == ("db.example", "")
    for url, arguments in (address.asyncpg, address.pg8000):
        assert url.host == "db.example"
        assert not url.query
        assert not {"host", "unix_sock"} & set(arguments)
    assert parse("postgresql://me@other/ledger?host=db.example").url.host == "db.example"


async def test_a_host_that_is_a_folder_is_the_folder_of_a_socket(running: Settings) -> None:
    server = postgres.ensure(running)
    password = make_url(postgres.application_url(running)).password
    url = f"postgresql://memory:{password}@:{server.port}/memory?host={server.socket_dir}"
    given = replace(running, database_url=url)
    database = Database(given, ensure_schema=False)

    async def from_where(session: Transaction) -> Any:
        return await session.scalar(text("SELECT inet_client_addr()"))

    assert await database.transact(from_where) is None  # no address: not over TCP
    await database.close()
    with owner_engine(replace(given, owner_url=url)).connect() as opened:
        assert opened.scalar(text("SELECT inet_client_addr()")) is None


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the file of a certificate that signs itself."""
    file = tmp_path / "my root.pem"
    file.write_text(ROOT_CERTIFICATE, "ascii")
    return file


@pytest.mark.parametrize(
    ("mode", "checks_name"), [("require", False), ("verify-ca", False), ("verify-full", True)]
)
def test_a_root_certificate_is_what_the_server_is_checked_against(
    mode: str, checks_name: bool, root: Path
) -> None:
    file = str(root).replace(" ", "%20")
    address = parse(f"postgresql://me@db.example/ledger?sslmode={mode}&sslrootcert={file}")
    assert address.ssl_root == str(root)
    for context in (address.asyncpg[1]["ssl"], address.pg8000[1]["ssl_context"]):
        assert context.verify_mode is ssl.CERT_REQUIRED
        assert context.check_hostname is checks_name
        [trusted] = context.get_ca_certs()
        assert trusted["subject"] == ((("commonName", "db.example"),),)


def test_without_a_root_certificate_require_encrypts_and_checks_nothing() -> None:
    address = parse("postgresql://me@db.example/ledger?sslmode=require")
    assert address.asyncpg[1]["ssl"] == "require"
    assert address.pg8000[1]["ssl_context"].verify_mode is ssl.CERT_NONE
    assert parse("postgresql://me@db.example/ledger").asyncpg[1] == {}


def test_an_unknown_parameter_is_named_and_the_address_is_not() -> None:
    with pytest.raises(InvalidInput, match="'sslcrl'") as raised:
        parse("postgresql://me:planted@db.example/ledger?sslcrl=x")
    assert "planted" not in str(raised.value)


def test_a_port_that_no_server_can_have_is_refused() -> None:
    with pytest.raises(InvalidInput, match="the port 99999"):
        parse("postgresql://memory@localhost:99999/memory")


async def test_a_ledger_of_another_name_that_is_new_is_told(
    empty_settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    mistyped = Database(replace(empty_settings, ledger="mistyped"))
    try:
        assert await mistyped.transact(one) == 1
    finally:
        await mistyped.close()
    assert "There was no ledger 'mistyped'" in caplog.text
