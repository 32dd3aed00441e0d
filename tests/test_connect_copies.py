"""The temporary copies of clients' files: private, and gone even after a kill."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_connect import answer, contents, environment, home, planned

from memory.connect import Receipts, carry_out, files

__all__ = ["environment", "home"]

WRITER = """
import os, signal, sys
from pathlib import Path
from memory.connect import files
def ended(temporary, content):
    os.kill(os.getpid(), signal.SIGKILL)
files._replace = ended
files.write(files.read(Path(sys.argv[1])), b"{}")
"""


def copies(home: Path) -> set[str]:
    return {name for name in contents(home) if "shared-memory-" in name}


@pytest.mark.parametrize("command", ["connect", "disconnect"])
def test_the_copy_of_a_writer_that_was_killed_goes_away_with_the_next_command(
    environment: dict[str, str], home: Path, command: str
) -> None:
    before = contents(home)
    writer = [sys.executable, "-P", "-c", WRITER, str(home / ".claude.json")]
    assert subprocess.run(writer, check=False).returncode == -9
    assert len(copies(home)) == 1
    answer(environment, command, "claude", "--dry-run")
    assert len(copies(home)) == 1
    answer(environment, command, "claude", "--yes")
    assert copies(home) == set()
    answer(environment, "disconnect", "--yes")
    assert contents(home) == before


def test_a_copy_that_is_being_written_and_files_that_look_like_one_stay(
    environment: dict[str, str], home: Path
) -> None:
    alive, of_old = (f"..claude.json.shared-memory-{os.getpid()}-{each}" for each in ("a", "b"))
    others = ["..claude.json.abcdefgh", ".claude.json.backup", "..claude.json.shared-memory-x"]
    for name in (alive, of_old, *others):
        (home / name).write_text("{}", "utf-8")
    long_ago = time.time() - 2 * 3600
    for name in (of_old, *others):
        os.utime(home / name, (long_ago, long_ago))
    answer(environment, "connect", "claude", "--yes")
    assert not (home / of_old).exists()
    assert all((home / name).exists() for name in (alive, *others))


def test_only_the_account_can_read_a_copy_while_it_is_written(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, modes, likes = home / ".claude.json", [], files._like
    path.chmod(0o644)

    def seen(descriptor: int, replaced: Path) -> None:
        modes.append(os.fstat(descriptor).st_mode & 0o777)
        likes(descriptor, replaced)

    monkeypatch.setattr(files, "_like", seen)
    carry_out(planned(home), Receipts(home / "receipts"))
    assert modes == [0o600]
    assert path.stat().st_mode & 0o777 == 0o644
