"""A pass over clients' stores: everything once, nothing lost, and numbers that add up."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from imports import entries, line, run, runner

from importers import keep as keeping
from importers import tail
from importers.base import Batch, Source, Store
from importers.claude import ClaudeImporter
from importers.proof import Prover
from importers.tail import Normalised, Record
from importers.turns import ACTIVE, SHARE, Turns
from memory import crud
from memory.crud import checkpoints
from memory.database import Database
from memory.drafts import Draft, Kind, SessionDraft, session_id_of
from memory.errors import Unavailable

GITHUB = "gh" + "p_" + "a1B2" * 9
SECRET = "hunter2 must not be told"
SESSION = "00000000-0000-4000-8000-000000000001"
OTHER = "00000000-0000-4000-8000-000000000002"


@dataclass
class Lines:
    """A client of the simplest kind: a line is a message of the session that its file names."""

    provider: str = "claude"
    read_by: list[str] = field(default_factory=list)
    after: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def stores(self, _environment: Mapping[str, str], _home: Path) -> list[Store]:
        return []

    def sources(self, store: Store) -> Iterator[Source]:
        for path in sorted(store.root.glob("*.jsonl")):
            after = tuple(str(store.root / name) for name in self.after.get(path.name, ()))
            yield Source(store=store, path=path, key=str(path), after=after)

    def read(self, source: Source, state: Mapping[str, Any] | None) -> Batch:
        self.read_by.append(source.path.stem)
        if source.path.read_bytes() == b"a bug\n":
            raise RuntimeError(SECRET)
        if source.path.read_bytes() == b"a disk\n":
            raise OSError(5, "Input/output error", str(source.path))
        return tail.read(source, state, self.normalise)

    def normalise(self, record: Record, _context: dict[str, Any]) -> Normalised:
        name = record.value.get("session", Path(record.path).stem)
        session = SessionDraft(
            provider=self.provider,
            source_client=self.provider,
            source_session_id=name,
            directory="/home/dev/proj",
        )
        draft = Draft(
            kind=Kind.MESSAGE,
            content=record.value["text"],
            role="user",
            source_client=self.provider,
            provider=self.provider,
            session_id=session.id,
            source_id=str(record.value["id"]),
            position=record.offset,
            payload=record.value.get("payload"),
            origin=record.origin,
        )
        return Normalised(sessions=[session], drafts=[draft])


def write(root: Path, name: str, *ids: object, **fields: Any) -> Path:
    path = root / f"{name}.jsonl"
    with path.open("ab") as file:
        file.writelines(line(id=each, text=f"text of {each}", **fields) for each in ids)
    return path


async def texts(database: Database, session: str) -> list[str]:
    return [entry.content for entry in await entries(database, "claude", session)]


async def test_entries_and_checkpoint_stand_or_fall_together(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "a", 1, 2)

    async def fail(*_arguments: object, **_options: object) -> None:
        raise Unavailable

    with monkeypatch.context() as patch:
        patch.setattr(keeping, "set_checkpoints", fail)
        with pytest.raises(Unavailable):
            await run(database, tmp_path, Lines())
    assert sum(each.entries for each in await database.transact(crud.totals)) == 0
    client = await run(database, tmp_path, Lines())
    assert client.appended == 2


async def test_a_pass_that_is_cut_off_between_batches_is_continued(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "BATCH_RECORDS", 3)
    for name in "abc":
        write(tmp_path, name, *(f"{name}{number}" for number in range(10)))
    real, calls = checkpoints.set_checkpoints, []

    async def fail_later(*arguments: Any, **options: Any) -> None:
        calls.append(arguments)
        if len(calls) > 1:
            raise Unavailable
        await real(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(keeping, "set_checkpoints", fail_later)
        with pytest.raises(Unavailable):
            await run(database, tmp_path, Lines())
    client = await run(database, tmp_path, Lines())
    committed = 3 * 3  # a transaction takes one batch of each file; the second one failed
    assert client.records == client.appended == 30 - committed
    for name in "abc":
        assert await texts(database, name) == [f"text of {name}{number}" for number in range(10)]


async def test_an_importer_that_is_killed_loses_and_repeats_nothing(
    database: Database, environment: dict[str, str], tmp_path: Path
) -> None:
    for number in range(40):
        path = tmp_path / "projects" / "proj" / f"{number:08}-0000-4000-8000-000000000000.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = (
            line(
                type="user",
                uuid=f"{number}-{each}",
                sessionId=path.stem,
                cwd="/home/dev/proj",
                version="2.1.197",
                timestamp="2026-11-29T10:00:00Z",
                message={"role": "user", "content": f"{number} says {each}"},
            )
            for each in range(100)
        )
        path.write_bytes(b"".join(rows))
    command = [sys.executable, "-m", "importers.claude", "--root", str(tmp_path)]
    process = await asyncio.create_subprocess_exec(*command, env=environment)
    async with asyncio.timeout(60):
        while not await database.transact(
            lambda s: crud.get_checkpoints(s, "claude", database.settings.machine)
        ):
            assert process.returncode is None
    process.send_signal(signal.SIGKILL)
    await process.wait()
    await run(database, tmp_path, ClaudeImporter())
    (total,) = [
        each for each in await database.transact(crud.totals) if each.source_client == "claude"
    ]
    assert total.sessions == 40
    assert len(await texts(database, "00000007-0000-4000-8000-000000000000")) == 100
    found = [
        len(await texts(database, f"{number:08}-0000-4000-8000-000000000000"))
        for number in range(40)
    ]
    assert found == [100] * 40


async def test_sources_that_cannot_be_read_keep_no_other_back(
    database: Database, tmp_path: Path
) -> None:
    write(tmp_path, "a", 1)
    (tmp_path / "b.jsonl").write_bytes(b"a bug\n")
    (tmp_path / "c.jsonl").write_bytes(b"a disk\n")
    write(tmp_path, "d", 2)
    client = await run(database, tmp_path, Lines())
    assert client.appended == 2
    assert [(Path(each.path).name, each.reason) for each in client.failed] == [
        ("b.jsonl", "RuntimeError"),
        ("c.jsonl", f"OSError: [Errno 5] Input/output error: '{tmp_path / 'c.jsonl'}'"),
    ]


async def test_the_log_says_where_a_fault_arose_and_not_what_the_source_holds(
    database: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "b.jsonl"
    path.write_bytes(b"a bug\n")
    await run(database, tmp_path, Lines())
    (record,) = caplog.records
    assert record.exc_info is None
    assert f"reading {path} failed with RuntimeError" in caplog.text
    assert "test_import_run.py" in caplog.text
    assert SECRET not in caplog.text


async def test_a_draft_that_the_ledger_refuses_keeps_no_other_back(
    database: Database, tmp_path: Path
) -> None:
    write(tmp_path, "a", 1, "x" * 600, 3)
    client = await run(database, tmp_path, Lines())
    assert (client.drafts, client.appended, client.refused) == (3, 2, 1)
    (refused,) = client.refused_records
    assert (refused.path, refused.offset) == (
        str(tmp_path / "a.jsonl"),
        len(line(id=1, text="text of 1")),
    )
    assert "source id" in refused.reason
    again = await run(database, tmp_path, Lines())
    assert again.records == 0


async def test_credentials_are_redacted_before_anything_is_stored(
    database: Database, tmp_path: Path
) -> None:
    text = f"use {GITHUB} please"
    row = line(id=1, text=text, payload={"input": {"token": GITHUB}, "note": text})
    (tmp_path / "a.jsonl").write_bytes(row + line(id=2, text="nothing here"))
    client = await run(database, tmp_path, Lines())
    assert client.appended == 2
    assert client.redacted.total() == 3
    (entry, _) = await entries(database, "claude", "a")
    assert entry.content.startswith("use [redacted:")
    assert entry.content.endswith("] please")
    assert GITHUB not in json.dumps(entry.payload)
    states = await database.transact(
        lambda s: crud.get_checkpoints(s, "claude", database.settings.machine)
    )
    assert GITHUB not in json.dumps(states)
    again = await run(Database(replace(database.settings, machine="b")), tmp_path, Lines())
    assert (again.known, again.redacted.total()) == (2, 0), "told once, and still known as the same"


async def test_a_payload_too_deep_to_look_through_is_left_out(
    database: Database, tmp_path: Path
) -> None:
    deep: Any = GITHUB
    for _ in range(500):
        deep = [deep]
    (tmp_path / "a.jsonl").write_bytes(line(id=1, text="hello", payload={"deep": deep}))
    client = await run(database, tmp_path, Lines())
    assert client.appended == 1
    (entry,) = await entries(database, "claude", "a")
    assert "nested deeper" in str((entry.payload or {})["omitted"])


async def test_what_a_client_changes_is_kept_in_both_versions(
    database: Database, tmp_path: Path
) -> None:
    path = write(tmp_path, "a", 1, 2)
    await run(database, tmp_path, Lines())
    path.write_bytes(line(id=1, text="edited by the client") + line(id=2, text="text of 2"))
    client = await run(database, tmp_path, Lines())
    assert [each.event for each in client.events] == ["rewritten"]
    assert (client.changed, client.known) == (1, 1)
    assert set(await texts(database, "a")) == {"text of 1", "text of 2", "edited by the client"}
    again = await run(Database(replace(database.settings, machine="b")), tmp_path, Lines())
    assert (again.appended, again.known) == (0, 2)


async def test_a_loss_in_the_clients_store_is_remembered_by_the_ledger(
    database: Database, tmp_path: Path
) -> None:
    path = write(tmp_path, "a", 1, 2, 3)
    await run(database, tmp_path, Lines())
    os.truncate(path, 0)
    client = await run(database, tmp_path, Lines())
    assert [each.event for each in client.events] == ["truncated"]
    assert client.appended == 1, "the event"
    assert len(await texts(database, "a")) == 3


async def test_a_source_that_vanishes_takes_nothing_along_and_may_return(
    database: Database, tmp_path: Path
) -> None:
    path = write(tmp_path, "a", 1)
    lasting = runner(database, tmp_path, Lines())
    await lasting.run()
    away = path.rename(tmp_path / "away")

    async def events() -> list[str]:
        (client,) = (await lasting.run()).clients
        return [each.event for each in client.events]

    assert await events() == ["vanished"]
    assert await events() == [], "told once"
    assert await texts(database, "a") == ["text of 1"]
    away.rename(path)
    assert await events() == ["returned"]
    assert await events() == []


async def test_a_copied_session_gets_an_edge_to_its_original(
    database: Database, tmp_path: Path
) -> None:
    write(tmp_path, "a", 1, 2)
    write(tmp_path, "b", 1, 2, 3)
    write(tmp_path, "c", 1, 2, 3, 4)
    client = await run(database, tmp_path, Lines())
    assert (client.appended, client.known) == (4 + 2, 5)
    origins = {}
    for name in "abc":
        view = await database.transact(
            lambda s, n=name: crud.get_session(s, session_id_of("claude", n))
        )
        origins[name] = view.attributes.get("forked_from")
    assert origins == {
        "a": None,
        "b": str(session_id_of("claude", "a")),
        "c": str(session_id_of("claude", "b")),
    }


async def test_a_copy_that_is_listed_first_waits_for_its_original(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "BATCH_RECORDS", 1)
    write(tmp_path, "a-copy", 1, 2, 3, 4)
    write(tmp_path, "b", 1, 2, 3)
    importer = Lines(after={"a-copy.jsonl": ("b.jsonl",)})
    await run(database, tmp_path, importer)
    assert await texts(database, "a-copy") == ["text of 4"]
    assert importer.read_by.index("a-copy") > importer.read_by.index("b")


async def test_a_long_file_does_not_starve_the_others(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "BATCH_RECORDS", 2)
    write(tmp_path, "a-long", *range(40))
    write(tmp_path, "b", "b1", "b2", "b3")
    importer = Lines()
    await run(database, tmp_path, importer)
    assert importer.read_by[:4] == ["a-long", "b", "a-long", "b"]


def source(name: str, *after: str) -> Source:
    return Source(
        store=Store(provider="claude", root=Path("/x")), path=Path(name), key=name, after=after
    )


def test_many_long_files_do_not_starve_those_behind_them() -> None:
    turns = Turns([source(f"long{number}") for number in range(ACTIVE)] + [source("short")])
    for _ in range(ACTIVE * SHARE + 1):
        each = turns.next()
        assert each is not None
        if each.key == "short":
            break
        turns.again(each)
    else:
        pytest.fail("the short file had no turn")


def test_sources_that_wait_for_one_another_are_read_all_the_same() -> None:
    turns = Turns([source("a", "b"), source("b", "a"), source("c", "c")])
    seen = []
    while (each := turns.next()) is not None:
        seen.append(each.key)
        turns.done(each)
    assert sorted(seen) == ["a", "b", "c"]
    assert turns.left == 0


async def test_a_pass_ends_between_two_batches_when_it_is_told_to(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "BATCH_RECORDS", 1)
    write(tmp_path, "a", *range(10))
    stopping = runner(database, tmp_path, Lines())
    stopping.progress = lambda step: stopping.stop.set() if step.records == 3 else None
    report = await stopping.run()
    assert report.stopped
    assert report.clients[0].appended == 3
    rest = await run(database, tmp_path, Lines())
    assert rest.appended == 7


async def test_two_passes_at_once_store_everything_once(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "BATCH_RECORDS", 5)
    for name in "abcd":
        write(tmp_path, name, *(f"{name}{number}" for number in range(30)))
    reports = await asyncio.gather(*(runner(database, tmp_path, Lines()).run() for _ in range(3)))
    assert sum(report.clients[0].appended for report in reports) == 120
    assert all(report.clients[0].adds_up for report in reports)
    assert not any(report.has_failed for report in reports)


async def test_one_connection_is_enough(database: Database, tmp_path: Path) -> None:
    write(tmp_path, "a", 1, 2)
    narrow = Database(replace(database.settings, pool_size=1, max_overflow=0))
    try:
        assert (await run(narrow, tmp_path, Lines())).appended == 2
    finally:
        await narrow.close()


async def test_a_store_that_cannot_be_listed_is_told(database: Database, tmp_path: Path) -> None:
    class Unlisted(Lines):
        def sources(self, store: Store) -> Iterator[Source]:
            raise PermissionError(13, "Permission denied", str(store.root))

    client = await run(database, tmp_path, Unlisted())
    assert "Permission denied" in client.failed[0].reason


async def test_a_fault_while_a_store_is_listed_stops_no_other_store(
    database: Database, tmp_path: Path
) -> None:
    class Faulty(Lines):
        def sources(self, store: Store) -> Iterator[Source]:
            raise TypeError(f"unhashable type in {store.root}")

    write(tmp_path, "a", 1, 2)
    importers = [Faulty(), Lines()]
    report = await runner(database, tmp_path, *importers).run()
    assert [each.reason for each in report.clients[0].failed] == ["TypeError"]
    assert report.clients[1].appended == 2
    prover = Prover(
        database=database, importers=importers, environment={}, home=tmp_path, root=tmp_path
    )
    faulty, whole = await prover.run()
    assert [each.failed for each in faulty.files] == ["TypeError"]
    assert whole.is_whole
    assert not faulty.is_whole


async def test_another_pass_of_the_same_runner_asks_the_database_nothing_new(
    database: Database, tmp_path: Path
) -> None:
    write(tmp_path, "a", 1)
    lasting = runner(database, tmp_path, Lines())
    await lasting.run()
    await lasting.run()
    await database.close()

    async def refuse(_work: object) -> None:
        raise AssertionError("the database was asked")

    database.transact = refuse  # type: ignore[method-assign,assignment] # to see that it is not called
    report = await lasting.run()
    assert report.is_quiet
