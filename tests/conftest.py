"""One throw-away PostgreSQL for all tests, and cheap ledgers on it.

The server is our own embedded one in a temporary home, or the one that TEST_DATABASE_URL names (a
superuser's URL). A ledger is a clone of one migrated template database. Each worker of pytest-xdist
is a process of its own, with a home, a server and names of databases of its own.
"""

import asyncio
import itertools
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import asyncpg
import hypothesis
import pytest
from homes import free_port as _free_port
from sqlalchemy import make_url

from importers import rounds
from memory import postgres
from memory.database import Database
from memory.database.schema import init_schema
from memory.settings import Settings

FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
TEMPLATE = f"ledger_template_{os.getpid()}"
"""Named after the process, because workers share the server that TEST_DATABASE_URL names."""

# A property is about what holds, not about how long a busy machine takes for it.
hypothesis.settings.register_profile(
    "patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("patient")

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Cluster:
    """A server for tests: addresses of its two roles."""

    settings: Settings
    owner_url: str
    application_url: str

    def of(self, database: str) -> Settings:
        """Return the settings of a database on this server."""
        return replace(
            self.settings,
            database_url=_with_database(self.application_url, database),
            owner_url=_with_database(self.owner_url, database),
        )

    async def sql(self, statement: str, *, database: str = "postgres") -> None:
        """Run a statement as the owner."""
        url = make_url(_with_database(self.owner_url, database)).set(drivername="postgresql")
        connection = await asyncpg.connect(url.render_as_string(hide_password=False))
        try:
            await connection.execute(statement)
        finally:
            await connection.close()


def _with_database(url: str, database: str) -> str:
    return make_url(url).set(database=database).render_as_string(hide_password=False)


@pytest.fixture(scope="session", autouse=True)
def _own_home() -> Iterator[Path]:
    """Give the whole run a HOME of its own, so that nothing of the user's is ever met."""
    home = Path(tempfile.mkdtemp(prefix="shared-memory-home-", dir="/tmp"))
    before = dict(os.environ)
    for name in list(os.environ):
        if name.startswith(("MEMORY_", "CLAUDE", "CODEX", "OPENCODE", "XDG_", "PG")):
            del os.environ[name]
    os.environ.pop("DATABASE_URL", None)
    os.environ["HOME"] = str(home)
    yield home
    os.environ.clear()
    os.environ.update(before)
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
async def cluster(_own_home: Path) -> AsyncIterator[Cluster]:
    """Return the server of this test run."""
    given = os.environ.get("TEST_DATABASE_URL", "")
    base = _reachable_folder()
    settings = Settings(home=base / "home", port=_free_port(), machine="test-machine")
    if given:
        found = Cluster(settings, given, given)
    else:
        await asyncio.to_thread(postgres.ensure, settings, options=FAST)
        found = Cluster(settings, postgres.owner_url(settings), postgres.application_url(settings))
    await found.sql(f"DROP DATABASE IF EXISTS {TEMPLATE}")
    await found.sql(f"CREATE DATABASE {TEMPLATE}")
    await init_schema(found.of(TEMPLATE))
    yield found
    if given:
        await found.sql(f"DROP DATABASE IF EXISTS {TEMPLATE} WITH (FORCE)")
    await asyncio.to_thread(postgres.stop, settings)  # with a given one, what the demo has started
    shutil.rmtree(base, ignore_errors=True)


@pytest.fixture
async def settings(cluster: Cluster) -> AsyncIterator[Settings]:
    """Return the settings of a fresh ledger whose schema is current."""
    async for each in _fresh(cluster, f"TEMPLATE {TEMPLATE} STRATEGY file_copy"):
        yield each


@pytest.fixture
async def empty_settings(cluster: Cluster) -> AsyncIterator[Settings]:
    """Return the settings of a fresh database without any schema."""
    async for each in _fresh(cluster, ""):
        yield each


async def _fresh(cluster: Cluster, options: str) -> AsyncIterator[Settings]:
    name = f"ledger_{os.getpid()}_{next(_numbers)}"
    await cluster.sql(f"CREATE DATABASE {name} {options}")
    # How the passes of another test's importers ended stands in the home, and concerns no other.
    shutil.rmtree(cluster.settings.home / rounds.FOLDER, ignore_errors=True)
    yield cluster.of(name)
    await cluster.sql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@pytest.fixture
async def database(settings: Settings) -> AsyncIterator[Database]:
    """Return a fresh ledger, opened."""
    opened = Database(settings)
    yield opened
    await opened.close()


@pytest.fixture
def environment(settings: Settings) -> dict[str, str]:
    """Return the environment of a child process that works on the fresh ledger."""
    return child_environment(settings)


@pytest.fixture
def empty_environment(empty_settings: Settings) -> dict[str, str]:
    """Return the environment of a child process that meets a database without schema."""
    return child_environment(empty_settings)


def child_environment(settings: Settings) -> dict[str, str]:
    """Return a clean environment that names this ledger and nothing of the user's."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": os.environ["HOME"],
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(Path(__file__).resolve().parent.parent),
        "MEMORY_HOME": str(settings.home),
        "DATABASE_URL": settings.database_url,
        "MEMORY_OWNER_URL": settings.owner_url,
        "MEMORY_MACHINE": settings.machine,
    }


@pytest.fixture(scope="session")
def free_port() -> Callable[[], int]:
    """Return a function that finds a port nobody listens on."""
    return _free_port


def _reachable_folder() -> Path:
    """Return a new folder that the server's own account can enter when tests run as root."""
    base = Path(tempfile.mkdtemp(prefix="shared-memory-tests-", dir="/tmp"))
    base.chmod(0o755)
    return base
