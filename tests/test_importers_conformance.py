"""What every importer has to do, on every store that its client's versions wrote."""

import errno
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from imports import copied, digests, held, run, wanted
from readings import DATA, expected, stores
from sqlalchemy import func, select

from importers.base import Store
from importers.registry import IMPORTERS, importers_of
from importers.report import Report
from memory.database import Database
from memory.drafts import Kind
from memory.errors import InvalidInput
from memory.models import Entry

STORES = [
    pytest.param(client, folder, id=f"{client}-{folder.name}")
    for client in IMPORTERS
    for folder in stores(client)
]
LINES = [each for each in STORES if any(Path(str(each.values[1])).rglob("store/**/*.jsonl"))]

SOURCES = [
    ("claude", "projects/x/00000000-0000-4000-8000-00000000000f.jsonl"),
    ("claude", "projects/x/00000000-0000-4000-8000-00000000000f/subagents/agent-1.jsonl"),
    ("codex", "sessions/2026/01/01/rollout-2026-01-01T00-00-00-x.jsonl"),
    ("codex", "sessions/2026/01/01/rollout-2026-01-01T00-00-00-x.jsonl.zst"),
    ("codex", "archived_sessions/rollout-2026-01-01T00-00-00-x.jsonl"),
    ("opencode", "opencode-x.db"),
    ("opencode", "storage/session/x/ses_x.json"),
    ("opencode", "project/x/storage/session/info/ses_x.json"),
    ("pi", "sessions/--x--/2026-01-01T00-00-00-000Z_x.jsonl"),
    ("pi", "2026-01-01T00-00-00-000Z_x.jsonl"),
]
"""What each client calls a source, wherever its versions keep one."""

SPECIAL: dict[str, tuple[Callable[[Path], None], int]] = {
    "folder": (lambda path: path.mkdir(), errno.EISDIR),
    "pipe": (os.mkfifo, errno.EINVAL),
    "device": (lambda path: path.symlink_to("/dev/zero"), errno.EINVAL),
    "loop": (lambda path: path.symlink_to(path.name), errno.ELOOP),
    "link to nothing": (lambda path: path.symlink_to("nothing"), errno.EINVAL),
}
"""What may lie in a file's place, and the number of the error that says so."""

in_every_store = pytest.mark.parametrize(("client", "folder"), STORES)
in_every_store_of_lines = pytest.mark.parametrize(("client", "folder"), LINES)


def transcripts(root: Path) -> list[Path]:
    """Return the files of lines that hold messages; the others only list or repeat them."""
    listed = {"history.jsonl", "session_index.jsonl"}
    return [each for each in sorted(root.rglob("*.jsonl")) if each.name not in listed]


def test_every_client_has_test_data_and_every_folder_a_client() -> None:
    assert {path.name for path in DATA.iterdir() if stores(path.name)} == set(IMPORTERS)


def test_an_importer_is_called_by_any_name_of_its_client() -> None:
    assert [each.provider for each in importers_of(("claude-code", "claude"))] == ["claude"]
    with pytest.raises(InvalidInput, match="claude, codex, opencode"):
        importers_of(("cursor",))


@in_every_store
async def test_importing_gives_what_the_client_showed(
    database: Database, tmp_path: Path, client: str, folder: Path
) -> None:
    want = expected(folder)
    root = copied(folder, tmp_path)
    before = digests(root)
    report = await run(database, root, IMPORTERS[client]())
    counts = ("records", "imported", "unreadable")
    assert {name: getattr(report, name) for name in counts} == {name: want[name] for name in counts}
    assert dict(report.skipped) == want["skipped"]
    assert report.sessions == len(want["sessions"])
    assert await held(database, client, want["sessions"]) == wanted(client, want["sessions"])
    assert not report.failed
    assert digests(root) == before, "a client's store is never written to"


@in_every_store
async def test_importing_again_adds_nothing(
    database: Database, tmp_path: Path, client: str, folder: Path
) -> None:
    root = copied(folder, tmp_path)
    first = await run(database, root, IMPORTERS[client]())
    second = await run(database, root, IMPORTERS[client]())
    assert (second.records, second.appended) == (0, 0)
    # The same store on a second machine: nothing is known of checkpoints there.
    elsewhere = Database(replace(database.settings, machine="another"))
    try:
        third = await run(elsewhere, root, IMPORTERS[client]())
    finally:
        await elsewhere.close()
    assert (third.records, third.appended, third.sessions) == (first.records, 0, 0)
    counted = select(func.count()).where(Entry.kind != Kind.BINDING)
    assert await database.transact(lambda s: s.scalar(counted)) == first.appended


@in_every_store_of_lines
async def test_a_torn_last_line_waits_for_its_end(
    database: Database, tmp_path: Path, client: str, folder: Path
) -> None:
    want = expected(folder)
    root = copied(folder, tmp_path)
    sources = list(IMPORTERS[client]().sources(Store(provider=client, root=root)))
    complete = {key for source in sources for key in source.after}  # before it was copied from
    tails = {}
    for path in {source.path for source in sources if source.key not in complete}:
        if path.suffix != ".jsonl":
            continue
        whole = path.read_bytes()
        begin = whole.rstrip(b"\n").rfind(b"\n") + 1
        cut = begin + (len(whole) - begin) // 2
        path.write_bytes(whole[:cut])
        tails[path] = whole[cut:]
    first = await run(database, root, IMPORTERS[client]())
    assert first.unreadable == want["unreadable"]
    for path, rest in tails.items():
        with path.open("ab") as file:
            file.write(rest)
    second = await run(database, root, IMPORTERS[client]())
    assert first.records + second.records == want["records"]
    assert await held(database, client, want["sessions"]) == wanted(client, want["sessions"])


@in_every_store_of_lines
async def test_an_unreadable_line_is_named_and_costs_only_itself(
    database: Database, tmp_path: Path, client: str, folder: Path
) -> None:
    want = expected(folder)
    root = copied(folder, tmp_path)
    places = set()
    for path in transcripts(root):
        first, rest = path.read_bytes().split(b"\n", 1)
        path.write_bytes(first + b'\n{"torn": "by a cra\n' + rest)
        places.add((str(path), len(first) + 1))
    report = await run(database, root, IMPORTERS[client]())
    assert {(each.path, each.offset) for each in report.unreadable_records} == places
    assert report.unreadable == want["unreadable"] + len(places)
    assert await held(database, client, want["sessions"]) == wanted(client, want["sessions"])


@pytest.mark.parametrize(("client", "name"), SOURCES)
@pytest.mark.parametrize("kind", SPECIAL)
async def test_what_has_the_name_of_a_source_and_is_no_file_is_told_and_costs_only_itself(
    database: Database, tmp_path: Path, client: str, name: str, kind: str
) -> None:
    folder = stores(client)[0]
    want = expected(folder)
    root = copied(folder, tmp_path)
    files = len(list(IMPORTERS[client]().sources(Store(provider=client, root=root))))
    make, number = SPECIAL[kind]
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    make(path)
    report = await run(database, root, IMPORTERS[client]())
    (failed,) = report.failed
    assert failed.path == str(path)
    assert f"[Errno {number}]" in failed.reason
    assert report.files == files + 1
    assert report.unreadable == want["unreadable"]
    assert await held(database, client, want["sessions"]) == wanted(client, want["sessions"])
    assert Report(clients=[report]).has_failed


async def test_a_pipe_gives_way_to_the_file_of_the_same_thread(
    database: Database, tmp_path: Path
) -> None:
    folder = stores("codex")[0]
    want = expected(folder)
    root = copied(folder, tmp_path)
    (root / "archived_sessions").mkdir(exist_ok=True)
    for path in list((root / "sessions").rglob("rollout-*.jsonl")):
        path.rename(root / "archived_sessions" / path.name)
        os.mkfifo(path)
        os.mkfifo(path.with_name(f"{path.name}.zst"))
    report = await run(database, root, IMPORTERS["codex"]())
    assert not report.failed
    assert await held(database, "codex", want["sessions"]) == wanted("codex", want["sessions"])
