"""The examples run, print what is committed beside them, and touch nobody's ledger."""

import re
import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest
from sqlalchemy import make_url

from memory.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
EXPECTED = ROOT / "examples" / "two_client_demo.out"
TABLES = ("entries", "projects", "sessions", "heads", "search", "checkpoints")


def demo(environment: dict[str, str], **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "examples.two_client_demo"],
        env={**environment, **more},
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def normalised(output: str) -> str:
    """Return an output without what differs each time: ids and times."""
    output = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<id>", output)
    return re.sub(r"\d{4}-\d{2}-\d{2}T[\d:.]+Z", "<time>", output)


def of(settings: Settings, database: str) -> str:
    url = make_url(settings.database_url).set(database=database)
    return url.render_as_string(hide_password=False)


async def connect(url: str) -> asyncpg.Connection:
    plain = make_url(url).set(drivername="postgresql")
    return await asyncpg.connect(plain.render_as_string(hide_password=False))


async def counts(settings: Settings) -> dict[str, int]:
    connection = await connect(settings.owner_url)
    try:
        return {
            table: await connection.fetchval(f"SELECT count(*) FROM {table}") for table in TABLES
        }
    finally:
        await connection.close()


@pytest.mark.timeout(240)  # two whole demos
async def test_two_clients_share_one_ledger_and_the_users_stays_as_it_was(
    environment: dict[str, str], settings: Settings
) -> None:
    before = await counts(settings)
    for _ in range(2):
        done = demo(environment)
        assert done.returncode == 0, done.stdout + done.stderr
        assert normalised(done.stdout) == normalised(EXPECTED.read_text("utf-8"))
    assert await counts(settings) == before


def test_the_demo_runs_wherever_database_url_points(environment: dict[str, str]) -> None:
    elsewhere = "postgresql://nobody:nothing@127.0.0.1:1/other"
    done = demo(environment, DATABASE_URL=elsewhere, MEMORY_OWNER_URL=elsewhere)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_demo_may_be_started_by_its_path(
    environment: dict[str, str], settings: Settings, tmp_path: Path
) -> None:
    del environment["PYTHONPATH"]
    program = ROOT / "examples" / "two_client_demo.py"
    done = subprocess.run(
        [sys.executable, program],
        env={**environment, "DEMO_DATABASE_URL": of(settings, "postgres")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 1
    assert "names the database 'postgres'" in done.stderr


@pytest.mark.parametrize("database", ["memory", "postgres", "template1"])
def test_the_demo_does_not_reset_a_database_that_is_not_its_own(
    environment: dict[str, str], settings: Settings, database: str
) -> None:
    done = demo(environment, DEMO_DATABASE_URL=of(settings, database))
    assert (done.returncode, done.stdout) == (1, "")
    assert f"names the database '{database}'" in done.stderr


def test_the_demo_does_not_reset_the_ledger_under_another_spelling(
    environment: dict[str, str], settings: Settings
) -> None:
    url = settings.database_url.replace("127.0.0.1", "localhost").replace("+asyncpg", "")
    done = demo(environment, DEMO_DATABASE_URL=url)
    assert (done.returncode, done.stdout) == (1, "")
    assert "name the same database" in done.stderr


async def test_the_demo_does_not_reset_tables_that_no_demo_has_made(
    environment: dict[str, str], settings: Settings, empty_settings: Settings
) -> None:
    connection = await connect(empty_settings.owner_url)
    await connection.execute("CREATE TABLE precious (id int)")
    name = make_url(empty_settings.database_url).database
    assert name is not None
    done = demo(environment, DEMO_DATABASE_URL=of(settings, name))
    assert (done.returncode, done.stdout) == (1, "")
    assert "holds tables that no demo has made" in done.stderr
    assert await connection.fetchval("SELECT count(*) FROM precious") == 0
    await connection.close()
