"""Cases that went wrong elsewhere and have no other test here; docs/lessons.md has them all."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from eras import claude_file, claude_turn, ident, opencode_tables, stamp, write
from imports import entries, run
from proofs import proved
from readings import DATA, read

from importers.claude import ClaudeImporter
from importers.coverage import compare
from importers.opencode import OpenCodeImporter
from importers.registry import IMPORTERS
from memory import crud
from memory.database import Database

ROOT = Path(__file__).resolve().parent.parent
LESSONS = (ROOT / "docs" / "lessons.md").read_text("utf-8")
ROWS = {
    "a": (1, 2, 4, 5, 6, 8, 9, 11, 12, 13, 14, 16, 17, 18, 20, 21, 23, 25, 26, 27, 28, 30),
    "b": (1, 2, 4, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18),
    "c": (1, 2, 3, 5, 6, 7, 10, 11, 12),
    "h": (1, 2, 4, 5, 6, 7),
}
ONE, TWO = ident("one"), ident("two")
NEW = "2.1.332"


def test_every_lesson_is_decided_and_names_a_test_that_there_is() -> None:
    told = re.findall(r"^\| ([a-h]\d+) \|", LESSONS, re.MULTILINE)
    assert told == [f"{group}{number}" for group, numbers in ROWS.items() for number in numbers]
    files = [path.read_text("utf-8") for path in (ROOT / "tests").glob("test_*.py")]
    there = set(re.findall(r"def (test_\w+)", "\n".join(files)))
    for row in re.findall(r"^\| [a-h]\d+ \|.*$", LESSONS, re.MULTILINE):
        names = re.findall(r"`(test_\w+)`", row)
        assert names, row
        assert set(names) <= there, row


def test_a_history_that_is_written_again_each_turn_is_stored_once(tmp_path: Path) -> None:
    rows = claude_turn("first", ONE, NEW)
    more = claude_turn("second", ONE, NEW, start=10)
    write(claude_file(tmp_path, ONE), [*rows, *rows, *more, *rows, *more])
    reading = read(ClaudeImporter(), tmp_path)
    assert (reading.records, len(reading.messages())) == (20, 8)
    assert not reading.changed


def test_hundreds_of_attachments_between_two_messages_lose_neither(tmp_path: Path) -> None:
    first, *rest = claude_turn("first", ONE, NEW)
    hooks: list[dict[str, Any]] = []
    for number in range(300):
        attachment = {"type": "hook_success", "content": "ok"}
        parent = hooks[-1]["uuid"] if hooks else first["uuid"]
        made = {"type": "attachment", "uuid": ident("hook", number), "parentUuid": parent}
        hooks.append({**made, "sessionId": ONE, "attachment": attachment})
    rest[0]["parentUuid"] = hooks[-1]["uuid"]
    write(claude_file(tmp_path, ONE), [first, *hooks, *rest])
    reading = read(ClaudeImporter(), tmp_path)
    assert len(reading.messages(ONE)) == 4
    assert reading.skipped == {"attachment": 300}


def test_a_folders_name_is_never_decoded_into_a_directory(tmp_path: Path) -> None:
    rows = claude_turn("first", ONE, NEW, cwd="/home/dev/my-app_v1.2/übung")
    path = tmp_path / "projects" / "-home-dev-my-app-v1-2--bung" / f"{ONE}.jsonl"
    write(path, rows)
    nameless = claude_turn("second", TWO, NEW, cwd=None)
    write(path.with_name(f"{TWO}.jsonl"), nameless)
    sessions = read(ClaudeImporter(), tmp_path).sessions
    assert sessions[ONE].directory == "/home/dev/my-app_v1.2/übung"
    assert sessions[TWO].directory is None


async def test_agents_of_the_same_id_in_two_sessions_are_two_sessions(
    database: Database, tmp_path: Path
) -> None:
    for number, session in enumerate((ONE, TWO)):
        agent = {"isSidechain": True, "agentId": "0a1b2c3d"}
        rows = claude_turn(f"turn {number}", session, NEW, **agent)
        write(claude_file(tmp_path, f"{session}/subagents/agent-0a1b2c3d"), rows)
    report = await run(database, tmp_path, ClaudeImporter())
    assert (report.sessions, report.refused) == (2, 0)
    for number, session in enumerate((ONE, TWO)):
        (prompt, *_) = await entries(database, "claude", f"{session}/agent-0a1b2c3d")
        assert prompt.content == f"turn {number} prompt"


async def test_a_text_that_the_client_lost_between_two_thoughts_is_told(
    database: Database, tmp_path: Path
) -> None:
    def thought(number: int, name: str, *, text: str = "") -> dict[str, Any]:
        block = {"type": "text", "text": text} if text else {"type": "thinking", "thinking": "hm"}
        message = {"role": "assistant", "id": name, "model": "m", "content": [block]}
        made = {"type": "assistant", "uuid": ident(name, number), "sessionId": ONE}
        return {**made, "timestamp": stamp(number), "version": NEW, "message": message}

    rows = [
        *(thought(1, "lost"), thought(2, "lost")),
        *(thought(3, "whole"), thought(4, "whole", text="said"), thought(5, "whole")),
        *(thought(6, "next"), thought(7, "last")),
    ]
    write(claude_file(tmp_path, ONE), rows)
    await run(database, tmp_path, ClaudeImporter())
    found = await proved(database, tmp_path, ClaudeImporter())
    assert (found.total("gaps"), found.is_whole) == (1, True)
    machine = database.settings.machine
    states = await database.transact(lambda s: crud.get_checkpoints(s, "claude", machine))
    assert compare(ClaudeImporter(), [], states).gaps == 1


async def test_nul_and_halves_of_emoji_in_a_tools_output_stop_no_import(
    database: Database, tmp_path: Path
) -> None:
    path = opencode_tables(tmp_path, "1.15.13", "ses_a")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        statement = "UPDATE part SET data = replace(data, 'first output', ?)"
        connection.execute(statement, ("a\\u0000b \\ud83d",))
    report = await run(database, tmp_path, OpenCodeImporter())
    assert (report.refused, report.unreadable) == (0, 0)
    found = [each for each in await entries(database, "opencode", "ses_a") if "b " in each.content]
    assert [each.content for each in found] == ["a\N{SYMBOL FOR NULL}b \N{REPLACEMENT CHARACTER}"]
    assert (found[0].payload or {})["replaced_characters"] == 2
    assert (await proved(database, tmp_path, OpenCodeImporter())).is_whole


async def test_what_the_harness_said_is_kept_and_not_counted(
    database: Database, tmp_path: Path
) -> None:
    rows = claude_turn("first", ONE, NEW)
    meta = {**rows[0], "uuid": ident("meta"), "isMeta": True}
    write(claude_file(tmp_path, ONE), [*rows, meta])
    await run(database, tmp_path, ClaudeImporter())
    assert len(await entries(database, "claude", ONE)) == 5
    (listed,) = await database.transact(crud.list_sessions)
    (total,) = await database.transact(crud.totals)
    assert (listed.entries, total.entries, total.harness) == (4, 4, 1)


@pytest.mark.parametrize("client", ["claude/2.1.332", "codex/0.171.0", "opencode/1.18.33"])
async def test_what_an_import_appended_is_what_the_status_counts(
    database: Database, client: str
) -> None:
    importer = IMPORTERS[client.partition("/")[0]]()
    report = await run(database, DATA / client / "store", importer)
    (total,) = await database.transact(crud.totals)
    assert report.appended == total.entries + total.harness + total.attributes
    assert min(total.entries, total.harness, total.attributes) > 0
