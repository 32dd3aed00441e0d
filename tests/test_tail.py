"""Reading files that grow, are rewritten, moved, compressed and deleted."""

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from backports import zstd
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from importers import archive, lines, tail
from importers.base import Batch, Source, Store
from importers.tail import Malformed, Normalise, Normalised, Record
from memory.drafts import Draft, Kind

STORE = Store(provider="claude", root=Path("/nowhere"))


def source(path: Path, key: Path | None = None) -> Source:
    return Source(store=STORE, path=path, key=str(key or path))


def number(record: Record, context: dict[str, Any]) -> Normalised:
    """Number the records of a file, as a client that counts occurrences would."""
    if record.value.get("skip"):
        return Normalised(skipped="told to")
    identity = str(record.value["id"])
    context["n"] = context.get("n", 0) + 1
    draft = Draft(
        kind=Kind.MESSAGE,
        content=json.dumps(record.value),
        source_client="claude",
        source_id=identity,
        position=context["n"],
        origin=record.origin,
    )
    return Normalised(drafts=[draft])


def read_all(
    path: Path,
    state: dict[str, Any] | None = None,
    normalise: Normalise = number,
    key: Path | None = None,
) -> Batch:
    """Read to the end and return everything as one batch, with the checkpoint taken through JSON."""
    whole = Batch()
    while True:
        batch = tail.read(source(path, key), state, normalise)
        assert batch.records == batch.imported + batch.skipped.total() + len(batch.unreadable)
        whole.records += batch.records
        whole.imported += batch.imported
        whole.drafts += batch.drafts
        whole.skipped += batch.skipped
        whole.unreadable += batch.unreadable
        whole.events += batch.events
        whole.state = state = json.loads(json.dumps(batch.state))
        if batch.finished:
            return whole


def ids(batch: Batch) -> list[str | None]:
    return [draft.source_id for draft in batch.drafts]


def row(identity: object, **more: object) -> bytes:
    return json.dumps({"id": identity, **more}).encode() + b"\n"


def write(path: Path, *rows: bytes) -> Path:
    path.write_bytes(b"".join(rows))
    return path


def pack(path: Path) -> Path:
    packed = path.with_name(path.name + ".zst")
    packed.write_bytes(zstd.compress(path.read_bytes()))
    path.unlink()
    return packed


def test_a_second_read_gives_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", row(1), row(2))
    first = read_all(path)
    assert ids(first) == ["1", "2"]
    again = read_all(path, first.state)
    assert again.records == 0
    assert not again.events


def test_only_what_was_appended_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", row(1))
    first = read_all(path)
    with path.open("ab") as file:
        file.write(row(2))
    second = read_all(path, first.state)
    assert ids(second) == ["2"]
    assert second.drafts[0].position == 2, "the context is kept between reads"


def test_a_line_without_its_end_waits(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", row(1), row(2)[:-1])
    first = read_all(path)
    assert ids(first) == ["1"]
    assert not first.unreadable
    with path.open("ab") as file:
        file.write(b"\n")
    assert ids(read_all(path, first.state)) == ["2"]


def test_an_origin_names_file_offset_and_hash(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", row(1), row(2))
    origin = read_all(path).drafts[1].origin
    assert origin["path"] == str(path)
    assert origin["offset"] == len(row(1))
    assert origin["hash"] == hashlib.sha256(row(2).rstrip()).hexdigest()


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (b'{"id": 1', "no JSON"),
        (b'{"id": "\xff"}', "bad UTF-8 at byte 8"),
        (b'{"id": 1}{"id": 2}', "two records on one line, at character 9"),
        (b'{"id": 1, "te{"id": 2}', "no JSON"),
        (b"\x00\x00\x00\x00", "no JSON"),
        (b"[1, 2]", "not an object"),
        (b"null", "not an object"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"id": ' + b"9" * 5000 + b"}", "too many digits"),
        (b'{"other": 1}', "a shape this importer does not know (KeyError)"),
    ],
)
def test_a_bad_line_is_named_and_stops_nothing(tmp_path: Path, bad: bytes, why: str) -> None:
    path = write(tmp_path / "a.jsonl", row("before"), bad + b"\n", row("after"))
    batch = read_all(path)
    assert ids(batch) == ["before", "after"]
    (unreadable,) = batch.unreadable
    assert (unreadable.path, unreadable.offset) == (str(path), len(row("before")))
    assert why in unreadable.reason
    assert batch.records == 3
    assert batch.state["unreadable"] == 1


def test_a_reason_never_repeats_what_the_line_held(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", b'{"id": hunter2-in-the-open\n', b'{"hunter2": 1}\n')
    for unreadable in read_all(path).unreadable:
        assert "hunter2" not in unreadable.reason


def test_a_normaliser_may_call_a_record_malformed(tmp_path: Path) -> None:
    def refuse(_record: Record, _context: dict[str, Any]) -> Normalised:
        raise Malformed("not a thing that Claude writes")

    batch = read_all(write(tmp_path / "a.jsonl", row(1)), normalise=refuse)
    assert batch.unreadable[0].reason == "not a thing that Claude writes"


def test_windows_line_ends_and_empty_lines_are_no_records(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", b'{"id": 1}\r\n', b"\r\n", b"\n", b'  {"id": 2}  \n')
    batch = read_all(path)
    assert ids(batch) == ["1", "2"]
    assert batch.records == 2


def test_line_separators_of_unicode_stand_inside_strings(tmp_path: Path) -> None:
    text = "one\u2028two\u2029three\x85four\x0bfive\x0csix"
    path = tmp_path / "a.jsonl"
    line = json.dumps({"id": 1, "text": text}, ensure_ascii=False).encode() + b"\n"
    batch = read_all(write(path, line, row(2)))
    assert ids(batch) == ["1", "2"]
    assert json.loads(batch.drafts[0].content)["text"] == text


def test_halves_of_emoji_and_numbers_that_are_none_are_read(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl",
        b'{"id": 1, "text": "\\ud83d"}\n',
        b'{"id": 2, "x": NaN}\n',
        b'{"id": 3, "x": 123456789012345678901234567890}\n',
    )
    batch = read_all(path)
    assert ids(batch) == ["1", "2", "3"]
    assert json.loads(batch.drafts[2].content)["x"] == 123456789012345678901234567890


def test_a_line_of_fifty_megabytes_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", row(1, text="x" * 50_000_000), row(2))
    assert ids(read_all(path)) == ["1", "2"]


def test_a_line_beyond_all_bounds_costs_only_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 3_000_000)
    path = write(tmp_path / "a.jsonl", row(1), row(2, text="x" * 9_000_000), row(3))
    batch = read_all(path)
    assert ids(batch) == ["1", "3"]
    assert batch.unreadable[0].offset == len(row(1))
    with path.open("ab") as file:
        file.write(row(4))
    after = read_all(path, batch.state)
    assert ids(after) == ["4"]
    assert not after.events


def test_a_batch_ends_after_a_bounded_number_of_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "BATCH_RECORDS", 3)
    path = write(tmp_path / "a.jsonl", *(row(n) for n in range(8)))
    batch = tail.read(source(path), None, number)
    assert ids(batch) == ["0", "1", "2"]
    assert not batch.finished
    assert len(ids(read_all(path, batch.state))) == 5


def test_a_batch_ends_after_a_bounded_number_of_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "BATCH_BYTES", 1000)
    path = write(tmp_path / "a.jsonl", *(row(n, text="x" * 400) for n in range(8)))
    assert ids(tail.read(source(path), None, number)) == ["0", "1", "2"]


def test_a_file_that_grows_while_it_is_read_comes_to_an_end(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", row(0))

    def grow(record: Record, context: dict[str, Any]) -> Normalised:
        with path.open("ab") as file:
            file.write(row(record.value["id"] + 1))
        return number(record, context)

    batch = tail.read(source(path), None, grow)
    assert ids(batch) == ["0"]
    assert ids(tail.read(source(path), batch.state, grow)) == ["1"]


def test_a_truncated_file_is_read_anew(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", row(1), row(2), row(3))
    first = read_all(path)
    os.truncate(path, len(row(1)))
    second = read_all(path, first.state)
    assert second.events == ["truncated"]
    assert ids(second) == ["1"]
    assert second.drafts[0].position == 1, "the context began anew"


def test_a_file_rewritten_in_place_to_the_same_size_is_read_anew(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", row(1), row(2))
    first = read_all(path)
    with path.open("r+b") as file:
        file.write(row(7))
    second = read_all(path, first.state)
    assert second.events == ["rewritten"]
    assert ids(second) == ["7", "2"]


def test_a_file_replaced_by_another_is_read_anew(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", row(1), row(2))
    first = read_all(path)
    write(tmp_path / "new", row(1), row(2), row(3)).replace(path)
    second = read_all(path, first.state)
    assert second.events == ["replaced"]
    assert ids(second) == ["1", "2", "3"]


def test_a_moved_file_is_read_on(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", row(1))
    first = read_all(path)
    (tmp_path / "worktree").mkdir()
    moved = path.rename(tmp_path / "worktree" / "a.jsonl")
    with moved.open("ab") as file:
        file.write(row(2))
    second = read_all(moved, first.state, key=path)
    assert second.events == ["moved"]
    assert ids(second) == ["2"]


def test_a_compressed_file_is_the_same_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", row(1), row(2))
    first = read_all(path)
    packed = pack(path)
    for given in (packed, path):  # the folder may have been listed before or after
        second = read_all(given, first.state, key=path)
        assert second.events == ["compressed"]
        assert second.records == 0
    unpacked = write(path, row(1), row(2), row(3))
    packed.unlink()
    third = read_all(unpacked, second.state)
    assert third.events == ["unpacked"]
    assert ids(third) == ["3"]


def test_what_was_appended_before_compression_is_read_from_the_archive(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", row(1))
    first = read_all(path)
    packed = pack(write(path, row(1), row(2)))
    assert ids(read_all(packed, first.state, key=path)) == ["2"]


def test_the_plain_file_wins_over_its_archive(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", row(1))
    packed = pack(path)
    write(path, row(1), row(2))
    assert ids(read_all(packed, key=path)) == ["1", "2"]


def test_an_archive_with_other_content_is_read_anew(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", row(1), row(2))
    first = read_all(path)
    packed = pack(write(path, row(1), row(3), row(4)))
    second = read_all(packed, first.state, key=path)
    assert second.events == ["rewritten"]
    assert ids(second) == ["1", "3", "4"]


def test_the_last_line_of_an_archive_needs_no_end(tmp_path: Path) -> None:
    packed = pack(write(tmp_path / "a.jsonl", row(1), row(2)[:-1]))
    assert ids(read_all(packed)) == ["1", "2"]


def test_a_damaged_archive_gives_what_it_can_and_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", *(row(n, text=os.urandom(200).hex()) for n in range(20_000)))
    packed = pack(path)
    os.truncate(packed, packed.stat().st_size * 2 // 3)
    batch = read_all(packed)
    assert len(batch.drafts) > 1000
    assert "damaged" in batch.unreadable[0].reason
    again = read_all(packed, batch.state)
    assert not again.drafts


def test_a_file_that_is_no_archive_is_told(tmp_path: Path) -> None:
    batch = read_all(write(tmp_path / "a.jsonl.zst", b"this is no zstd at all\n"))
    assert batch.records == len(batch.unreadable) == 1


def test_an_archive_is_unpacked_once_however_many_batches_it_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "BATCH_RECORDS", 10)
    packed = pack(write(tmp_path / "a.jsonl", *(row(n, text="x" * 1000) for n in range(5000))))
    opened = []
    real = archive.ZstdFile
    monkeypatch.setattr(archive, "ZstdFile", lambda path: opened.append(path) or real(path))
    assert len(read_all(packed).drafts) == 5000
    assert len(opened) == 1


def test_an_unchanged_file_is_not_opened_once_it_has_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.jsonl", row(1))
    later = path.stat().st_ctime_ns + 10_000_000_000
    monkeypatch.setattr(tail.time, "time_ns", lambda: later)
    settled = read_all(path).state
    monkeypatch.setattr(tail, "_opened", None)
    assert tail.read(source(path), settled, number).state == settled


def test_a_fresh_file_is_looked_at_again_because_times_are_coarse(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", row(1))
    assert not read_all(path).state["settled"]


def test_a_file_that_was_written_to_without_growing_is_read_anew(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", *(row(n, text="x" * 1000) for n in range(30)))
    first = read_all(path)
    middle = row(15, text="x" * 1000)
    changed = path.read_bytes().replace(middle, middle.replace(b"15", b"99"))
    with path.open("r+b") as file:
        file.write(changed)
    os.utime(path, ns=(0, first.state["times"][0] + 1))
    second = read_all(path, first.state)
    assert second.events == ["touched"]
    assert "99" in ids(second)


def test_a_missing_file_is_an_error_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_all(tmp_path / "a.jsonl")


def test_the_checkpoint_holds_nothing_of_the_text(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", row(1, text="hunter2-in-the-open"))
    assert "hunter2" not in json.dumps(read_all(path).state)


good = st.integers(0, 10**6).flatmap(
    lambda n: st.sampled_from([0, 3, 40, 5000]).map(lambda pad: row(n, pad="x" * pad))
)
bad = st.sampled_from([b'{"id": 1\n', b'{"id": "\xff"}\n', b'{"id":1}{"id":2}\n'])
some_rows = st.lists(st.one_of(good, good, good, bad), min_size=1, max_size=6).map(b"".join)


class Files(RuleBasedStateMachine):
    """One session's file, whatever happens to it, against a model that only splits bytes."""

    @initialize(content=some_rows)
    def begin(self, content: bytes) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="tail-"))
        self.key = self.folder / "s.jsonl"
        self.plain, self.packed = self.key, self.folder / "s.jsonl.zst"
        self.content = content
        self.plain.write_bytes(content)
        self.is_packed = False
        self.state: dict[str, Any] | None = None
        self.delivered: list[
            tuple[int | None, str | None]
        ] = []  # (number, id) since reading last began at the beginning
        self.names = 0
        self.rest = b""  # of a line of which the first half is written
        self.entries: set[str | None] = set()  # what a ledger would hold
        self.written: set[str] = set()  # what was ever completely written
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(tail, "BATCH_RECORDS", 3)

    def teardown(self) -> None:
        self.patch.undo()
        shutil.rmtree(self.folder, ignore_errors=True)

    def replace_content(self, content: bytes) -> None:
        self.content = content
        self.plain.write_bytes(content)  # in place: the inode stays

    @property
    def good_ids(self) -> list[str]:
        found = []
        whole = self.content.split(b"\n")
        for line in whole if self.is_packed else whole[:-1]:
            try:
                found.append(str(json.loads(line)["id"]))
            except (ValueError, KeyError, TypeError):
                continue
        return found

    @precondition(lambda self: not self.is_packed)
    @rule(content=some_rows)
    def append(self, content: bytes) -> None:
        self.add(content)

    @precondition(lambda self: not self.is_packed)
    @rule(line=good, cut=st.integers(1, 12))
    def append_half_a_line(self, line: bytes, cut: int) -> None:
        self.add(line[:cut])
        self.rest = line[cut:]

    @precondition(lambda self: not self.is_packed and self.rest)
    @rule()
    def finish_the_line(self) -> None:
        self.add(self.rest)

    @precondition(lambda self: not self.is_packed)
    @rule(first=good, second=good, cut=st.integers(1, 9))
    def append_glued_halves(self, first: bytes, second: bytes, cut: int) -> None:
        self.add(first[:cut] + second[cut + 1 :])

    def add(self, content: bytes) -> None:
        self.content += content
        self.rest = b""
        with self.plain.open("ab") as file:
            file.write(content)

    @precondition(lambda self: not self.is_packed)
    @rule(content=some_rows)
    def rewrite_in_place(self, content: bytes) -> None:
        self.replace_content(content)

    @precondition(lambda self: not self.is_packed and self.content)
    @rule(at=st.integers(0, 10**6))
    def change_one_byte_in_place(self, at: int) -> None:
        at %= min(len(self.content), lines.MARK_BYTES)  # what is read again each time
        changed = bytearray(self.content)
        changed[at] = ord("7") if changed[at] != ord("7") else ord("8")
        self.content = bytes(changed)
        with self.plain.open("r+b") as file:
            file.seek(at)
            file.write(self.content[at : at + 1])

    @precondition(lambda self: not self.is_packed)
    @rule(content=some_rows)
    def replace_atomically(self, content: bytes) -> None:
        self.content = content
        new = self.folder / "new"
        new.write_bytes(content)
        new.replace(self.plain)

    @precondition(lambda self: not self.is_packed)
    @rule(keep=st.integers(0, 10**6))
    def truncate(self, keep: int) -> None:
        self.content = self.content[: keep % (len(self.content) + 1)]
        os.truncate(self.plain, len(self.content))

    @precondition(lambda self: not self.is_packed)
    @rule()
    def move(self) -> None:
        self.names += 1
        folder = self.folder / str(self.names)
        folder.mkdir()
        self.plain = self.plain.rename(folder / "s.jsonl")
        self.packed = folder / "s.jsonl.zst"

    @precondition(lambda self: not self.is_packed)
    @rule(content=some_rows)
    def delete_and_begin_anew(self, content: bytes) -> None:
        self.plain.unlink()
        self.replace_content(content)

    @precondition(lambda self: not self.is_packed)
    @rule()
    def compress(self) -> None:
        self.packed.write_bytes(zstd.compress(self.content))
        self.plain.unlink()
        self.is_packed = True
        self.rest = b""

    @precondition(lambda self: self.is_packed)
    @rule()
    def unpack(self) -> None:
        self.plain.write_bytes(self.content)
        self.packed.unlink()
        self.is_packed = False

    @precondition(lambda self: self.is_packed)
    @rule()
    def unpack_and_leave_both(self) -> None:
        self.plain.write_bytes(self.content)
        self.is_packed = False

    @rule(later=st.sampled_from([-(10**9), 1, 3_000_000_000]))
    def touch(self, later: int) -> None:
        path = self.packed if self.is_packed else self.plain
        status = path.stat()  # a clock that jumps, a copy that sets the times anew
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + later))

    @rule()
    def crash_between_read_and_commit(self) -> None:
        tail.read(source(self.listed, self.key), self.state, number)

    @rule()
    def read_a_batch(self) -> None:
        self.read()

    @rule()
    def read_to_the_end(self) -> None:
        while not self.read().finished:
            pass
        assert [each for _, each in self.delivered] == self.good_ids
        assert [number for number, _ in self.delivered] == list(range(1, len(self.delivered) + 1))
        self.written.update(self.good_ids)
        assert self.entries >= self.written, "what was completely written is kept for good"

    @property
    def listed(self) -> Path:
        return self.packed if self.packed.exists() else self.plain

    def read(self) -> Batch:
        batch = tail.read(source(self.listed, self.key), self.state, number)
        assert batch.records == batch.imported + len(batch.unreadable)
        if {"truncated", "touched", "rewritten", "replaced"} & set(batch.events):
            self.delivered = []
        self.delivered += [(draft.position, draft.source_id) for draft in batch.drafts]
        self.entries.update(draft.source_id for draft in batch.drafts)
        self.state = json.loads(json.dumps(batch.state))
        return batch


TestFiles = Files.TestCase
TestFiles.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
