"""What clocks, copies and great numbers of files do to reading on."""

import asyncio
import os
from pathlib import Path

import pytest
from test_tail import ids, number, pack, read_all, row, write

from importers import flow, tail
from importers.base import Store
from importers.claude import ClaudeImporter
from importers.reader import Reader
from importers.report import ClientReport
from memory.database import Database
from memory.settings import Settings

HOUR = 3_600_000_000_000


@pytest.mark.parametrize("jump", [-HOUR, HOUR])
def test_a_clock_that_jumps_hides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: int
) -> None:
    path = write(tmp_path / "a.jsonl", row(1))
    now = path.stat().st_ctime_ns + jump
    monkeypatch.setattr(tail.time, "time_ns", lambda: now)
    first = read_all(path)
    with path.open("ab") as file:
        file.write(row(2))
    os.utime(path, ns=(0, first.state["times"][0] - jump))
    assert ids(read_all(path, first.state)) == ["2"]


def test_times_that_were_set_anew_in_bulk_give_the_same_records_again(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{name}.jsonl", row(name, text="x")) for name in "abc"]
    states = [read_all(path).state for path in paths]
    for path in paths:
        os.utime(path, ns=(0, 0))
    for path, state in zip(paths, states, strict=True):
        again = read_all(path, state)
        assert again.events == ["touched"]
        assert ids(again) == [path.stem]
        assert not read_all(path, again.state).events


def test_a_copy_with_the_old_times_is_told_from_its_original(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", row(1), row(2))
    first = read_all(path)
    status = path.stat()
    write(tmp_path / "new", row(1), row(3)).replace(path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    again = read_all(path, first.state)
    assert again.events == ["replaced"]
    assert ids(again) == ["1", "3"]


def test_a_settled_archive_gives_way_to_a_plain_file_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.jsonl", row(1))
    packed = pack(path)
    later = packed.stat().st_ctime_ns + HOUR
    monkeypatch.setattr(tail.time, "time_ns", lambda: later)
    settled = read_all(packed, key=path).state
    assert settled["settled"]
    write(path, row(1), row(2))
    assert ids(read_all(packed, settled, key=path)) == ["2"]


def test_thousands_of_unchanged_files_are_looked_at_and_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "projects" / "p"
    folder.mkdir(parents=True)
    importer, store = ClaudeImporter(), Store(provider="claude", root=tmp_path)
    for place in range(3000):
        (folder / f"{place:08}-0000-4000-8000-000000000000.jsonl").write_bytes(b"{}\n")
    monkeypatch.setattr(tail.time, "time_ns", lambda: 2**62)
    sources = list(importer.sources(store))
    states = {each.key: tail.read(each, None, number).state for each in sources}
    opened: list[Path] = []
    monkeypatch.setattr(tail, "opened", opened.append)
    client = ClientReport(provider="claude")
    database = Database(Settings(home=tmp_path, machine="m"))
    made = flow.Flow(
        database=database,
        importer=importer,
        sources=list(importer.sources(store)),
        states=states,
        client=client,
        stop=asyncio.Event(),
        reader=Reader(machine="m"),
    )
    asyncio.run(made.run())
    assert len(sources) == 3000
    assert not opened
    assert client.records == 0
    assert not client.failed
