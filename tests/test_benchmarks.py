"""The page of benchmarks names scripts that exist, with options that they take."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
COMMANDS = sorted(set(re.findall(r"`python (scripts/bench/\w+\.py)([^`]*)`", PAGE)))


def test_the_page_names_a_command_for_each_table() -> None:
    scripts = {Path(script).stem for script, _ in COMMANDS}
    assert {"locomo", "devbench", "coding", "million"} <= scripts


@pytest.mark.parametrize("script", sorted(set(re.findall(r"scripts/bench/\w+\.py", PAGE))))
def test_each_script_that_is_named_exists(script: str) -> None:
    assert (ROOT / script).is_file()


@pytest.mark.parametrize(("script", "arguments"), COMMANDS)
def test_each_option_that_is_named_is_taken(script: str, arguments: str) -> None:
    source = (ROOT / script).read_text("utf-8")
    for option in re.findall(r"--[a-z-]+", arguments):
        assert f'"{option}"' in source
