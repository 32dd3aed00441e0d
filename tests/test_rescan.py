"""Scanning what is stored with newer rules: where and of which kind, never what."""

import uuid
from pathlib import Path

import pytest
from imports import line, run
from sqlalchemy import insert

from importers import rescan as module
from importers.claude import ClaudeImporter
from importers.rescan import Rescan, rescan
from memory import crud
from memory.database import Database
from memory.drafts import Draft, Kind, SessionDraft, content_hash, session_attribute
from memory.errors import InvalidInput
from memory.models import Session

TOKEN = "ghp_" + "x1Y2" * 9
KEY = "sk-ant-" + "api03-" + "Ab1_" * 24 + "AA"


async def plant(database: Database, *drafts: Draft) -> list[uuid.UUID]:
    """Store drafts as an importer with poorer rules did: nothing is redacted or refused."""
    answers = await database.transact(lambda s: crud.append(s, drafts, imported=True))
    return [answer.id for answer in answers]


def draft(content: str, **fields: object) -> Draft:
    number = str(fields.pop("number", content_hash(content, str(fields)).hex()))
    kind = fields.pop("kind", Kind.MESSAGE)
    return Draft(kind=kind, content=content, source_client="claude", source_id=number, **fields)  # type: ignore[arg-type] - a test's fields


async def test_what_older_rules_let_through_is_reported_by_kind_and_id(database: Database) -> None:
    session = SessionDraft(provider="claude", source_session_id="s", source_client="claude")
    await database.transact(lambda s: crud.start_sessions(s, [session]))
    clean, text, payload, title, fact = await plant(
        database,
        draft("nothing here, [redacted:github-token] was taken out"),
        draft(f"one {TOKEN} two {KEY}"),
        draft("see payload", payload={"input": {"env": {"DB_PASSWORD": "correct-horse-7battery"}}}),
        draft(
            f"Deploy with {TOKEN}",
            kind=Kind.SESSION,
            session_id=session.id,
            key=session_attribute(session.id, "title"),
        ),
        draft("correct-horse-7battery", kind=Kind.FACT, key="DB_PASSWORD"),
    )
    found = await rescan(database)
    assert found.scanned == 6
    held = {each.id: set(each.kinds) for each in found.held}
    assert clean not in held
    assert held.keys() == {text, payload, title, fact}
    assert held[text] == {"github-token", "anthropic-key"}
    assert found.kinds["github-token"] == 2
    assert found.holding == 4
    assert found.cursor is None
    said = str(found.facts())
    assert TOKEN not in said
    assert KEY not in said
    assert "battery" not in said


async def test_the_rows_of_sessions_are_scanned_too(database: Database) -> None:
    row = {
        "id": uuid.uuid4(),
        "provider": "claude",
        "source_session_id": "s",
        "source_client": "claude",
        "machine": "m",
        "title": f"Deploy with {TOKEN}",
        "payload": {"cwd": "/home/dev"},
    }
    await database.transact(lambda s: s.execute(insert(Session), [row]))
    found = await rescan(database)
    assert [(each.place, each.id) for each in found.held] == [("session", row["id"])]


async def test_a_scan_goes_on_where_it_left_off(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAGE", 2)
    await plant(database, *(draft(f"{number} {TOKEN}") for number in range(7)))
    session = SessionDraft(provider="claude", source_session_id="s", source_client="claude")
    await database.transact(lambda s: crud.start_sessions(s, [session]))
    parts: list[Rescan] = []
    cursor = None
    while not parts or cursor:
        parts.append(await rescan(database, after=cursor, limit=3))
        cursor = parts[-1].cursor
        assert len(parts) < 9
    assert sum(each.scanned for each in parts) == 8
    assert len({held.id for each in parts for held in each.held}) == 7
    steps: list[tuple[int, int]] = []
    await rescan(database, progress=lambda done, total: steps.append((done, total)))
    assert steps[-1] == (8, 8)
    with pytest.raises(InvalidInput, match="no cursor"):
        await rescan(database, after="elsewhere")


async def test_findings_are_told_in_bounds_and_counted_in_full(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_TOLD", 2)
    await plant(database, *(draft(f"{number} {TOKEN}") for number in range(5)))
    facts = (await rescan(database)).facts()
    assert (facts["holding"], len(facts["held"]), facts["more_held"]) == (5, 2, 3)


async def test_an_import_leaves_nothing_to_find_in_texts_titles_and_sessions(
    database: Database, tmp_path: Path
) -> None:
    folder = tmp_path / "projects" / "proj"
    agents = folder / "s" / "subagents"
    agents.mkdir(parents=True)
    message = {"role": "user", "content": f"use {TOKEN}"}
    first = line(type="user", uuid="u", sessionId="s", cwd="/x", message=message)
    title = line(type="custom-title", sessionId="s", customTitle=f"With {TOKEN}")
    (folder / "s.jsonl").write_bytes(first + title)
    side = line(
        type="user", uuid="v", sessionId="s", agentId="a", isSidechain=True, message=message
    )
    (agents / "agent-a.jsonl").write_bytes(side)
    (agents / "agent-a.meta.json").write_bytes(line(description=f"Use {TOKEN}", agentType=KEY))
    report = await run(database, tmp_path, ClaudeImporter())
    assert report.redacted["github-token"] == 3
    found = await rescan(database)
    assert (found.holding, found.kinds) == (0, {})
    assert found.scanned > 4
