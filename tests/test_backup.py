"""docs/backup.md does what it says: its commands are run, on one server and then on another."""

import json
import os
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from documents import PROGRAMS, ROOT, blocks, put_stores, run
from homes import NewHome, sql

from memory import postgres
from memory.settings import Settings

pytest_plugins = ("home_fixtures",)

BACKUP, RESTORE = blocks((ROOT / "docs" / "backup.md").read_text("utf-8"))


def environment(settings: Settings, user: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "HOME": str(user),
        "MEMORY_HOME": str(settings.home),
        "MEMORY_PG_PORT": str(settings.port),
    }


def answer(script: str, inside: dict[str, str]) -> dict[str, Any]:
    done = run(f"{script} --json", inside)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def held(inside: dict[str, str]) -> dict[str, tuple[int, int]]:
    """Return how many sessions and entries each client has."""
    totals = answer("memory status", inside)["totals"]
    return {each["source_client"]: (each["sessions"], each["entries"]) for each in totals}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a folder like the clone's, as far as the commands look into it."""
    folder = tmp_path / "my clone"
    (folder / ".venv" / "bin").mkdir(parents=True)
    (folder / ".venv" / "lib").symlink_to(PROGRAMS.parent / "lib")
    shutil.copytree(ROOT / "scripts", folder / "scripts")
    return folder


@pytest.mark.timeout(900)
def test_a_restored_ledger_holds_everything_and_its_feed_goes_on_in_a_new_epoch(
    home: Settings, new_home: NewHome, clone: Path, tmp_path: Path
) -> None:
    old = environment(home, tmp_path / "user")
    put_stores(tmp_path / "user")
    answer("memory import", old)
    before = held(old)
    assert set(before) == {"claude", "codex", "opencode"}
    cursor = answer("memory changes claude --limit 1", old)["next_cursor"]
    seen = len(answer(f"memory changes claude --since {cursor} --limit 500", old)["changes"])
    done = run(BACKUP, old, folder=clone)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (clone / "ledger.dump").stat().st_size > 10_000

    other = new_home()
    new = environment(other, tmp_path / "user")
    script = RESTORE.replace("scripts/start-pg.sh", str(ROOT / "scripts" / "start-pg.sh"))
    done = run(script, new, folder=clone, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "All is well." in done.stdout
    assert held(new) == before

    record(new, other, "said after the restore")
    page = answer(f"memory changes claude --since {cursor} --limit 500", new)["changes"]
    assert len(page) == seen + 1
    assert page[-1]["content"] == "said after the restore"
    assert epochs(other) == [1, 2]
    assert epochs(home) == [1]


def record(inside: dict[str, str], settings: Settings, content: str) -> None:
    """Append an entry of Claude's to the ledger that this environment names."""
    program = (
        "import asyncio\n"
        "from memory import crud\n"
        "from memory.database import Database\n"
        "from memory.drafts import Draft, Kind\n"
        "from memory.settings import Settings\n"
        f"draft = Draft(kind=Kind.MESSAGE, content={content!r}, source_client='claude', role='user')\n"
        "async def main():\n"
        "    database = Database(Settings.from_environment())\n"
        "    await database.transact(lambda session: crud.append(session, [draft]))\n"
        "    await database.close()\n"
        "asyncio.run(main())\n"
    )
    assert postgres.state(settings) is not None
    done = run(f"python -c {shlex.quote(program)}", inside)
    assert done.returncode == 0, done.stderr


def epochs(settings: Settings) -> list[int]:
    rows = sql(postgres.owner_url(settings), "SELECT epoch FROM epochs ORDER BY epoch")
    return [int(str(row[0])) for row in rows]


def test_no_password_is_an_argument_of_a_program() -> None:
    for block in (BACKUP, RESTORE):
        for line in block.splitlines():
            if re.match(r"pg_(dump|restore) ", line):
                assert "${url/:$PGPASSWORD@/@}" in line
                assert '"$url"' not in line
