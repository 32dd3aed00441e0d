"""An older ledger under a newer program, and the other way round."""

import asyncio
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import asyncpg
import pytest
from conftest import Cluster, child_environment
from mcp_process import Server
from sqlalchemy import make_url

from memory import crud
from memory.database import Database
from memory.database.dump import take_dump
from memory.database.schema import SchemaStatus, schema_status, upgrade_plan
from memory.errors import LedgerError
from memory.models import REVISION
from memory.postgres import binaries
from memory.settings import Settings

pytestmark = pytest.mark.timeout(600)

ROOT = Path(__file__).resolve().parent.parent
NEXT = "2099_01_01_note"
MIGRATION = f'''"""Let a checkpoint have a note."""

from alembic import op

revision = "{NEXT}"
down_revision = "{REVISION}"


def upgrade() -> None:
    op.execute("ALTER TABLE checkpoints ADD COLUMN note text")
'''


@pytest.fixture
def later(settings: Settings, tmp_path: Path) -> dict[str, str]:
    """Return the environment of this program as it will be, one migration later."""
    for name in ("memory", "alembic"):
        shutil.copytree(
            ROOT / name, tmp_path / "later" / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(ROOT / "alembic.ini", tmp_path / "later")
    (tmp_path / "later" / "alembic" / "versions" / f"{NEXT}.py").write_text(MIGRATION)
    models = tmp_path / "later" / "memory" / "models.py"
    models.write_text(models.read_text().replace(REVISION, NEXT))
    home = {"MEMORY_HOME": str(tmp_path / "home"), "PYTHONPATH": str(tmp_path / "later")}
    return child_environment(settings) | home


def memory(
    environment: dict[str, str], *arguments: str, status: int = 0
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "memory.cli", *arguments],
        cwd="/",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stderr + done.stdout
    return done


async def revision(settings: Settings) -> str:
    url = make_url(settings.owner_url).set(drivername="postgresql")
    connection = await asyncpg.connect(url.render_as_string(hide_password=False))
    try:
        found: str = await connection.fetchval("SELECT version_num FROM alembic_version")
        return found
    finally:
        await connection.close()


async def test_an_older_ledger_is_brought_up_by_upgrade_alone_and_after_a_dump(
    later: dict[str, str], settings: Settings, cluster: Cluster, tmp_path: Path
) -> None:
    database = Database(settings)
    await database.transact(lambda s: crud.create_project(s, "kept", source_client="claude"))
    await database.close()
    async with Server(later) as server:
        await server.open()
        for tool in ("list_projects", "status"):
            answer = await server.call(tool)
            told = answer if answer["is_error"] else answer["database"]
            assert told["code"] == "schema_outdated"
            assert "memory" in told["error"]
            assert "upgrade" in told["error"]
        assert await revision(settings) == REVISION
        shown = memory(later, "upgrade", "--plan").stdout
        assert f"{NEXT}  Let a checkpoint have a note." in shown
        assert await revision(settings) == REVISION
        assert not (tmp_path / "home" / "dumps").exists()
        done = json.loads(memory(later, "upgrade", "--json").stdout)
        assert (done["status"], done["done"], done["revision"]) == ("older", True, REVISION)
        assert await revision(settings) == NEXT
        projects = await server.call("list_projects")  # the same window goes on
        assert [each["name"] for each in projects["projects"]] == ["kept"]
    dump = done["dump"]
    only_this_user_s(tmp_path / "home" / "dumps", dump)
    await restored(cluster, dump)
    again = memory(later, "upgrade").stdout
    assert "is current" in again
    # This program, one migration behind, leaves the newer ledger alone and says so.
    now = child_environment(settings)
    refused = json.loads(memory(now, "upgrade", "--json", status=1).stdout)
    assert refused["code"] == "schema_newer"
    async with Server(now) as server:
        await server.open()
        assert (await server.call("list_projects"))["code"] == "schema_newer"


def only_this_user_s(folder: Path, dump: str) -> None:
    """Check that a folder holds this one dump, which nobody else may read."""
    assert [str(each) for each in folder.iterdir()] == [dump]
    assert Path(dump).stat().st_mode & 0o777 == 0o600


async def restored(cluster: Cluster, dump: str) -> None:
    """Restore a dump into an empty database, and find the old schema and the project there."""
    await cluster.sql("DROP DATABASE IF EXISTS restored WITH (FORCE)")
    await cluster.sql("CREATE DATABASE restored")
    other = cluster.of("restored")
    url = make_url(other.owner_url).set(drivername="postgresql")
    folder = binaries.package_folder()
    assert folder is not None
    process = await asyncio.create_subprocess_exec(
        folder / "pg_restore",
        "--clean",
        "--if-exists",
        f"--dbname={url.render_as_string(hide_password=False)}",
        dump,
    )
    assert await process.wait() == 0
    assert await revision(other) == REVISION
    database = Database(other)
    assert list((await database.transact(crud.project_names)).values()) == ["kept"]
    await database.close()
    await cluster.sql("DROP DATABASE restored WITH (FORCE)")


async def test_without_a_dump_nothing_is_changed_unless_that_is_wanted(
    later: dict[str, str], settings: Settings, tmp_path: Path
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("pg_dump", "pg_restore"):
        program = folder / name
        program.write_text(
            "#!/bin/sh\n[ \"$1\" = --version ] && echo 'pg_dump (PostgreSQL) 99.1' && exit 0\n"
            "echo 'the disk is full' >&2\nexit 1\n"
        )
        program.chmod(0o755)
    failing = later | {"PATH": f"{folder}:{later['PATH']}"}
    refused = json.loads(memory(failing, "upgrade", "--json", status=1).stdout)
    assert refused["code"] == "no_dump"
    assert "the disk is full" in refused["error"]
    assert await revision(settings) == REVISION
    assert list((tmp_path / "home" / "dumps").iterdir()) == []
    memory(failing, "upgrade", "--no-dump")
    assert await revision(settings) == NEXT


async def test_setup_takes_a_dump_before_it_brings_an_older_ledger_up(
    later: dict[str, str], settings: Settings, tmp_path: Path
) -> None:
    memory(later, "setup", "--no-import")
    assert await revision(settings) == NEXT
    assert len(list((tmp_path / "home" / "dumps").glob("*.dump"))) == 1


async def test_an_empty_database_is_built_without_asking(
    empty_settings: Settings, tmp_path: Path
) -> None:
    plan = await upgrade_plan(empty_settings)
    assert (plan.status, plan.revision) == (SchemaStatus.EMPTY, "")
    assert plan.steps[-1].revision == REVISION
    home = {"MEMORY_HOME": str(tmp_path)}
    memory(child_environment(empty_settings) | home, "upgrade")
    assert await schema_status(empty_settings) is SchemaStatus.CURRENT
    assert not (tmp_path / "dumps").exists()


def test_a_missing_or_old_pg_dump_is_named(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binaries, "package_folder", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    mine = replace(settings, home=tmp_path)
    with pytest.raises(LedgerError, match="there is no pg_dump") as missing:
        take_dump(mine, revision="x")
    assert missing.value.code == "no_dump"
    for name in ("pg_dump", "pg_restore"):
        (tmp_path / name).write_text("#!/bin/sh\necho 'pg_dump (PostgreSQL) 9.6'\n")
        (tmp_path / name).chmod(0o755)
    with pytest.raises(LedgerError, match=r"is of 9"):
        take_dump(mine, revision="x")
