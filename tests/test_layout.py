"""The tree's own rules: small modules, small functions, names that say something."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LONGEST_MODULE = 300
LONGEST_FUNCTION = 40
EMPTY_NAMES = {"common", "helper", "helpers", "manager", "misc", "service", "util", "utils"}
# Written apart, so that this file does not hold what it looks for.
MACHINE = re.compile(
    "|".join(
        (
            "/(?:wo" + "rk|fa" + "rm)/",
            "/ro" + r"ot/\.",
            "pypi" + r"\.org",
            "npm" + "js",
            "pythonho" + "sted",
        )
    )
)


def modules(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [file for file in files if file.is_file()]


def test_modules_hold_one_thing_in_at_most_300_lines() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in modules("memory", "importers", "examples", "scripts")
        if (lines := len(path.read_text("utf-8").splitlines())) > LONGEST_MODULE
    }
    assert long == {}


def test_functions_have_at_most_40_lines_beside_their_docstring() -> None:
    long = {}
    for path in modules("memory", "importers", "examples", "scripts"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = node.body[0]
                is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
                told = (first.end_lineno or 0) - first.lineno + 1 if is_docstring else 0
                lines = (node.end_lineno or node.lineno) - node.lineno + 1 - told
                if lines > LONGEST_FUNCTION:
                    long[f"{path.relative_to(ROOT)}:{node.name}"] = lines
    assert long == {}


def test_every_module_says_what_of_it_is_public() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in modules("memory", "importers")
        if path.name not in {"__init__.py", "__main__.py"}
        and not re.search(r"^__all__ = ", path.read_text("utf-8"), re.MULTILINE)
    ]
    assert silent == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    empty = [
        str(path.relative_to(ROOT))
        for path in modules("memory", "importers", "examples", "scripts", "tests", "alembic")
        if EMPTY_NAMES & set(re.split(r"[_.]", path.name))
    ]
    assert empty == []


def test_the_folder_of_migrations_is_no_package_because_it_would_shadow_the_library() -> None:
    assert not (ROOT / "alembic" / "__init__.py").exists()


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="an unpacked archive lists no files")
def test_no_file_names_a_path_of_one_machine() -> None:
    found = []
    for path in tracked():
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue  # a database or an archive of test data
        found += [f"{path.relative_to(ROOT)}: {hit[0]}" for hit in MACHINE.finditer(text)]
    assert found == []
