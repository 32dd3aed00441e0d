"""A command that a hint names works as it stands, wherever the program was installed."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_cli import run

from memory import program
from memory.errors import InvalidInput, SchemaMismatch
from memory.program import typed

PROGRAMS = Path(sys.executable).parent


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    program._program.cache_clear()
    yield
    program._program.cache_clear()


def test_a_hint_of_the_command_line_works_as_it_is_typed(
    environment: dict[str, str], tmp_path: Path
) -> None:
    said = run(environment, "context", "nowhere").stderr
    [command] = re.findall(r"`([^`]+)`", said)
    assert command == f"{PROGRAMS}/memory projects"
    done = subprocess.run(
        ["bash", "-c", command],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_name_alone_is_enough_where_a_shell_finds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{PROGRAMS}:/usr/bin")
    assert typed("Run `memory pg start`.") == "Run `memory pg start`."


def test_another_program_of_that_name_is_not_taken_for_ours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = tmp_path / "memory"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{PROGRAMS}")
    assert typed("memory doctor") == f"{PROGRAMS}/memory doctor"


def test_without_a_console_script_the_module_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    python = tmp_path / "my python"
    monkeypatch.setattr(sys, "executable", str(python))
    assert typed("`memory pg start`") == f"`'{python}' -P -m memory.cli pg start`"
    (tmp_path / "memory").symlink_to(PROGRAMS / "memory")
    program._program.cache_clear()
    monkeypatch.setenv("PATH", os.defpath)
    assert typed("memory pg start") == f"'{tmp_path}/memory' pg start".replace("'", "")


def test_every_error_says_it_so_and_other_words_stay() -> None:
    assert f"`{PROGRAMS}/memory setup --no-import`" in str(SchemaMismatch())
    said = "The memory is full; import memory and `memory` alone stay."
    assert str(InvalidInput(said)) == said
