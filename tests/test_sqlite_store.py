"""Clients' databases are read whole, and stay as they are to the last byte."""

import errno
import hashlib
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from importers import sqlite_store
from importers.sqlite_store import Copies

LIVE = """
import json, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for line in sys.stdin:
    rows = [connection.execute(statement).fetchall() for statement in json.loads(line)]
    print(json.dumps(rows), flush=True)
"""
TABLE = "CREATE TABLE note (text)"
INSERT = "INSERT INTO note VALUES ('one')"
WAL = ("PRAGMA journal_mode=WAL", "PRAGMA wal_autocheckpoint=0", TABLE, INSERT)


class Client:
    """Another process that has the database open, as the real client would."""

    def __init__(self, path: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", LIVE, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, *statements: str) -> list[list[list[object]]]:
        assert self.process.stdin
        assert self.process.stdout
        print(json.dumps(statements), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "client"
    folder.mkdir()
    return folder / "client store.db"


@pytest.fixture
def client(path: Path) -> Iterator[Client]:
    client = Client(path)
    yield client
    client.kill()


def files(path: Path) -> dict[str, tuple[str, int]]:
    return {
        file.name: (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns)
        for file in path.parent.iterdir()
    }


def notes(path: Path, copies: Copies | None = None) -> list[str]:
    with sqlite_store.reading(path, tables={"note"}, copies=copies or Copies()) as connection:
        return [row["text"] for row in connection.execute("SELECT text FROM note")]


def test_a_database_in_use_is_read_where_it_lies_and_keeps_its_bytes(
    path: Path, client: Client
) -> None:
    client.run(*WAL)
    for count in range(1, 4):
        before = files(path)
        assert notes(path) == ["one"] * count
        assert files(path) == before
        client.run(INSERT)
    client.run("PRAGMA wal_checkpoint(TRUNCATE)", INSERT)
    assert len(notes(path)) == 5


def test_rows_that_are_not_committed_are_not_seen(path: Path, client: Client) -> None:
    client.run(*WAL, "BEGIN IMMEDIATE", INSERT)
    assert notes(path) == ["one"]


def test_a_killed_client_leaves_a_database_that_is_read_without_recovering_it(
    path: Path, client: Client
) -> None:
    client.run(*WAL)
    client.kill()
    before = files(path)
    assert set(before) == {path.name, f"{path.name}-wal", f"{path.name}-shm"}
    assert notes(path) == ["one"]
    assert files(path) == before


@pytest.mark.parametrize("lost", [["-shm"], ["-shm", "-wal"]])
def test_missing_side_files_are_not_made(path: Path, client: Client, lost: list[str]) -> None:
    client.run(*WAL, "PRAGMA wal_checkpoint(TRUNCATE)", "INSERT INTO note VALUES ('late')")
    client.kill()
    for side in lost:
        path.with_name(path.name + side).unlink()
    before = files(path)
    assert notes(path) == (["one"] if "-wal" in lost else ["one", "late"])
    assert files(path) == before


def test_everything_in_the_wal_is_read_although_the_database_is_one_page(
    path: Path, client: Client
) -> None:
    client.run("PRAGMA journal_mode=WAL", "PRAGMA wal_autocheckpoint=0", TABLE, INSERT)
    client.kill()
    path.with_name(f"{path.name}-shm").unlink()
    assert path.stat().st_size == 4096
    assert notes(path) == ["one"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write into a read-only folder")
def test_a_read_only_folder_is_read_from_a_copy(path: Path, client: Client) -> None:
    client.run(*WAL)
    client.kill()
    path.with_name(f"{path.name}-shm").unlink()
    path.parent.chmod(0o500)
    try:
        assert notes(path) == ["one"]
    finally:
        path.parent.chmod(0o700)


def test_a_rollback_journal_left_by_a_kill_is_undone_in_a_copy_only(
    path: Path, client: Client
) -> None:
    client.run(
        "PRAGMA journal_mode=DELETE",
        "PRAGMA cache_size=1",
        TABLE,
        INSERT,
        "BEGIN IMMEDIATE",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)"
        " INSERT INTO note SELECT 'lost' FROM n",
    )
    client.kill()
    before = files(path)
    assert f"{path.name}-journal" in before
    assert notes(path) == ["one"]
    assert files(path) == before


def test_one_copy_serves_until_the_database_changes(path: Path, client: Client) -> None:
    client.run(*WAL)
    client.kill()
    shm = path.with_name(f"{path.name}-shm")
    shm.unlink()
    copies = Copies()
    first = copies.of(path)
    assert copies.of(path) == first
    with_another = Client(path)
    with_another.run(INSERT)
    with_another.kill()
    shm.unlink()
    assert notes(path, copies) == ["one", "one"]
    assert not first.parent.exists()
    second = copies.of(path)
    copies.drop(path)
    assert not second.parent.exists()


def test_copies_go_with_the_object_that_made_them(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(TABLE)
    connection.close()
    copies = Copies()
    folder = copies.of(path).parent
    assert folder.stat().st_mode & 0o077 == 0
    del copies
    assert not folder.exists()


def test_a_copy_needs_room(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(TABLE)
    connection.close()
    monkeypatch.setattr(sqlite_store, "SPARE_BYTES", 1 << 60)
    with pytest.raises(OSError, match="set TMPDIR") as caught:
        Copies().of(path)
    assert caught.value.errno == errno.ENOSPC


def test_a_locked_database_is_tried_again_and_then_named(
    path: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.run("PRAGMA journal_mode=DELETE", TABLE, INSERT, "BEGIN EXCLUSIVE")
    monkeypatch.setattr(sqlite_store, "BUSY_SECONDS", 0.01)
    monkeypatch.setattr(sqlite_store, "PAUSE_SECONDS", 0.001)
    with pytest.raises(OSError, match="locked") as caught:
        notes(path)
    assert (caught.value.errno, caught.value.filename) == (errno.EBUSY, str(path))
    client.run("COMMIT")
    assert notes(path) == ["one"]


def test_what_is_no_database_is_named(path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        notes(path)
    path.write_text("some text that is long enough to have a header")
    with pytest.raises(OSError, match="not an SQLite database") as caught:
        notes(path)
    assert caught.value.filename == str(path)


def test_a_damaged_database_is_an_error_of_its_file(path: Path, client: Client) -> None:
    client.run("PRAGMA journal_mode=DELETE", TABLE, *[INSERT] * 100)
    client.kill()
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    with pytest.raises(OSError, match="cannot read this database") as caught:
        notes(path)
    assert caught.value.errno == errno.EIO


def test_a_damaged_name_in_the_schema_is_an_error_of_its_file(path: Path, client: Client) -> None:
    client.run(
        TABLE,
        "PRAGMA writable_schema=ON",
        "UPDATE sqlite_master SET name = CAST(x'c0c1' AS TEXT), sql = 'CREATE TABLE ('",
    )
    client.kill()
    with pytest.raises(OSError, match="cannot read this database") as caught:
        notes(path)
    assert caught.value.errno == errno.EIO


def test_an_empty_file_is_a_database_without_tables(path: Path) -> None:
    path.touch()
    with sqlite_store.reading(path, tables=(), copies=Copies()) as connection:
        assert sqlite_store.columns(connection, "note") == frozenset()
    assert path.stat().st_size == 0


def test_only_the_named_tables_can_be_read_and_nothing_written(path: Path, client: Client) -> None:
    client.run(*WAL, "CREATE TABLE credential (value)", "CREATE VIEW v AS SELECT * FROM credential")
    for statement in (
        "SELECT * FROM credential",
        "SELECT count(*) FROM credential",
        "SELECT * FROM v",
        "INSERT INTO note VALUES ('two')",
        "ATTACH '/dev/null' AS other",
    ):
        with (
            pytest.raises(OSError, match=r"prohibited|not authorized"),
            sqlite_store.reading(path, tables={"note"}, copies=Copies()) as connection,
        ):
            connection.execute(statement).fetchall()


def test_columns_are_looked_up_in_the_database(path: Path, client: Client) -> None:
    client.run(*WAL)
    with sqlite_store.reading(path, tables={"note"}, copies=Copies()) as connection:
        assert sqlite_store.columns(connection, "note") == {"text"}
        assert sqlite_store.columns(connection, "session_v2") == frozenset()


def test_the_stamp_changes_with_every_write(path: Path, client: Client) -> None:
    client.run(*WAL)
    before = sqlite_store.stamp(path)
    assert sqlite_store.stamp(path) == before
    client.run(INSERT)
    assert sqlite_store.stamp(path) != before


@pytest.mark.parametrize("side", ["-wal", "-shm", "-journal"])
def test_a_pipe_in_the_place_of_a_journal_is_an_error_and_nothing_to_wait_for(
    path: Path, side: str
) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(TABLE)
    connection.close()
    path.with_name(f"{path.name}-wal").touch()
    beside = path.with_name(path.name + side)
    beside.unlink(missing_ok=True)
    os.mkfifo(beside)
    with (
        pytest.raises(OSError, match="no regular file") as error,
        sqlite_store.reading(path, tables={"note"}, copies=Copies()),
    ):
        pass
    assert error.value.filename == str(beside)
