"""A ledger and a server that the tests of one module share, since a start costs a second."""

from collections.abc import AsyncIterator, Awaitable, Callable

import asyncpg
import pytest
from conftest import TEMPLATE, Cluster, _fresh, child_environment
from mcp_process import Server

from memory.settings import Settings


@pytest.fixture(scope="module")
async def ledger(cluster: Cluster) -> AsyncIterator[Settings]:
    """Return the settings of a ledger that one module's tests share."""
    async for each in _fresh(cluster, f"TEMPLATE {TEMPLATE} STRATEGY file_copy"):
        yield each


@pytest.fixture(scope="module")
async def server(ledger: Settings) -> AsyncIterator[Server]:
    """Return an opened server that one module's tests share."""
    async with Server(child_environment(ledger)) as opened:
        await opened.open()
        yield opened


@pytest.fixture
async def rows(ledger: Settings) -> AsyncIterator[Callable[[], Awaitable[int]]]:
    """Return a function that counts what the module's ledger holds."""
    url = ledger.owner_url.replace("postgresql+asyncpg", "postgresql")
    connection = await asyncpg.connect(url)

    async def count() -> int:
        found = await connection.fetchval(
            "SELECT (SELECT count(*) FROM entries) + (SELECT count(*) FROM sessions)"
            " + (SELECT count(*) FROM projects)"
        )
        return int(found)

    yield count
    await connection.close()
