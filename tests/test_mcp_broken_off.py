"""Calls that are broken off in the middle: what was written is there once or not at all."""

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest
from mcp_process import Server, eventually
from sqlalchemy import make_url

from memory.settings import Settings

pytestmark = pytest.mark.timeout(300)

EVENT = {"name": "record_event", "arguments": {"type": "broken off"}}


async def connected(settings: Settings) -> asyncpg.Connection:
    url = make_url(settings.owner_url).set(drivername="postgresql")
    return await asyncpg.connect(url.render_as_string(hide_password=False))


@asynccontextmanager
async def stopped_writes(settings: Settings) -> AsyncIterator[asyncpg.Connection]:
    """Let every write of entries wait; gives a connection that looks on."""
    holder, looker = await connected(settings), await connected(settings)
    try:
        async with holder.transaction():
            await holder.execute("LOCK TABLE entries IN SHARE ROW EXCLUSIVE MODE")
            yield looker
    finally:
        await holder.close()
        await looker.close()


async def waiting(looker: asyncpg.Connection) -> int:
    """Return how many of our transactions wait for a lock in this database."""
    return int(
        await looker.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND application_name = 'shared-memory' AND wait_event_type = 'Lock'"
        )
    )


async def open_connections(looker: asyncpg.Connection) -> int:
    return int(
        await looker.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND application_name = 'shared-memory'"
        )
    )


async def until_waiting(looker: asyncpg.Connection, number: int) -> None:
    async def is_so() -> bool:
        return await waiting(looker) == number

    await eventually(is_so)


async def events(settings: Settings) -> list[str]:
    looker = await connected(settings)
    try:
        rows = await looker.fetch("SELECT content FROM entries WHERE kind = 'event' ORDER BY seq")
        return [row["content"] for row in rows]
    finally:
        await looker.close()


def cancelled(number: int) -> dict[str, object]:
    params = {"requestId": number, "reason": "the user pressed Esc"}
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}


async def test_a_write_that_is_cancelled_while_the_database_works_on_it_is_not_there(
    environment: dict[str, str], settings: Settings
) -> None:
    async with Server(environment) as server:
        await server.open()
        await server.call("list_projects")
        async with stopped_writes(settings) as looker:
            for _ in range(5):  # more than there are connections
                number = await server.request("tools/call", EVENT)
                await until_waiting(looker, 1)
                await server.send(cancelled(number))
                await until_waiting(looker, 0)
            assert await open_connections(looker) <= 1
        for each in range(3):
            assert not (await server.call("record_event", type=f"after {each}"))["is_error"]
    assert await events(settings) == ["after 0", "after 1", "after 2"]


async def test_writes_that_are_cancelled_at_any_moment_are_there_once_or_not_at_all(
    environment: dict[str, str], settings: Settings
) -> None:
    async with Server(environment) as server:
        await server.open()
        await server.call("list_projects")
        names = [f"cancelled {number}" for number in range(20)]
        for pause, name in enumerate(names):
            call = {"name": "record_event", "arguments": {"type": name}}
            number = await server.request("tools/call", call)
            for _ in range(pause % 5):  # other moments of the same call
                await server.ask("ping")
            await server.send(cancelled(number))
        assert not (await server.call("record_event", type="after"))["is_error"]
    found = await events(settings)
    assert found[-1] == "after"
    assert len(found) == len(set(found))
    assert set(found) <= {*names, "after"}


async def test_a_server_that_is_killed_in_the_middle_of_a_write_leaves_nothing_half_done(
    environment: dict[str, str], settings: Settings
) -> None:
    async with Server(environment) as server:
        await server.open()
        await server.call("list_projects")
        async with stopped_writes(settings) as looker:
            await server.request("tools/call", EVENT)
            await until_waiting(looker, 1)
            await server.end(signal.SIGKILL)
    looker = await connected(settings)

    async def is_gone() -> bool:
        return await open_connections(looker) == 0

    await eventually(is_gone)
    await looker.close()
    async with Server(environment) as server:
        await server.open()
        assert not (await server.call("record_event", type="after"))["is_error"]
    assert await events(settings) == ["after"]
