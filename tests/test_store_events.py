"""What clients do to their stores neither doubles an entry nor drops one: exact numbers.

After each event the ledger holds what was ever there, once, and the proof of coverage is whole.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from backports import zstd
from eras import (
    NOON,
    claude_copy,
    claude_file,
    claude_turn,
    codex_file,
    codex_header,
    codex_migrated,
    codex_replayed,
    codex_turn,
    codex_wrapped,
    ident,
    numbered,
    opencode_files,
    opencode_tables,
    write,
)
from imports import copied, run
from proofs import numbers, proved
from readings import DATA
from sqlalchemy import func, select

from importers.base import Importer
from importers.claude import ClaudeImporter
from importers.codex import CodexImporter
from importers.opencode import OpenCodeImporter
from memory.database import Database
from memory.drafts import Kind
from memory.models import Entry

ONE, TWO = ident("one"), ident("two")
V2 = "2.1.332"

Act = Callable[[Path], object]


async def messages(database: Database) -> int:
    """Return how many messages the ledger holds, each version of one counted."""
    counted = select(func.count()).where(Entry.kind == Kind.MESSAGE)
    return await database.transact(lambda s: s.scalar(counted)) or 0


async def grown(
    database: Database, root: Path, importer: Callable[[], Importer], begin: Act, event: Act
) -> tuple[int, int]:
    """Return how many messages the ledger holds before and after an event; all is covered."""
    begin(root)
    await run(database, root, importer())
    before = await messages(database)
    event(root)
    report = await run(database, root, importer())
    assert (report.changed, report.refused, report.unreadable) == (0, 0, 0)
    found = await proved(database, root, importer())
    assert found.is_whole
    assert set(numbers(found)) <= {"vanished", "gone"}
    return before, await messages(database)


# --- Claude Code -----------------------------------------------------------------------------


def claude_one(root: Path, version: str = V2) -> None:
    write(claude_file(root, ONE), claude_turn("first", ONE, version))


def claude_goes_on(root: Path) -> None:
    write(claude_file(root, ONE), claude_turn("second", ONE, V2, start=10))


def claude_copies(version: str, *, new_uuids: bool) -> Act:
    def copy(root: Path) -> None:
        rows = claude_copy(claude_turn("first", ONE, version), TWO, start=60, new_uuids=new_uuids)
        own = claude_turn("second", TWO, version, start=70)
        write(claude_file(root, TWO), [*rows, *own])

    return copy


def claude_forks(root: Path) -> None:
    rows = [{**row, "sessionId": TWO} for row in claude_turn("first", ONE, V2)]
    write(claude_file(root, TWO), [*rows, *claude_turn("second", TWO, V2, start=70)])


def claude_clears(root: Path) -> None:
    write(claude_file(root, TWO), claude_turn("second", TWO, V2, start=70))


def claude_enters_a_worktree(root: Path) -> None:
    path = claude_file(root, ONE)
    moved = path.parent.with_name("-home-dev-proj--claude-worktrees-x") / path.name
    moved.parent.mkdir()
    path.rename(moved)
    write(moved, claude_turn("second", ONE, V2, start=10))


def claude_cleans_up(root: Path) -> None:
    claude_file(root, ONE).unlink()


@pytest.mark.parametrize(
    ("begin", "event", "numbers"),
    [
        pytest.param(claude_one, claude_goes_on, (4, 8), id="resume"),
        pytest.param(claude_one, claude_forks, (4, 8), id="fork"),
        pytest.param(claude_one, claude_clears, (4, 8), id="clear"),
        pytest.param(claude_one, claude_enters_a_worktree, (4, 8), id="move"),
        pytest.param(claude_one, claude_cleans_up, (4, 4), id="cleanup"),
        pytest.param(
            lambda root: claude_one(root, "1.0.40"),
            claude_copies("1.0.40", new_uuids=True),
            (4, 8),
            id="resume-1.0.40",
        ),
        pytest.param(
            lambda root: claude_one(root, "1.0.103"),
            claude_copies("1.0.103", new_uuids=False),
            (4, 8),
            id="resume-1.0.103",
        ),
    ],
)
async def test_what_claude_code_does(
    database: Database, tmp_path: Path, begin: Act, event: Act, numbers: tuple[int, int]
) -> None:
    assert await grown(database, tmp_path, ClaudeImporter, begin, event) == numbers


# --- Codex -----------------------------------------------------------------------------------


def codex_one(era: str, *turns: str) -> Act:
    return lambda root: write(codex_file(root, ONE), codex_wrapped(ONE, era, turns or ("first",)))


def codex_goes_on(era: str) -> Act:
    def go_on(root: Path) -> None:
        lines = codex_turn("second", era, start=20)
        is_paginated = era == "0.171"
        write(codex_file(root, ONE), numbered(lines, first=99) if is_paginated else lines)

    return go_on


def codex_forks_in_full(root: Path) -> None:
    replay = codex_replayed(codex_wrapped(ONE, "0.122", ("first",)), TWO, ONE, "0.122")
    write(codex_file(root, TWO), [*replay, *codex_turn("second", "0.122", start=200)])


def codex_forks_without_a_copy(root: Path) -> None:
    header = codex_header(TWO, "0.171", forked_from_id=ONE, history_base={"thread_id": ONE})
    write(codex_file(root, TWO), numbered([header, *codex_turn("second", "0.171")], first=20))


def codex_migrates(root: Path) -> None:
    codex_file(root, ONE).unlink()
    write(codex_file(root, ONE), codex_migrated(codex_wrapped(ONE, "0.122", ("first",))))


def codex_compresses(root: Path) -> None:
    path = codex_file(root, ONE)
    path.with_name(f"{path.name}.zst").write_bytes(zstd.compress(path.read_bytes()))
    path.unlink()


def codex_compresses_and_resumes(root: Path) -> None:
    path = codex_file(root, ONE)
    whole = path.read_bytes()
    codex_compresses(root)
    path.with_name(f"{path.name}.zst").unlink()
    path.write_bytes(whole)
    write(path, numbered(codex_turn("second", "0.171", start=20), first=20))


def codex_archives(root: Path) -> None:
    path = codex_file(root, ONE)
    archived = root / "archived_sessions" / path.name
    archived.parent.mkdir()
    path.rename(archived)


def codex_shrinks_in_place(root: Path) -> None:
    """Do what a desktop build's compaction did: another inode, a fraction of the lines."""
    path = codex_file(root, ONE)
    lines = codex_wrapped(ONE, "0.171", ("first", "second"))
    items = [line["payload"] for line in lines if line["type"] == "response_item"]
    payload = {"message": "", "replacement_history": items}
    shrunk = [lines[0], {**lines[1], "type": "compacted", "payload": payload}]
    path.unlink()
    write(path, [*shrunk, *codex_turn("third", "0.171", start=90)])


@pytest.mark.parametrize(
    ("begin", "event", "numbers"),
    [
        pytest.param(codex_one("0.92"), codex_goes_on("0.92"), (4, 8), id="resume-0.92"),
        pytest.param(codex_one("0.122"), codex_goes_on("0.171"), (4, 8), id="resume-mixed"),
        pytest.param(codex_one("0.171"), codex_goes_on("0.171"), (4, 8), id="resume-0.171"),
        pytest.param(codex_one("0.122"), codex_forks_in_full, (4, 8), id="fork-0.122"),
        pytest.param(codex_one("0.171"), codex_forks_without_a_copy, (4, 8), id="fork-0.171"),
        pytest.param(codex_one("0.122"), codex_migrates, (4, 4), id="migration"),
        pytest.param(codex_one("0.171"), codex_compresses, (4, 4), id="compression"),
        pytest.param(codex_one("0.171"), codex_compresses_and_resumes, (4, 8), id="unpacked"),
        pytest.param(codex_one("0.171"), codex_archives, (4, 4), id="archive"),
        pytest.param(
            codex_one("0.171", "first", "second"), codex_shrinks_in_place, (8, 13), id="compaction"
        ),
    ],
)
async def test_what_codex_does(
    database: Database, tmp_path: Path, begin: Act, event: Act, numbers: tuple[int, int]
) -> None:
    assert await grown(database, tmp_path, CodexImporter, begin, event) == numbers


# --- OpenCode --------------------------------------------------------------------------------


def opencode_upgrades(root: Path) -> None:
    opencode_tables(root, "1.2.1", "ses_a", updated=NOON + 86_400_000)


def opencode_starts_anew(root: Path) -> None:
    opencode_tables(root, "1.18.33")


def opencode_loses_its_files(root: Path) -> None:
    opencode_upgrades(root)
    shutil.rmtree(root / "storage")


@pytest.mark.parametrize(
    ("begin", "event", "numbers"),
    [
        pytest.param(
            lambda root: opencode_files(root, "ses_a"), opencode_upgrades, (8, 8), id="upgrade"
        ),
        pytest.param(
            lambda root: opencode_files(root, "ses_a"), opencode_starts_anew, (8, 8), id="new"
        ),
        pytest.param(
            lambda root: opencode_files(root, "ses_a"), opencode_loses_its_files, (8, 8), id="lost"
        ),
        pytest.param(
            lambda root: opencode_tables(root, "1.15.13", "ses_a"),
            lambda root: opencode_tables(root, "1.15.13", "ses_b", updated=NOON + 60_000),
            (8, 8),
            id="fork",
        ),
    ],
)
async def test_what_opencode_does(
    database: Database, tmp_path: Path, begin: Act, event: Act, numbers: tuple[int, int]
) -> None:
    assert await grown(database, tmp_path, OpenCodeImporter, begin, event) == numbers


# --- The samples -----------------------------------------------------------------------------


def becomes(client: str, name: str) -> Act:
    """Return what puts another state of the same store in the place of the first."""

    def change(root: Path) -> None:
        shutil.rmtree(root)
        shutil.copytree(DATA / client / name / "store", root)

    return change


@pytest.mark.parametrize(
    ("importer", "stores", "numbers"),
    [
        (CodexImporter, ("codex", "0.122.0", "0.122.0-migrated"), (38, 38)),
        # The newer client was asked once more: a prompt and its answer.
        (OpenCodeImporter, ("opencode", "1.1.65", "1.1.65-imported-by-1.2.1"), (12, 14)),
        (OpenCodeImporter, ("opencode", "1.1.65", "1.1.65-upgraded"), (12, 14)),
    ],
)
async def test_what_the_clients_did_to_the_samples(
    database: Database,
    tmp_path: Path,
    importer: Callable[[], Importer],
    stores: tuple[str, str, str],
    numbers: tuple[int, int],
) -> None:
    client, before, after = stores
    root = copied(DATA / client / before, tmp_path)
    event = becomes(client, after)
    assert await grown(database, root, importer, lambda _: None, event) == numbers
