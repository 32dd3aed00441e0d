"""What is told of a database that is not reached fits why it was not."""

import contextlib
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace

import pytest
from sqlalchemy import URL, make_url

from memory.database import Database
from memory.database.schema import schema_status
from memory.errors import Unavailable
from memory.program import typed
from memory.settings import Settings

SECRET = "plan" + "ted"


async def by_the_application(settings: Settings) -> None:
    await Database(settings, ensure_schema=False).ping()


async def by_the_owner(settings: Settings) -> None:
    await schema_status(settings)


Way = Callable[[Settings], Awaitable[None]]
NAMES: dict[Way, str] = {by_the_application: "DATABASE_URL", by_the_owner: "MEMORY_OWNER_URL"}


@pytest.fixture(params=NAMES)
def way(request: pytest.FixtureRequest) -> Way:
    found: Way = request.param
    return found


@pytest.fixture
def garbling() -> Iterator[int]:
    """Return the port of a server that agrees to TLS and then speaks something else."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection, contextlib.suppress(ConnectionError):  # it hangs up in disgust
                connection.recv(8)
                connection.sendall(b"S")
                connection.recv(4096)
                connection.sendall(b"no TLS at all" * 9)
                connection.recv(4096)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        thread.join(30)


async def told(way: Way, settings: Settings, url: URL) -> Unavailable:
    """Return the error for an address, which never repeats the password."""
    text = url.set(password=SECRET).render_as_string(hide_password=False)
    with pytest.raises(Unavailable) as caught:
        await way(replace(settings, database_url=text, owner_url=text))
    assert SECRET not in str(caught.value)
    return caught.value


async def test_a_host_that_is_not_known_is_told_as_that(settings: Settings, way: Way) -> None:
    url = make_url(settings.database_url).set(host="database.invalid", port=5432)
    error = await told(way, settings, url)
    assert error.code == "unknown_host"
    assert "database.invalid:5432" in str(error)
    assert "pg start" not in str(error)


async def test_a_server_that_takes_no_tls_is_told_as_that(settings: Settings, way: Way) -> None:
    url = make_url(settings.database_url).set(query={"sslmode": "require"})
    error = await told(way, settings, url)
    assert error.code == "tls_failed"
    assert f"takes no TLS, which sslmode in {NAMES[way]} asks for" in str(error)


async def test_tls_that_breaks_is_told_as_that(settings: Settings, garbling: int, way: Way) -> None:
    url = make_url(settings.database_url).set(port=garbling, query={"sslmode": "require"})
    error = await told(way, settings, url)
    assert error.code == "tls_failed"
    assert f"TLS with 127.0.0.1:{garbling} failed" in str(error)


async def test_a_port_where_nobody_answers_is_named(
    settings: Settings, free_port: Callable[[], int], way: Way
) -> None:
    port = free_port()
    url = make_url(settings.database_url).set(port=port)
    error = await told(way, settings, url)
    assert error.code == "unavailable"
    assert f"127.0.0.1:{port}, which {NAMES[way]} names: start that server" in str(error)


async def test_a_socket_that_is_not_there_is_named(settings: Settings, way: Way) -> None:
    url = make_url("postgresql://me@/d?host=/nonexistent")
    error = await told(way, settings, url)
    assert error.code == "unavailable"
    assert f"/nonexistent, which {NAMES[way]} names" in str(error)


async def test_a_wrong_password_is_told_as_that(settings: Settings, way: Way) -> None:
    error = await told(way, settings, make_url(settings.database_url))
    assert error.code == "auth_failed"
    assert "user or password" in str(error)


async def test_without_an_address_it_is_the_embedded_server_that_has_to_be_started(
    settings: Settings, free_port: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = make_url(settings.database_url).set(port=free_port())
    text = url.render_as_string(hide_password=False)
    monkeypatch.setattr("memory.postgres.ensure", lambda _: None)
    monkeypatch.setattr("memory.postgres.application_url", lambda _: text)
    embedded = replace(settings, database_url="", owner_url="")
    with pytest.raises(Unavailable) as caught:
        await by_the_application(embedded)
    assert str(caught.value) == typed(
        "The database cannot be reached; start it with `memory pg start`."
    )
