"""What `pip install .` installs is whole: it starts, builds the schema and answers."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from documents import ROOT
from mcp_process import Server

pytestmark = pytest.mark.timeout(300)

FOLDERS = ("memory", "importers", "alembic")
FILES = ("*.toml", "*.txt", "*.md", "*.in", "LICENSE", "setup.py", "alembic.ini")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that a wheel of this source was unpacked into."""
    source = tmp_path_factory.mktemp("source")
    for name in FOLDERS:
        shutil.copytree(
            ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyc")
        )
    for path in (path for pattern in FILES for path in ROOT.glob(pattern)):
        shutil.copy(path, source)
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "."],
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "PIP_NO_INDEX": "1"},
        cwd=source,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    [wheel] = source.glob("shared_memory-*.whl")
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def python(
    installed: Path, environment: dict[str, str], *arguments: str
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-P", *arguments],
        env={**environment, "PYTHONPATH": str(installed)},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_the_wheel_holds_every_file_of_the_packages_and_the_migrations(installed: Path) -> None:
    files = {path.relative_to(installed) for path in installed.rglob("*") if path.is_file()}
    for name in ("memory", "importers"):
        for path in (ROOT / name).rglob("*"):
            if path.is_file() and path.suffix != ".pyc":
                assert path.relative_to(ROOT) in files
    migrations = [path.name for path in (ROOT / "alembic" / "versions").glob("*.py")]
    assert migrations
    for name in ("env.py", *(f"versions/{each}" for each in migrations)):
        assert Path("memory", "migrations", name) in files
    top = {path.parts[0] for path in files}
    assert {name for name in top if not name.endswith(".dist-info")} == {"memory", "importers"}


def test_it_is_the_installed_program_that_runs(
    installed: Path, environment: dict[str, str]
) -> None:
    where = python(installed, environment, "-c", "import memory; print(memory.__file__)")
    assert where.stdout.strip() == str(installed / "memory" / "__init__.py")


async def test_an_installed_server_builds_the_schema_and_answers(
    installed: Path, empty_environment: dict[str, str]
) -> None:
    inside = {**empty_environment, "PYTHONPATH": str(installed)}
    command = (sys.executable, "-P", "-m", "memory.mcp_server")
    async with Server(inside, command=command) as server:
        opening = await server.open()
        assert opening["result"]["serverInfo"]["name"] == "shared-memory"
        recorded = await server.call("record_event", type="installed")
        assert recorded["is_error"] is False, recorded
        found = await server.call("search_history", query="installed")
        assert found["total"] == 1


def test_an_installed_command_line_sets_the_ledger_up_once(
    installed: Path, empty_environment: dict[str, str]
) -> None:
    setup = ("-m", "memory.cli", "setup", "--no-import", "--json")
    first, again = (
        json.loads(python(installed, empty_environment, *setup).stdout)["schema"] for _ in range(2)
    )
    assert (first, again) == ("empty", "current")
