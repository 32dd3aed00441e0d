import re
from pathlib import Path

import pytest

from memory.database import parse
from memory.drafts import canonical_client, client_names
from memory.errors import InvalidInput
from memory.settings import Settings


def test_an_empty_environment_gives_the_embedded_server_and_the_defaults(tmp_path: Path) -> None:
    settings = Settings.from_environment({"MEMORY_HOME": str(tmp_path)})
    assert (settings.database_url, settings.port, settings.ledger) == ("", 5433, "public")
    assert (settings.pool_size, settings.max_overflow) == (10, 10)
    assert settings.home == tmp_path
    assert not settings.use_embeddings


@pytest.mark.parametrize(
    ("spelling", "on"),
    [("1", True), ("true", True), ("YES", True), ("", False), ("0", False), ("no", False)],
)
def test_embeddings_have_defined_spellings(tmp_path: Path, spelling: str, *, on: bool) -> None:
    environment = {"MEMORY_HOME": str(tmp_path), "MEMORY_USE_EMBEDDINGS": spelling}
    assert Settings.from_environment(environment).use_embeddings is on


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("MEMORY_USE_EMBEDDINGS", "maybe"),
        ("PG_POOL_SIZE", "0"),
        ("PG_POOL_SIZE", "ten"),
        ("PG_MAX_OVERFLOW", "-1"),
        ("MEMORY_PG_PORT", "80"),
        ("MEMORY_LEDGER", "public; drop"),
        ("MEMORY_LEDGER", "Team"),
        ("MEMORY_LOG_LEVEL", "loud"),
    ],
)
def test_a_bad_value_is_told_with_the_variable_s_name(name: str, text: str) -> None:
    with pytest.raises(InvalidInput, match=name):
        Settings.from_environment({name: text})


@pytest.mark.parametrize(
    "url",
    [
        "mysql://u:p@h/d",
        "not a url",
        "postgresql://u:secret@h:port/d",
        "postgresql://u:secret@h/d?sslmode=maybe",
        "postgresql://u:secret@h/d?unknown=1",
    ],
)
def test_a_bad_database_url_is_told_without_its_password(url: str) -> None:
    with pytest.raises(InvalidInput, match="DATABASE_URL") as error:
        parse(url)
    assert "secret" not in str(error.value)


def test_an_address_shows_no_password() -> None:
    address = parse("postgresql+asyncpg://me:s%40cret@host:5433/db?sslmode=require")
    assert not re.search("s@cret|s%40cret", f"{address}{address!r}")
    assert address.url.password == "s@cret"


def test_each_driver_gets_ssl_and_sockets_in_its_own_form() -> None:
    url, arguments = parse("postgres://me@/db?host=/run/pg&sslmode=require").asyncpg
    assert (url.drivername, arguments) == (
        "postgresql+asyncpg",
        {"ssl": "require", "host": "/run/pg"},
    )
    url, arguments = parse("postgres://me@:5433/db?host=/run/pg").pg8000
    assert url.drivername == "postgresql+pg8000"
    assert arguments["unix_sock"] == "/run/pg/.s.PGSQL.5433"


def test_a_client_is_known_by_each_of_its_names() -> None:
    assert canonical_client("claude-code") == canonical_client("Claude") == "claude"
    assert canonical_client("codex-mcp-client") == "codex"
    assert canonical_client("something-else") == "something-else"
    assert set(client_names("claude")) == {"claude", "claude-code"}
    assert client_names("mine") == ("mine",)
