"""A file of which no record is known is an alarm, not a success."""

import json
from collections import Counter
from pathlib import Path

import pytest
from imports import line, run, runner

from importers import report
from importers.alarm import STRANGE
from importers.base import Batch, Store
from importers.claude import ClaudeImporter
from importers.codex import CodexImporter
from importers.coverage import compare
from importers.opencode import OpenCodeImporter
from importers.report import ClientReport, Report, Strange
from importers.tell import told
from memory import crud
from memory.database import Database

THREAD = "01a20000-0000-7000-8000-000000000001"
UNKNOWN = line(type="speech-v9", text="hello")


def claude(root: Path, *lines: bytes, name: str = "a") -> Path:
    path = root / "projects" / "proj" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.writelines(lines)
    return path


def said(text: str) -> bytes:
    message = {"role": "user", "content": text}
    return line(type="user", uuid=text, sessionId="s", message=message)


async def strange(database: Database, root: Path) -> list[tuple[str, int]]:
    """Return the alarms of one pass."""
    client = await run(database, root, ClaudeImporter())
    return [(Path(each.path).stem, each.records) for each in client.strange]


async def test_a_file_without_any_known_record_is_told_and_ends_with_1(
    database: Database, tmp_path: Path
) -> None:
    path = claude(tmp_path, UNKNOWN, UNKNOWN, b"no json\n")
    claude(tmp_path, said("hello"), name="b")
    found = await runner(database, tmp_path, ClaudeImporter()).run()
    (client,) = found.clients
    assert client.strange == [Strange(path=str(path), records=3, unknown=3)]
    assert client.skipped == {"unknown: speech-v9": 2}
    assert found.has_failed
    assert client.facts()["strange"] == [{"path": str(path), "records": 3, "unknown": 3}]
    (alarm,) = [each for each in told(found) if "ALARM" in each]
    assert str(path) in alarm
    assert "3 of its 3 records" in alarm


async def test_unknown_records_beside_known_ones_are_counted_and_no_alarm(
    database: Database, tmp_path: Path
) -> None:
    claude(tmp_path, said("hello"), UNKNOWN)
    claude(tmp_path, name="empty")
    assert await strange(database, tmp_path) == []
    claude(tmp_path, UNKNOWN)
    assert await strange(database, tmp_path) == [], "its first record was known"
    claude(tmp_path, UNKNOWN, name="empty")
    assert await strange(database, tmp_path) == [("empty", 1)]


async def test_the_alarm_stays_until_a_record_is_known(database: Database, tmp_path: Path) -> None:
    def states() -> dict[str, list[int] | None]:
        return {Path(key).stem: state.get(STRANGE) for key, state in known.items()}

    claude(tmp_path, UNKNOWN)
    assert await strange(database, tmp_path) == [("a", 1)]
    assert await strange(database, tmp_path) == [], "nothing new"
    machine = database.settings.machine
    known = await database.transact(lambda s: crud.get_checkpoints(s, "claude", machine))
    assert states() == {"a": [1, 1]}
    store = Store(provider="claude", root=tmp_path)
    found = compare(ClaudeImporter(), [store], known)
    assert (found.strange, found.is_whole) == (1, False)
    claude(tmp_path, UNKNOWN)
    assert await strange(database, tmp_path) == [("a", 2)]
    claude(tmp_path, said("at last"))
    assert await strange(database, tmp_path) == []
    known = await database.transact(lambda s: crud.get_checkpoints(s, "claude", machine))
    assert states() == {"a": None}


async def test_a_file_that_is_rewritten_in_a_format_nobody_knows_is_an_alarm(
    database: Database, tmp_path: Path
) -> None:
    path = claude(tmp_path, said("hello"), said("more"))
    assert await strange(database, tmp_path) == []
    path.write_bytes(UNKNOWN)
    assert await strange(database, tmp_path) == [("a", 1)]


async def test_one_new_kind_before_the_first_message_is_no_alarm(
    database: Database, tmp_path: Path
) -> None:
    claude(tmp_path, line(type="mode"), UNKNOWN)
    assert await strange(database, tmp_path) == []
    claude(tmp_path, UNKNOWN)
    assert await strange(database, tmp_path) == [("a", 3)], "most of it is unknown by now"


@pytest.mark.parametrize("header", [[], [{"id": THREAD}]])
async def test_a_rollout_whose_items_nobody_knows_is_an_alarm_with_and_without_its_header(
    database: Database, tmp_path: Path, header: list[dict[str, str]]
) -> None:
    name = f"rollout-2026-11-29T10-00-00-{THREAD}.jsonl"
    path = tmp_path / "sessions" / "2026" / "11" / "29" / name
    path.parent.mkdir(parents=True)
    lines = [line(type="session_meta", payload=each) for each in header]
    path.write_bytes(b"".join([*lines, line(type="speech_v9", payload={}) * 3]))
    client = await run(database, tmp_path, CodexImporter())
    assert client.skipped == {"unknown record: speech_v9": 3}
    assert client.sessions == len(header)
    ((records, unknown),) = [(each.records, each.unknown) for each in client.strange]
    assert (records, unknown) == (3 + len(header), 3)


async def test_a_session_file_of_parts_that_nobody_knows_is_an_alarm(
    database: Database, tmp_path: Path
) -> None:
    storage = tmp_path / "storage"
    files = {
        "session/p/ses_a.json": {"id": "ses_a", "time": {"created": 1}},
        "message/ses_a/msg_1.json": {"role": "user", "time": {"created": 2}},
        **{f"part/msg_1/prt_{n}.json": {"type": "hologram"} for n in range(4)},
    }
    for name, value in files.items():
        (storage / name).parent.mkdir(parents=True, exist_ok=True)
        (storage / name).write_text(json.dumps(value))
    client = await run(database, tmp_path, OpenCodeImporter())
    assert [(each.records, each.unknown) for each in client.strange] == [(6, 4)]


def test_unknown_kinds_are_counted_by_name_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "MAX_RULES", 3)
    client = ClientReport(provider="claude", stores=["/s"])
    for number in range(5):
        rules = Counter({f"unknown: {number}": 1, "unknown: 0": 1})
        client.count_read(Batch(records=rules.total(), skipped=rules))
    assert client.adds_up
    expected = {"unknown: 0": 5, "unknown: 1": 1, "unknown: 2": 1, "unknown: others": 2}
    assert dict(client.skipped) == expected
    assert any("unknown: others 2" in each for each in told(Report(clients=[client])))


def test_alarms_beyond_the_details_are_counted() -> None:
    client = ClientReport(provider="claude", stores=["/s"])
    for number in range(report.MAX_DETAILS + 5):
        client.warn(f"/s/{number}", 2, 2)
    assert (len(client.strange), client.more_strange) == (report.MAX_DETAILS, 5)
    assert "    and 95 more (--json tells up to a hundred)" in told(Report(clients=[client]))
