"""Every version's way to store a session gives the same entries, found by looking at the data."""

import json
from pathlib import Path
from typing import Any

import pytest
from eras import (
    NOON,
    TEXTS,
    claude_copy,
    claude_file,
    claude_turn,
    codex_bare,
    codex_file,
    codex_header,
    codex_items,
    codex_migrated,
    codex_replayed,
    codex_turn,
    codex_wrapped,
    ident,
    numbered,
    opencode_files,
    opencode_tables,
    stamp,
    write,
)
from readings import Reading, read

from importers.claude import ClaudeImporter
from importers.codex import CodexImporter
from importers.opencode import OpenCodeImporter
from memory.drafts import session_id_of

ONE, TWO = ident("one"), ident("two")
ROLES = ["user", "tool_call", "tool_result", "assistant"] * 2


def roles(reading: Reading, session: str) -> list[str | None]:
    return [each.role for each in reading.messages(session)]


def unknown(reading: Reading) -> list[str]:
    return [rule for rule in reading.skipped if rule.startswith("unknown")]


# --- Claude Code -----------------------------------------------------------------------------


def conversation(version: str, session: str = ONE, **fields: Any) -> list[dict[str, Any]]:
    return [
        *claude_turn("first", session, version, **fields),
        *claude_turn("second", session, version, start=10, **fields),
    ]


@pytest.mark.parametrize("version", ["1.0.40", "1.0.70"])
def test_claude_before_1_0_103_resumes_into_a_copy_with_other_ids(
    tmp_path: Path, version: str
) -> None:
    first = claude_turn("first", ONE, version)
    write(claude_file(tmp_path, ONE), first)
    copied = claude_copy(first, TWO, start=60, new_uuids=True)
    more = claude_turn("second", TWO, version, start=70)
    write(claude_file(tmp_path, TWO), [*copied, *more])
    reading = read(ClaudeImporter(), tmp_path)
    assert reading.texts(ONE) + reading.texts(TWO) == TEXTS
    assert (reading.records, reading.repeated) == (12, 4)
    assert not reading.changed


def test_claude_1_0_103_resumes_into_a_copy_with_the_same_ids(tmp_path: Path) -> None:
    version = "1.0.103"
    side = {"isSidechain": True}
    agent = [
        {**each, **side, "uuid": ident("side", each["uuid"]), "parentUuid": None}
        for each in claude_turn("first", ONE, version, start=5)[:1]
    ]  # fmt: skip - one row
    first = claude_turn("first", ONE, version)
    write(claude_file(tmp_path, ONE), [*first, *agent])
    summary = {"type": "summary", "summary": "A listing", "leafUuid": first[-1]["uuid"]}
    copied = claude_copy(first, TWO, start=60, new_uuids=False)
    more = claude_turn("second", TWO, version, start=70)
    write(claude_file(tmp_path, TWO), [summary, *copied, *more])
    reading = read(ClaudeImporter(), tmp_path)
    assert reading.texts(ONE) + reading.texts(TWO) == TEXTS
    assert reading.attributes(ONE)["title"] == "A listing"
    assert reading.texts(f"{ONE}/sidechain-{agent[0]['uuid']}") == ["first prompt"]
    assert reading.repeated == 4
    assert not reading.changed


@pytest.mark.parametrize("version", ["2.0.5", "2.0.35"])
def test_claude_2_0_resumes_in_the_same_file_and_keeps_agents_beside_it(
    tmp_path: Path, version: str
) -> None:
    path = write(claude_file(tmp_path, ONE), claude_turn("first", ONE, version))
    agent = {"isSidechain": True, "agentId": "0a1b2c3d"}
    write(claude_file(tmp_path, "agent-0a1b2c3d"), claude_turn("first", ONE, version, **agent))
    warm = claude_turn("first", ONE, version, isSidechain=True, agentId="ffffffff")
    warm[0]["message"]["content"] = "Warmup"
    write(claude_file(tmp_path, "agent-ffffffff"), warm)
    importer, reading = ClaudeImporter(), Reading()
    assert read(importer, tmp_path, reading).texts(ONE) == TEXTS[:4]
    write(path, claude_turn("second", ONE, version, start=10))
    assert read(importer, tmp_path, reading).texts(ONE) == TEXTS
    assert reading.texts(f"{ONE}/agent-0a1b2c3d") == TEXTS[:4]
    assert reading.sessions[f"{ONE}/agent-0a1b2c3d"].parent == ONE
    assert reading.skipped == {"warm-up agent": 4}
    assert reading.repeated == 0


def test_claude_2_1_47_writes_each_block_as_it_closes_with_the_tokens_so_far(
    tmp_path: Path,
) -> None:
    version = "2.1.47"
    rows = conversation(version, slug="quick-otter")
    for row in rows:
        if row["type"] == "assistant":
            row["message"] |= {"stop_reason": None, "usage": {"output_tokens": 1}}
    write(claude_file(tmp_path, ONE), rows)
    agent = {"isSidechain": True, "agentId": "a1"}
    nested = claude_file(tmp_path, f"{ONE}/subagents/agent-a1")
    write(nested, claude_turn("first", ONE, version, **agent))
    reading = read(ClaudeImporter(), tmp_path)
    assert reading.texts(ONE) == TEXTS
    assert roles(reading, ONE) == ROLES
    assert reading.sessions[f"{ONE}/agent-a1"].parent == ONE
    used = [(each.payload or {}).get("usage", {}) for each in reading.messages(ONE)]
    assert sum(each.get("output_tokens", 0) for each in used) == 4


@pytest.mark.parametrize("version", ["2.1.197", "2.1.332"])
def test_claude_2_1_forks_into_a_copy_that_differs_in_its_session_alone(
    tmp_path: Path, version: str
) -> None:
    rows = conversation(version)
    write(claude_file(tmp_path, ONE), rows)
    fork = [{**row, "sessionId": TWO} for row in rows]
    own = claude_turn("third", TWO, version, start=20)
    write(claude_file(tmp_path, TWO), [*fork, *own])
    reading = read(ClaudeImporter(), tmp_path)
    assert reading.texts(ONE) == TEXTS
    assert reading.texts(TWO)[0] == "third prompt"
    assert (len(reading.messages()), reading.repeated) == (12, 8)


# --- Codex -----------------------------------------------------------------------------------


WRAPPED = ["0.47", "0.92", "0.122", "0.145", "0.158", "0.171"]


def test_codex_0_20_writes_bare_items(tmp_path: Path) -> None:
    write(codex_file(tmp_path, ONE), codex_bare(ONE))
    reading = read(CodexImporter(), tmp_path)
    assert reading.texts(ONE) == TEXTS
    assert roles(reading, ONE) == ROLES
    assert reading.skipped == {"client state": 1}


@pytest.mark.parametrize("era", WRAPPED)
def test_codex_of_every_wrapped_era_says_everything_once(tmp_path: Path, era: str) -> None:
    write(codex_file(tmp_path, ONE), codex_wrapped(ONE, era))
    reading = read(CodexImporter(), tmp_path)
    assert reading.texts(ONE) == TEXTS
    assert roles(reading, ONE) == ROLES
    assert reading.skipped["duplicate of a response item"] == 4
    assert not unknown(reading)
    session = reading.sessions[ONE]
    assert (session.directory, session.payload["version"]) == ("/home/dev/proj", era)
    assert session.payload["git_branch"] == "main"
    found = reading.attributes(ONE)
    assert found["model"] == "gpt-x"
    assert found.get("tokens") == ("21" if era in WRAPPED[2:] else None)


@pytest.mark.parametrize("era", WRAPPED)
def test_codex_resumes_in_the_same_file(tmp_path: Path, era: str) -> None:
    lines = codex_wrapped(ONE, era)
    half = len(codex_wrapped(ONE, era, ["first"]))
    importer, reading = CodexImporter(), Reading()
    path = write(codex_file(tmp_path, ONE), lines[:half])
    assert read(importer, tmp_path, reading).texts(ONE) == TEXTS[:4]
    write(path, lines[half:])
    assert read(importer, tmp_path, reading).texts(ONE) == TEXTS
    assert reading.repeated == 0


@pytest.mark.parametrize("era", ["0.122", "0.145"])
def test_codex_before_0_158_forks_by_replaying_its_parent(tmp_path: Path, era: str) -> None:
    parent = codex_wrapped(ONE, era)
    write(codex_file(tmp_path, ONE), parent)
    own = codex_turn("third", era, start=200)
    write(codex_file(tmp_path, TWO), [*codex_replayed(parent, TWO, ONE, era), *own])
    reading = read(CodexImporter(), tmp_path)
    assert reading.texts(ONE) == TEXTS
    assert reading.texts(TWO)[0] == "third prompt"
    assert len(reading.messages()) == 12
    assert reading.attributes(TWO)["forked_from"] == str(session_id_of("codex", ONE))
    assert reading.skipped["copied header"] == 1


def test_codex_0_171_forks_without_a_copy(tmp_path: Path) -> None:
    parent = codex_wrapped(ONE, "0.171")
    write(codex_file(tmp_path, ONE), parent)
    base = {"thread_id": ONE, "end_ordinal_exclusive": len(parent)}
    header = codex_header(TWO, "0.171", forked_from_id=ONE, history_base=base)
    own = numbered([header, *codex_turn("third", "0.171", start=200)], first=len(parent))
    write(codex_file(tmp_path, TWO), own)
    reading = read(CodexImporter(), tmp_path)
    assert (len(reading.messages(ONE)), len(reading.messages(TWO))) == (8, 4)
    assert reading.attributes(TWO)["forked_from"] == str(session_id_of("codex", ONE))


@pytest.mark.parametrize("era", ["0.47", "0.92", "0.122", "0.145"])
def test_codex_migrates_a_file_in_place_and_every_identity_stays(tmp_path: Path, era: str) -> None:
    lines = codex_wrapped(ONE, era)
    path = write(codex_file(tmp_path, ONE), lines)
    importer, reading = CodexImporter(), Reading()
    before = set(read(importer, tmp_path, reading).entries)
    path.unlink()
    write(path, codex_migrated(lines))
    read(importer, tmp_path, reading)
    assert set(reading.entries) == before
    assert not reading.changed


def test_codex_0_171_goes_on_in_a_file_of_0_122(tmp_path: Path) -> None:
    old = codex_wrapped(ONE, "0.122", ["first"])
    write(codex_file(tmp_path, ONE), [*old, *codex_turn("second", "0.145", start=20)])
    reading = read(CodexImporter(), tmp_path)
    assert reading.texts(ONE) == TEXTS
    assert not unknown(reading)


def test_codex_keeps_a_compactions_summary_and_not_the_history_it_repeats(tmp_path: Path) -> None:
    for era, thread in (("0.92", ONE), ("0.145", TWO)):
        lines = codex_wrapped(thread, era)
        payload: dict[str, Any] = {"message": f"the gist of {era}"}
        if era == "0.145":
            payload["replacement_history"] = codex_items("first")
        compacted = {"timestamp": stamp(50), "type": "compacted", "payload": payload}
        event = {"type": "context_compacted"}
        told = {"timestamp": stamp(50), "type": "event_msg", "payload": event}
        write(codex_file(tmp_path, thread), [*lines, compacted, told])
    reading = read(CodexImporter(), tmp_path)
    assert reading.texts(ONE) == [*TEXTS, "the gist of 0.92"]
    # Without a turn id the session stands for it: these are two sessions' own words.
    assert reading.texts(TWO) == [*TEXTS, "the gist of 0.145"]


# --- OpenCode --------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ["1.2.1", "1.3.2", "1.15.13", "1.18.33"])
def test_opencode_of_every_version_with_tables_says_everything_once(
    tmp_path: Path, era: str
) -> None:
    opencode_tables(tmp_path, era, "ses_a")
    reading = read(OpenCodeImporter(), tmp_path)
    assert reading.texts("ses_a") == TEXTS
    assert roles(reading, "ses_a") == ROLES
    assert reading.sessions["ses_a"].payload["version"] == era
    assert not unknown(reading)


def test_opencode_in_files_says_the_same_as_in_tables(tmp_path: Path) -> None:
    opencode_files(tmp_path, "ses_a")
    files = set(read(OpenCodeImporter(), tmp_path).entries)
    opencode_tables(tmp_path, "1.2.1", "ses_a", updated=NOON + 86_400_000)
    both = read(OpenCodeImporter(), tmp_path)
    assert set(both.entries) == files
    assert both.texts("ses_a") == TEXTS
    assert not both.changed


def test_opencode_1_0_writes_files_without_a_directory_of_the_session(tmp_path: Path) -> None:
    opencode_files(tmp_path, "ses_a")
    path = tmp_path / "storage" / "session" / "p" / "ses_a.json"
    session = json.loads(path.read_text())
    path.write_text(json.dumps({**session, "directory": None}))
    assert read(OpenCodeImporter(), tmp_path).texts("ses_a") == TEXTS
