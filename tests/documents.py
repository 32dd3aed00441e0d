"""What the documents print, and the parts of a user's machine that their commands meet."""

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = Path(sys.executable).parent
DOCUMENTS = sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").rglob("*.md"))
STORES = {
    "claude/2.1.197": ".claude",
    "codex/0.171.0": ".codex",
    "opencode/1.18.33": ".local/share/opencode",
}
"""The test data of each client, and where in a home the client keeps it."""

_BLOCK = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)
_SPAN = re.compile(r"`([^`]+)`")
# A span of code is a command when a program of ours, or one that we tell people to run, begins it
# and something follows; a script alone is one as well.
_PROGRAM = re.compile(
    r"(?:scripts/[\w.-]+|\.ci/run)(?: |$)"
    r"|(?:\.venv/bin/\S+|memory|memory-\w+|alembic|python3?|pip|pg_dump|psql|createdb|dropdb"
    r"|claude|codex|opencode|git|loginctl|systemctl|export|source) "
)


def blocks(text: str) -> list[str]:
    """Return the blocks of shell of a document."""
    return [body for language, body in _BLOCK.findall(text) if language in {"sh", "bash"}]


def commands(text: str) -> list[str]:
    """Return the commands of a document, each on one line: of its blocks, and in its sentences."""
    found = [line for block in blocks(text) for line in block.replace("\\\n", " ").splitlines()]
    spans = [" ".join(each.split()) for each in _SPAN.findall(_BLOCK.sub("", text))]
    found += [each for each in spans if _PROGRAM.match(each)]
    return [one for one in map(_bare, found) if one]


def _bare(line: str) -> str:
    """Return a command without its comment and without the folder of our programs."""
    line = re.sub(r"(?:^|\s)#\s.*", "", line)
    return " ".join(line.split()).replace(".venv/bin/", "")


def run(
    script: str, environment: Mapping[str, str], *, folder: Path = ROOT, timeout: int = 110
) -> subprocess.CompletedProcess[str]:
    """Run lines of a document with the programs of the Python that runs the tests."""
    given = {**environment, "PATH": f"{PROGRAMS}:{environment['PATH']}"}
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script.replace(".venv/bin/", f"{PROGRAMS}/")],
        env=given,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def put_stores(home: Path) -> None:
    """Make a home whose owner has used all three clients."""
    for data, place in STORES.items():
        shutil.copytree(ROOT / "tests" / "data" / data / "store", home / place)
