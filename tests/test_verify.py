"""Verifying an entry: is the client's record still what was stored?"""

import shutil
from pathlib import Path
from typing import Any

import pytest
from backports import zstd
from imports import copied, line, run
from readings import DATA
from sqlalchemy import select

from importers.claude import ClaudeImporter
from importers.codex import CodexImporter
from importers.opencode import OpenCodeImporter
from importers.verify import Verified, Verifier
from memory import crud
from memory.database import Database
from memory.drafts import Draft, Kind, SessionDraft
from memory.errors import InvalidInput, NotFound
from memory.models import Entry

SESSION = "00000000-0000-4000-8000-000000000001"
SECRET = "ghp_" + "x1Y2" * 9


def said(uuid: str, text: str) -> bytes:
    message = {"role": "user", "content": text}
    return line(type="user", uuid=uuid, sessionId=SESSION, message=message)


def claude(root: Path, *lines: bytes) -> Path:
    path = root / "projects" / "proj" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))
    return path


def compressed(path: Path) -> Path:
    """Do what Codex does to an idle rollout."""
    packed = path.with_name(path.name + ".zst")
    packed.write_bytes(zstd.compress(path.read_bytes()))
    path.unlink()
    return packed


async def entry(database: Database, text: str, **where: Any) -> Entry:
    """Return the oldest entry whose content holds this text."""
    conditions = [getattr(Entry, name) == value for name, value in where.items()]
    statement = select(Entry).where(Entry.content.contains(text), *conditions)
    found = await database.transact(lambda s: s.scalar(statement.order_by(Entry.id).limit(1)))
    assert found is not None
    return found


async def verify(database: Database, root: Path, ident: object) -> Verified:
    verifier = Verifier(database=database, environment={}, home=Path("/nonexistent"), root=root)
    return await verifier.verify(str(ident))


async def verdict(database: Database, root: Path, text: str, **where: Any) -> str:
    return str((await verify(database, root, (await entry(database, text, **where)).id)).verdict)


async def test_a_record_that_is_where_it_was_is_the_same_even_when_a_secret_was_taken_out(
    database: Database, tmp_path: Path
) -> None:
    path = claude(tmp_path, said("u1", "hello"), said("u2", f"use {SECRET} here"))
    await run(database, tmp_path, ClaudeImporter())
    kept = await entry(database, "[redacted:")
    found = await verify(database, tmp_path, kept.id)
    assert (found.verdict, found.has_same_bytes) == ("same", True)
    assert found.facts()["stored"]["path"] == str(path)
    assert SECRET not in str(found.facts())
    path.write_bytes(said("u1", "hello") + said("u2", "use ghp_" + "z9Y8" * 9 + " here"))
    assert await verdict(database, tmp_path, "[redacted:") == "changed"


async def test_a_record_that_moved_within_its_file_or_with_it_is_found_by_its_id(
    database: Database, tmp_path: Path
) -> None:
    path = claude(tmp_path, said("u1", "hello"))
    await run(database, tmp_path, ClaudeImporter())
    claude(tmp_path, said("u0", "before"), said("u1", "hello"))
    shifted = await verify(database, tmp_path, (await entry(database, "hello")).id)
    assert (shifted.verdict, shifted.has_same_bytes) == ("moved", True)
    assert shifted.found is not None
    assert shifted.found["offset"] == len(said("u0", "before"))
    claude(tmp_path, said("u1", "hello"))
    other = tmp_path / "projects" / "worktree" / path.name
    other.parent.mkdir()
    path.rename(other)
    away = await verify(database, tmp_path, (await entry(database, "hello")).id)
    assert (away.verdict, away.found and away.found["path"]) == ("moved", str(other))


async def test_a_changed_and_a_vanished_record_are_told_and_the_entry_stays(
    database: Database, tmp_path: Path
) -> None:
    claude(tmp_path, said("u1", "hello"), said("u2", "more"))
    await run(database, tmp_path, ClaudeImporter())
    claude(tmp_path, said("u1", "hullo"))
    assert await verdict(database, tmp_path, "hello") == "changed"
    assert await verdict(database, tmp_path, "more") == "vanished"
    await run(database, tmp_path, ClaudeImporter())
    assert await verdict(database, tmp_path, "hello") == "changed", "an older version, for ever"
    assert await verdict(database, tmp_path, "hullo") == "same"
    shutil.rmtree(tmp_path / "projects" / "proj")
    assert await verdict(database, tmp_path, "hello") == "vanished"


async def test_a_compressed_an_archived_and_a_migrated_rollout_are_followed(
    database: Database, tmp_path: Path
) -> None:
    root = copied(DATA / "codex" / "0.122.0", tmp_path)
    await run(database, root, CodexImporter())
    where = {"role": "user", "provider": "codex"}
    origin = (await entry(database, "[[", **where)).origin or {}
    path = Path(origin["path"])
    packed = compressed(path)
    assert await verdict(database, root, "[[", **where) == "same"
    archived = root / "archived_sessions" / packed.name
    archived.parent.mkdir()
    packed.rename(archived)
    assert await verdict(database, root, "[[", **where) == "moved"
    shutil.rmtree(root)
    shutil.copytree(DATA / "codex" / "0.122.0-migrated" / "store", root)
    found = await verify(database, root, (await entry(database, "[[", **where)).id)
    assert (found.verdict, found.has_same_bytes) == ("moved", False)


@pytest.mark.parametrize("store", ["1.1.65", "1.18.33"])
async def test_rows_and_parts_of_opencode_are_compared_by_what_they_say(
    database: Database, tmp_path: Path, store: str
) -> None:
    root = copied(DATA / "opencode" / store, tmp_path)
    await run(database, root, OpenCodeImporter())
    statement = select(Entry).where(Entry.kind == Kind.MESSAGE, Entry.origin.is_not(None))
    entries = (await database.transact(lambda s: s.scalars(statement.limit(9)))).all()
    for each in entries:
        assert (await verify(database, root, each.id)).verdict == "same"
    for path in [*root.rglob("*.json"), *root.glob("opencode.db*")]:
        path.unlink()
    assert (await verify(database, root, entries[0].id)).verdict == "vanished"


async def test_a_prompt_whose_part_was_changed_in_place_is_changed(
    database: Database, tmp_path: Path
) -> None:
    root = copied(DATA / "opencode" / "1.1.65", tmp_path)
    await run(database, root, OpenCodeImporter())
    assert await verdict(database, root, "second done", role="user") == "same"
    part = next(each for each in root.rglob("prt_*.json") if "Second [[" in each.read_text())
    part.write_text(part.read_text().replace("Second [[", "2nd [["))
    assert await verdict(database, root, "second done", role="user") == "changed"


async def test_what_no_importer_took_from_a_record_is_foreign(
    database: Database, tmp_path: Path
) -> None:
    claude(tmp_path)
    session = SessionDraft(
        provider="claude", source_session_id="s", source_client="claude", machine="m"
    )
    facts = {"source_client": "claude", "session_id": session.id}
    tool = Draft(kind=Kind.MESSAGE, content="by a tool", source_id="t", role="user", **facts)
    await database.transact(lambda s: crud.start_sessions(s, [session]))
    await database.transact(lambda s: crud.append(s, [tool]))
    assert await verdict(database, tmp_path, "by a tool") == "foreign"


async def test_a_record_of_another_machine_is_not_called_vanished(
    database: Database, tmp_path: Path
) -> None:
    path = claude(tmp_path, said("u1", "hello"))
    session = SessionDraft(
        provider="claude", source_session_id="s", source_client="claude", machine="m"
    )
    origin = {"path": "/elsewhere/a.jsonl", "offset": 0, "hash": "0"}
    draft = Draft(
        kind=Kind.MESSAGE,
        content="far away",
        source_client="claude",
        session_id=session.id,
        source_id="far",
        machine="another",
        origin=origin,
    )
    await database.transact(lambda s: crud.start_sessions(s, [session]))
    await database.transact(lambda s: crud.append(s, [draft]))
    assert path.exists()
    assert await verdict(database, tmp_path, "far away") == "elsewhere"


async def test_what_names_no_entry_is_refused(database: Database, tmp_path: Path) -> None:
    claude(tmp_path, said("u1", "hello"))
    await run(database, tmp_path, ClaudeImporter())
    found = await entry(database, "hello")
    with pytest.raises(InvalidInput, match="takes the id of an entry"):
        await verify(database, tmp_path, found.session_id)
    with pytest.raises(NotFound):
        await verify(database, tmp_path, "0" * 32)
