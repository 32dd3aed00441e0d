"""Values of other types where a store is listed: one odd row must not cost the files beside it."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from importers.base import Store
from importers.registry import IMPORTERS

DATA = Path(__file__).resolve().parent / "data"
ODD: tuple[Any, ...] = (None, True, -1, 10**30, "", "9" * 5000, [], [[{}]], {}, {"a": {"b": 1}})
ROWS = 3
"""Rows at the beginning of a file that may be looked at when its store is listed."""


def stores() -> list[Path]:
    """Return the folders of the samples that hold lines: a session in files or tables has none."""
    found = [path for path in sorted(DATA.glob("*/*/store")) if any(path.rglob("*.jsonl"))]
    assert {path.parent.parent.name for path in found} == {"claude", "codex", "pi"}
    return found


def odd_rows(line: bytes) -> Iterator[bytes]:
    """Yield a row with each of its values, and of those one level below, of another type."""
    row = json.loads(line)
    for name, value in row.items():
        for odd in ODD:
            yield json.dumps({**row, name: odd}).encode()
        if isinstance(value, dict):
            for inner in value:
                for odd in (None, "9" * 5000, [], {}):
                    yield json.dumps({**row, name: {**value, inner: odd}}).encode()


@pytest.mark.parametrize("store", stores(), ids=lambda path: "-".join(path.parts[-3:-1]))
def test_an_odd_row_at_the_head_of_a_file_costs_no_other_file(store: Path, tmp_path: Path) -> None:
    client = store.parent.parent.name
    root = tmp_path / "store"
    shutil.copytree(store, root)
    first = list(IMPORTERS[client]().sources(Store(provider=client, root=root)))
    paths = {source.path for source in first}
    path = first[0].path
    whole = path.read_bytes().splitlines(keepends=True)
    for number, line in enumerate(whole[:ROWS]):
        for odd in odd_rows(line):
            path.write_bytes(b"".join([*whole[:number], odd, b"\n", *whole[number + 1 :]]))
            importer = IMPORTERS[client]()  # which has seen no head of a file yet
            found = list(importer.sources(Store(provider=client, root=root)))
            assert {source.path for source in found} == paths
            (source,) = (each for each in found if each.path == path)
            batch = importer.read(source, None)
            counted = batch.imported + batch.skipped.total() + len(batch.unreadable)
            assert batch.records == counted


def test_titles_that_cannot_be_listed_cost_no_session_and_are_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused(folder: Path) -> None:
        raise PermissionError(13, "Permission denied", str(folder))

    store = Store(provider="codex", root=DATA / "codex" / "0.171.0" / "store")
    monkeypatch.setattr("importers.codex.titles._listed", refused)
    importer = IMPORTERS["codex"]()
    for _ in range(3):
        assert len(list(importer.sources(store))) > 1
    assert caplog.text.count("Permission denied") == 1


def test_titles_of_another_shape_cost_no_session(tmp_path: Path) -> None:
    root = tmp_path / "store"
    shutil.copytree(DATA / "codex" / "0.171.0" / "store", root)
    rows = [{"id": odd, "thread_name": other} for odd in ODD for other in ODD]
    deep = b'{"id": "a", "thread_name": ' + b"[" * 900 + b"]" * 900 + b"}"
    lines = [*(json.dumps(row).encode() for row in rows), deep]
    (root / "session_index.jsonl").write_bytes(b"\n".join(lines))
    store = Store(provider="codex", root=root)
    assert len(list(IMPORTERS["codex"]().sources(store))) > 1
