"""Who may do what on the embedded server, and where its secrets are not."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import psutil
import pytest
from homes import FAST, NewHome, connected, environment, processes, sql
from pg8000 import native

from memory import postgres
from memory.errors import InvalidInput, ServerFailure
from memory.postgres.home import Home
from memory.postgres.scram import verifier
from memory.settings import Settings

pytest_plugins = ("home_fixtures",)


def test_the_applications_role_owns_nothing_and_is_nobody_special(running: Settings) -> None:
    rows = sql(
        postgres.owner_url(running),
        "SELECT rolcanlogin, rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls, "
        "(SELECT count(*) FROM pg_auth_members WHERE member = r.oid), "
        "(SELECT count(*) FROM pg_shdepend WHERE refobjid = r.oid AND deptype = 'o') "
        "FROM pg_roles r WHERE rolname = 'memory'",
    )
    assert rows == [[True, False, False, False, False, False, 0, 0]]
    owner = "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = 'memory'"
    assert sql(postgres.owner_url(running), owner) == [["memory_owner"]]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE t (a int)",
        "CREATE TEMPORARY TABLE t (a int)",
        "CREATE SCHEMA s",
        "CREATE DATABASE d",
        "CREATE ROLE r",
        "DROP EXTENSION vector",
        "DROP DATABASE memory",
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "COPY (SELECT 1) TO PROGRAM 'cat'",
        "COPY (SELECT 1) TO '/tmp/stolen'",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT lo_import('/etc/passwd')",
        "SELECT * FROM pg_authid",
        "ALTER SYSTEM SET fsync = off",
        "ALTER ROLE memory SUPERUSER",
        "SET ROLE memory_owner",
        "SET session_replication_role = replica",
        "LOAD 'dict_snowball'",
        "CHECKPOINT",
    ],
)
def test_the_application_is_refused(running: Settings, statement: str) -> None:
    with pytest.raises(native.DatabaseError) as refused:
        sql(postgres.application_url(running), statement)
    assert refused.value.args[0]["C"] == "42501"


@pytest.mark.parametrize("database", ["postgres", "template1"])
def test_the_application_enters_no_database_of_the_servers_own(
    running: Settings, database: str
) -> None:
    with pytest.raises(native.DatabaseError) as refused:
        sql(postgres.application_url(running, database=database), "SELECT 1")
    assert refused.value.args[0]["C"] == "42501"


async def test_no_one_enters_without_the_password(running: Settings) -> None:
    server = postgres.ensure(running)
    for role in ("memory", "memory_owner"):
        for host in (server.host, str(server.socket_dir)):
            with pytest.raises(asyncpg.InvalidPasswordError):
                await asyncpg.connect(
                    host=host, port=server.port, user=role, password="memory", database="memory"
                )
    rules = "SELECT DISTINCT auth_method FROM pg_hba_file_rules"
    assert sql(postgres.owner_url(running), rules) == [["scram-sha-256"]]


def test_files_and_folders_are_the_accounts_own(running: Settings) -> None:
    home = Home.of(running)
    private = [home.path, home.data, home.path / "s", home.staged]
    assert {stat.S_IMODE(path.stat().st_mode) for path in private} == {0o700}
    files = [path for path in home.path.iterdir() if path.is_file()]
    logs = list((home.data / "log").iterdir())
    assert {path.name for path in files} >= {
        "memory.password",
        "memory_owner.password",
        "port",
        "server.log",
        "start.lock",
    }
    assert {stat.S_IMODE(path.stat().st_mode) for path in (*files, *logs, home.mark)} == {0o600}
    owner = home.data.stat().st_uid
    assert {path.lstat().st_uid for path in home.path.rglob("*")} == {owner}
    assert owner != 0


def test_passwords_stand_in_their_files_alone(new_home: NewHome) -> None:
    settings = new_home()
    secret = "sk-ant-" + "api03-" + "x" * 20
    subprocess.run(
        [sys.executable, "-m", "memory.postgres", "start"],
        env={**environment(settings), "SOME_KEY": secret, "PGPASSWORD": secret},
        check=True,
        capture_output=True,
    )
    home = Home.of(settings)
    secrets = [home.password(role) for role in ("memory", "memory_owner")]
    assert len(set(secrets)) == 2
    assert min(map(len, secrets)) >= 32

    shown = [" ".join(process.cmdline()) for process in processes(settings)]
    carried = [str(process.environ()) for process in processes(settings)]
    with connected(postgres.owner_url(settings)) as connection:
        seen = [str(row) for row in connection.run("SELECT query FROM pg_stat_activity")]
    logs = [path.read_text() for path in [home.server_log, *(home.data / "log").iterdir()]]
    for text in (*shown, *carried, *seen, *logs):
        assert not any(each in text for each in (*secrets, secret))

    postgres.stop(settings)
    holders = {
        path.name
        for path in home.path.rglob("*")
        if path.is_file() and any(each.encode() in path.read_bytes() for each in secrets)
    }
    assert holders == {"memory.password", "memory_owner.password"}


def test_what_people_write_does_not_reach_the_log(running: Settings) -> None:
    word = "sensitive" + "word"
    with connected(postgres.owner_url(running)) as connection:
        connection.run("CREATE TABLE IF NOT EXISTS narrow (word text UNIQUE CHECK (word < 'b'))")
        for statement in (f"INSERT INTO narrow VALUES ('{word}')", f"SELECT '{word}' FROM nowhere"):
            with pytest.raises(native.DatabaseError):
                connection.run(statement)
    logs = "".join(path.read_text() for path in (Home.of(running).data / "log").iterdir())
    assert "narrow" in logs
    assert word not in logs


def test_a_verifier_is_what_postgresql_would_have_made(running: Settings) -> None:
    with connected(postgres.owner_url(running)) as connection:
        connection.run(f"CREATE ROLE visitor LOGIN PASSWORD '{verifier('open sesame')}'")
        connection.run("GRANT CONNECT ON DATABASE memory TO visitor")
        try:
            parts = urlsplit(postgres.owner_url(running))
            url = f"postgresql://visitor:open sesame@{parts.hostname}:{parts.port}/memory"
            assert sql(url, "SELECT current_user") == [["visitor"]]
        finally:
            connection.run("REVOKE ALL ON DATABASE memory FROM visitor")
            connection.run("DROP ROLE visitor")


@pytest.mark.parametrize(
    "name", ["memory_demo", 'od"d; DROP DATABASE memory --', "größe", "a" * 63]
)
def test_another_database_is_made_once_and_is_whole(running: Settings, name: str) -> None:
    for _ in range(2):
        postgres.ensure_database(running, name)
    url = postgres.application_url(running, database=name)
    assert sql(url, "SELECT current_database(), '[1]'::vector::text") == [[name, "[1]"]]
    with pytest.raises(native.DatabaseError):
        sql(url, "CREATE TABLE t (a int)")


def test_one_database_wanted_by_many_at_once_is_made_once(running: Settings) -> None:
    failures: list[BaseException] = []

    def want() -> None:
        try:
            postgres.ensure_database(running, "wanted")
        except BaseException as error:  # noqa: BLE001 - a thread's failure is the test's
            failures.append(error)

    threads = [threading.Thread(target=want) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sql(postgres.application_url(running, database="wanted"), "SELECT 1") == [[1]]


@pytest.mark.parametrize(
    "name", ["", "postgres", "template0", "template1", "a" * 64, "ü" * 32, "a\0b"]
)
def test_a_database_postgresql_could_not_have_is_refused(running: Settings, name: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be the name of a database"):
        postgres.ensure_database(running, name)


def test_a_database_is_made_by_starting_the_server(home: Settings) -> None:
    postgres.ensure_database(home, "memory_demo")
    assert postgres.state(home) is not None
    assert sql(postgres.application_url(home, database="memory_demo"), "SELECT 1") == [[1]]


def test_other_peoples_databases_are_left_as_they_are(home: Settings) -> None:
    postgres.ensure(home, options=FAST)
    sql(postgres.owner_url(home, database="postgres"), "CREATE DATABASE theirs")
    Home.of(home).mark.unlink()  # the next start sets everything up again
    postgres.ensure(home)
    rows = sql(
        postgres.owner_url(home, database="theirs"),
        "SELECT (SELECT count(*) FROM pg_extension WHERE extname = 'vector'), "
        "(SELECT datacl IS NULL FROM pg_database WHERE datname = 'theirs')",
    )
    assert rows == [[0, True]]


def test_a_cluster_without_pgvector_says_so(home: Settings) -> None:
    """Programs that a user names may lack pgvector."""
    postgres.ensure(home, options=FAST)
    program = Path(psutil.Process(postgres.ensure(home).pid).exe())
    control = next(program.parent.parent.glob("share/**/vector.control"))
    sql(postgres.owner_url(home), "DROP EXTENSION vector")
    hidden = control.with_suffix(".hidden")
    os.link(control, hidden)
    control.unlink()  # the copy of this home alone: the pattern keeps its link
    Home.of(home).mark.unlink()
    try:
        with pytest.raises(ServerFailure, match="have no pgvector") as failed:
            postgres.ensure(home)
        assert failed.value.code == "no_binaries"
    finally:
        hidden.rename(control)
    postgres.ensure(home)
    assert sql(postgres.application_url(home), "SELECT '[1]'::vector::text") == [["[1]"]]
