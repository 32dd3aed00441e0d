"""What the scripts say when they cannot go on; none of these reaches an index or a ledger."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
NEEDED = ("pyproject.toml", "requirements.txt", "requirements-dev.txt")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a copy of what the scripts need, in a folder whose name has a space."""
    root = tmp_path / "my clone"
    shutil.copytree(ROOT / "scripts", root / "scripts", ignore=shutil.ignore_patterns("bench"))
    for name in NEEDED:
        shutil.copy(ROOT / name, root / name)
    return root


def run(
    script: Path, *arguments: str, timeout: int = 100, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [script, *arguments],
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **environment},
        cwd="/",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def fake_python(folder: Path, version: str) -> Path:
    """Return a program that answers as a Python of this version that has no modules."""
    path = folder / "python"
    path.write_text(f'#!/bin/sh\ncase "$2" in *print*) echo {version};; *) exit 1;; esac\n')
    path.chmod(0o755)
    return path


def test_up_has_help_and_refuses_unknown_options_without_making_anything(clone: Path) -> None:
    done = run(clone / "scripts" / "up", "--help")
    assert done.returncode == 0
    for option in ("--no-import", "--embeddings", "--help"):
        assert option in done.stdout
    done = run(clone / "scripts" / "up", "--no-such-option")
    assert done.returncode == 2
    assert done.stderr.startswith("scripts/up: no such option: --no-such-option\n")
    assert not (clone / ".venv").exists()


def test_a_python_that_is_too_old_is_named(clone: Path, tmp_path: Path) -> None:
    old = fake_python(tmp_path, "3.9")
    done = run(clone / "scripts" / "up", PYTHON=str(old))
    assert done.returncode == 1
    assert done.stderr == (
        f"scripts/up: PYTHON is {old}, a Python 3.9; name a Python 3.11 or newer.\n"
    )


def test_a_python_that_does_not_run_is_named(clone: Path) -> None:
    done = run(clone / "scripts" / "up", PYTHON="/nowhere/python3")
    assert done.returncode == 1
    assert done.stderr.startswith("scripts/up: PYTHON is /nowhere/python3, which does not run;")


def test_no_python_at_all_is_one_sentence(clone: Path, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "basename", "cat", "dirname", "env", "grep"):
        (programs / name).symlink_to(shutil.which(name) or "")
    done = run(clone / "scripts" / "up", PATH=str(programs))
    assert done.returncode == 1
    assert done.stderr.startswith("scripts/up: Python 3.11 or newer is needed; install one")
    fake_python(programs, "3.8").rename(programs / "python3")
    done = run(clone / "scripts" / "up", PATH=str(programs))
    assert done.stderr.startswith(
        "scripts/up: Python 3.11 or newer is needed, and python3 is Python 3.8; install one"
    )


def test_without_network_the_sentence_names_the_log_and_a_half_made_environment_is_mended(
    clone: Path,
) -> None:
    offline = {
        "PYTHON": sys.executable,
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_RETRIES": "0",
    }
    (clone / ".venv").mkdir()
    (clone / ".venv" / "pyvenv.cfg").write_text("home = /nowhere\n")
    done = run(clone / "scripts" / "up", **offline)
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert len(lines) == 1
    assert "needs the network, and the package index cannot be reached" in lines[0]
    assert f"(details: {clone}/.venv/pip.log)" in lines[0]
    assert (clone / ".venv" / "pip.log").stat().st_size > 0
    assert "Making the virtual environment" in done.stdout
    again = run(clone / "scripts" / "test", **offline)
    assert again.returncode == 1
    assert "Making the virtual environment" not in again.stdout


def test_every_script_is_sound_shell() -> None:
    for path in [*(ROOT / "scripts").iterdir(), ROOT / ".ci" / "run"]:
        if path.is_file() and path.read_text("utf-8").splitlines()[0].endswith("sh"):
            subprocess.run(["bash", "-n", path], check=True)


@pytest.mark.parametrize(
    ("arguments", "is_spread"),
    [
        ([], True),
        (["-q", "-k", "name"], True),
        (["tests/test_feed.py", "-k", "name"], False),
        (["tests/test_feed.py::test_name"], False),
        (["-n", "0"], False),
        (["--pdb"], False),
        (["-s"], False),
    ],
)
def test_a_whole_run_is_spread_over_workers_and_a_narrow_one_is_not(
    clone: Path, arguments: list[str], is_spread: bool
) -> None:
    programs = clone / ".venv" / "bin"
    programs.mkdir(parents=True)
    recorder = '#!/bin/sh\ncase "$*" in *pytest*) printf "%s\\n" "$@";; esac\n'
    for name in ("python", "memory", "pip"):
        (programs / name).write_text(f"{recorder}# {programs}/python\n")
        (programs / name).chmod(0o755)
    (clone / "requirements-embeddings.txt").touch()
    done = run(clone / "scripts" / "test", *arguments, TEST_WORKERS="3")
    assert done.returncode == 0, done.stderr
    ran = done.stdout.splitlines()
    spread = ["-n", "3", "--dist", "worksteal"] if is_spread else []
    assert ran[ran.index("-m") :] == ["-m", "pytest", *spread, *arguments]
    given = {"TEST_WORKERS": "3", "TEST_DATABASE_URL": "postgresql://shared.example/postgres"}
    done = run(clone / "scripts" / "test", *arguments, **given)
    ran = done.stdout.splitlines()
    assert ran[ran.index("-m") :] == ["-m", "pytest", *arguments], "feeds of one server wait"
