"""The proof of coverage: what it finds missing, changed, unknown and gone, and what it leaves alone."""

import json
import os
import shutil
from functools import partial
from pathlib import Path

import pytest
from imports import copied, digests, entries, held, line, run, wanted
from proofs import numbers, proved
from readings import DATA, expected, stores

from importers import findings, proof
from importers.claude import ClaudeImporter
from importers.codex import CodexImporter
from importers.opencode import OpenCodeImporter
from importers.registry import IMPORTERS
from memory import crud
from memory.database import Database
from memory.drafts import Draft, Kind, SessionDraft

STORES = [
    pytest.param(client, folder, id=f"{client}-{folder.name}")
    for client in IMPORTERS
    for folder in stores(client)
]
SESSION = "ses_dd8213889ffeWOJxZ2xp7MJNa6"
NEWEST = DATA / "claude" / "2.1.332"


def answered(root: Path) -> Path:
    """Return the file of an answer that is no longer followed by others."""
    parts = sorted(root.rglob("part/**/*.json"))
    return [each for each in parts if '"second done"' in each.read_text()][-1]


@pytest.mark.parametrize(("client", "folder"), STORES)
async def test_after_an_import_everything_of_every_sample_is_covered(
    database: Database, tmp_path: Path, client: str, folder: Path
) -> None:
    root = copied(folder, tmp_path)
    want = expected(folder)
    before = digests(root)
    empty = await proved(database, root, IMPORTERS[client]())
    assert empty.per_cent == 0
    await run(database, root, IMPORTERS[client]())
    found = await proved(database, root, IMPORTERS[client]())
    assert found.is_whole
    assert found.per_cent == 100
    assert (found.records, found.total("imported")) == (want["records"], want["imported"])
    assert found.facts()["skipped"] == want["skipped"]
    differences = numbers(found)
    differences.pop("older", None)  # what a client wrote of one message before its last state
    assert differences == {}
    assert 0 < found.distinct <= found.total("entries")
    assert digests(root) == before


async def test_what_is_not_in_the_ledger_is_listed_by_id_and_offset(
    database: Database, tmp_path: Path
) -> None:
    root = copied(NEWEST, tmp_path)
    await run(database, root, ClaudeImporter())
    path = root / "projects" / "-home-dev-proj" / "new.jsonl"
    message = {"role": "user", "content": "hello"}
    first = line(type="mode", mode="default")
    path.write_bytes(first + line(type="user", uuid="u1", sessionId="new", message=message))
    found = await proved(database, root, ClaudeImporter())
    assert not found.is_whole
    lacking = [(each.id, each.offset, each.path) for each in found.lacking]
    assert lacking == [("u1", len(first), str(path)), ("session new", None, str(path))]
    (file,) = [each for each in found.files if each.path == str(path)]
    assert (file.records, file.entries, file.missing, file.skipped["mode"]) == (2, 1, 2, 1)
    assert file.is_being_written
    await run(database, root, ClaudeImporter())
    assert (await proved(database, root, ClaudeImporter())).is_whole


async def test_a_changed_record_is_told_apart_from_a_missing_one(
    database: Database, tmp_path: Path
) -> None:
    root = copied(DATA / "opencode" / "1.1.65", tmp_path)
    await run(database, root, OpenCodeImporter())
    part = answered(root)
    part.write_text(part.read_text().replace("second done", "second undone"))
    found = await proved(database, root, OpenCodeImporter())
    assert numbers(found) == {"changed": 1, "lacking": 1}
    assert found.lacking[0].is_changed
    assert found.lacking[0].offset == part.stem
    await run(database, root, OpenCodeImporter())
    assert numbers(await proved(database, root, OpenCodeImporter())) == {}


async def test_a_store_that_goes_back_to_an_older_state_is_covered_still(
    database: Database, tmp_path: Path
) -> None:
    root = copied(DATA / "opencode" / "1.1.65", tmp_path)
    backup = Path(shutil.copytree(root, tmp_path / "backup"))
    await run(database, root, OpenCodeImporter())
    part = answered(root)
    part.write_text(part.read_text().replace("second done", "second undone"))
    await run(database, root, OpenCodeImporter())
    shutil.rmtree(root)
    shutil.copytree(backup, root)
    found = await proved(database, root, OpenCodeImporter())
    assert found.is_whole
    assert numbers(found) == {"older": 1}


async def test_what_lies_before_a_checkpoint_is_mended_and_the_checkpoint_stays(
    database: Database, tmp_path: Path
) -> None:
    root = copied(DATA / "opencode" / "1.1.65", tmp_path)
    await run(database, root, OpenCodeImporter())
    part = next(each for each in root.rglob("prt_*.json") if "Second [[" in each.read_text())
    secret = "ghp_" + "x1Y2" * 9
    looked = part.stat()  # all that an import looks at
    value = {**json.loads(part.read_text()), "text": f"With {secret} [["}
    part.write_text(json.dumps(value, separators=(",", ":")).ljust(looked.st_size))
    os.utime(part, ns=(looked.st_atime_ns, looked.st_mtime_ns))
    assert part.stat().st_size == looked.st_size
    machine = database.settings.machine
    look = partial(crud.get_checkpoints, provider="opencode", machine=machine)
    before = await database.transact(look)
    await run(database, root, OpenCodeImporter())
    assert numbers(await proved(database, root, OpenCodeImporter())) == {"changed": 1, "lacking": 1}
    mended = await proved(database, root, OpenCodeImporter(), mend=True)
    assert (mended.mended, numbers(mended), mended.is_whole) == (1, {}, True)
    assert (await proved(database, root, OpenCodeImporter(), mend=True)).mended == 0
    assert await database.transact(look) == before
    texts = [each.content for each in await entries(database, "opencode", SESSION)]
    assert any("With [redacted:github-token] [[" in text for text in texts)
    assert secret not in str(texts)


async def test_a_ledger_that_was_lost_is_filled_by_mending_alone(
    database: Database, tmp_path: Path
) -> None:
    root = copied(DATA / "claude" / "2.1.197", tmp_path)
    want = expected(DATA / "claude" / "2.1.197")
    filled = await proved(database, root, ClaudeImporter(), mend=True)
    assert filled.is_whole
    assert await held(database, "claude", want["sessions"]) == wanted("claude", want["sessions"])
    report = await run(database, root, ClaudeImporter())
    assert (report.records, report.drafts - report.known) == (want["records"], 0)


async def test_what_the_client_removed_is_told_and_is_no_fault(
    database: Database, tmp_path: Path
) -> None:
    root = copied(DATA / "codex" / "0.47.0", tmp_path)
    report = await run(database, root, CodexImporter())
    (path,) = (root / "sessions").rglob("*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: len(lines) // 2]))
    shorter = await proved(database, root, CodexImporter())
    assert shorter.is_whole
    (gone,) = shorter.vanished
    assert (gone.path, gone.reason) == (str(path), "no longer in the file")
    assert numbers(shorter) == {"vanished": gone.entries, "gone": gone.entries}
    path.unlink()
    nothing = await proved(database, root, CodexImporter())
    assert nothing.is_whole
    (all_gone,) = nothing.vanished
    messages = report.appended - 1  # the model of the session is no record of its own
    assert (all_gone.entries, all_gone.reason) == (messages, "the file is gone")


async def test_what_was_read_in_another_folder_is_not_called_removed(
    database: Database, tmp_path: Path
) -> None:
    await run(database, copied(NEWEST, tmp_path), ClaudeImporter())
    (tmp_path / "other" / "projects").mkdir(parents=True)
    found = await proved(database, tmp_path / "other", ClaudeImporter())
    assert {each.reason for each in found.vanished} == {"in another folder"}
    assert found.is_whole


async def test_entries_of_tools_and_of_other_machines_are_no_ones_missing_record(
    database: Database, tmp_path: Path
) -> None:
    root = copied(NEWEST, tmp_path)
    await run(database, root, ClaudeImporter())
    session = SessionDraft(
        provider="claude", source_session_id="by-tool", source_client="claude", machine="m"
    )
    facts = {"kind": Kind.MESSAGE, "source_client": "claude", "session_id": session.id}
    tool = Draft(content="a", source_id="t1", role="user", **facts)
    origin = {"path": "/elsewhere/a.jsonl", "offset": 0, "hash": "0"}
    other = Draft(content="b", source_id="t2", machine="another", origin=origin, **facts)
    await database.transact(lambda s: crud.start_sessions(s, [session]))
    await database.transact(lambda s: crud.append(s, [tool, other]))
    assert numbers(await proved(database, root, ClaudeImporter())) == {}


async def test_a_file_of_which_nothing_is_known_is_never_covered(
    database: Database, tmp_path: Path
) -> None:
    root = copied(NEWEST, tmp_path)
    path = root / "projects" / "-home-dev-proj" / "future.jsonl"
    path.write_bytes(line(type="message-v9", text="x") + line(kind="turn") + b"[1]\n")
    await run(database, root, ClaudeImporter())
    found = await proved(database, root, ClaudeImporter())
    (file,) = [each for each in found.files if not each.is_whole]
    assert (file.path, file.is_strange, file.records, file.unreadable) == (str(path), True, 3, 1)
    assert file.skipped == {"unknown: message-v9": 1, "unknown: None": 1}


async def test_a_source_that_cannot_be_read_is_told_and_stops_no_other(
    database: Database, tmp_path: Path
) -> None:
    root = copied(NEWEST, tmp_path)
    await run(database, root, ClaudeImporter())
    loop = root / "projects" / "-home-dev-proj" / "loop.jsonl"
    loop.symlink_to(loop)
    found = await proved(database, root, ClaudeImporter())
    assert [each.failed.partition(":")[0] for each in found.files if each.failed] == ["OSError"]
    assert numbers(found) == {}
    assert not found.is_whole


async def test_what_is_lacking_is_told_in_bounds_and_counted_in_full(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(findings, "MAX_LACKING", 5)
    monkeypatch.setattr(proof, "_AT_ONCE", 3)
    root = copied(NEWEST, tmp_path)
    facts = (await proved(database, root, ClaudeImporter())).facts()
    assert len(facts["lacking"]) == 5
    assert facts["more_lacking"] == facts["missing"] - 5 > 0
    assert json.dumps(facts)


async def test_small_looks_find_the_same(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = copied(DATA / "codex" / "0.122.0", tmp_path)
    await run(database, root, CodexImporter())
    for path in root.rglob("*.jsonl"):
        path.unlink()
    whole = await proved(database, root, CodexImporter())
    monkeypatch.setattr(proof, "_PAGE", 2)
    assert (await proved(database, root, CodexImporter())).vanished == whole.vanished
    assert sum(each.entries for each in whole.vanished) == 38


async def test_what_an_importer_stores_meanwhile_is_not_missing(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = copied(NEWEST, tmp_path)

    look_again = proof.Prover._look_again

    async def later(self: proof.Prover, client: findings.ClientProof) -> None:
        assert client.total("missing") > 0
        await run(database, root, ClaudeImporter())
        await look_again(self, client)

    monkeypatch.setattr(proof.Prover, "_look_again", later)
    found = await proved(database, root, ClaudeImporter())
    assert (found.lacking, found.is_whole) == ([], True)
