"""OpenCode's sessions are the same entries in files and tables, in forks and in later versions."""

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from readings import DATA, Reading, expected, read, stores

from importers.base import Store
from importers.opencode import OpenCodeImporter, database, reading
from memory.drafts import session_id_of

OPENCODE = DATA / "opencode"
ORIGINAL = "ses_dd836723bffeh7bUc0AK80gAID"
FORK = "ses_dd8352388ffe9eS1L8rZrILAaB"
CHILD = "ses_dd83551edffe3weGqXP9SbqgFQ"
COMPACTED = "ses_dd832f1ffffes0b1c65Rxvl2io"
KILLED = "ses_dd8329329ffeohQVjjQYl4BLWH"
NOON = 1_795_953_600_000

SCHEMA = """
CREATE TABLE project (id text PRIMARY KEY, worktree text);
CREATE TABLE session (id text PRIMARY KEY, project_id text, parent_id text, directory text,
  title text, version text, time_created integer, time_updated integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer,
  time_updated integer, data text);
CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer,
  time_updated integer, data text);
CREATE TABLE account (token text);
CREATE TABLE credential (value text);
CREATE TABLE session_share (secret text);
INSERT INTO account VALUES ('planted'); INSERT INTO credential VALUES ('planted');
INSERT INTO session_share VALUES ('planted');
"""
SECOND_GENERATION = """
CREATE TABLE session_v2 (id text PRIMARY KEY, project_id text, parent_id text,
  fork_session_id text, directory text, title text, version text, model text,
  time_created integer, time_updated integer);
CREATE TABLE session_message (id text PRIMARY KEY, session_id text, type text, seq integer,
  time_created integer, time_updated integer, data text);
"""


class Client:
    """OpenCode's database as a test writes it; times are in milliseconds after noon."""

    def __init__(self, root: Path, *, schema: str = SCHEMA, name: str = "opencode.db") -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.path = root / name
        with self.writing() as connection:
            connection.executescript(schema)

    def writing(self) -> closing[sqlite3.Connection]:
        connection = sqlite3.connect(self.path, isolation_level=None)
        connection.execute("PRAGMA synchronous=OFF")
        return closing(connection)

    def run(self, statement: str, *values: Any) -> None:
        with self.writing() as connection:
            connection.execute(statement, values)

    def session(self, name: str, at: int, *, parent: str | None = None, title: str = "T") -> None:
        values = (name, "p", parent, "/home/dev/proj", title, "1.2.1", NOON + at, NOON + at)
        self.run("INSERT INTO session VALUES (?,?,?,?,?,?,?,?)", *values)

    def message(self, name: str, session: str, at: int, changed: int, **data: Any) -> None:
        data = {"role": "user", "time": {"created": NOON + at}, **data}
        self.run(
            "INSERT OR REPLACE INTO message VALUES (?,?,?,?,?)",
            *(name, session, NOON + at, NOON + changed, json.dumps(data)),
        )

    def part(self, own: str, message: str, session: str, changed: int, **data: Any) -> None:
        self.run(
            "INSERT OR REPLACE INTO part VALUES (?,?,?,?,?,?)",
            *(own, message, session, NOON + changed, NOON + changed, json.dumps(data)),
        )

    def row(self, name: str, session: str, kind: str, seq: int, at: int, **data: Any) -> None:
        data = {"time": {"created": NOON + at}, **data}
        self.run(
            "INSERT OR REPLACE INTO session_message VALUES (?,?,?,?,?,?,?)",
            *(name, session, kind, seq, NOON + at, NOON + at, json.dumps(data)),
        )

    def prompt(self, name: str, session: str, at: int, text: str) -> None:
        self.message(name, session, at, at)
        self.part(f"prt_{name}", name, session, at, type="text", text=text)


def answer(at: int, **more: Any) -> dict[str, Any]:
    times = {"created": NOON + at, **({"completed": NOON + at + 1} if more.pop("done", 0) else {})}
    return {"role": "assistant", "time": times, "modelID": "m", "providerID": "p"} | more


def tool(status: str, **state: Any) -> dict[str, Any]:
    return {
        "type": "tool",
        "tool": "bash",
        "callID": "call_1",
        "state": {"status": status, "input": {"command": "ls"}, **state},
    }


def write_session(root: Path, prompts: dict[str, str], *, title: str = "T") -> None:
    """Write a session in files, with a prompt in each message."""
    times = {"created": NOON, "updated": NOON}
    files: dict[str, Any] = {"session/p/ses_a.json": {"id": "ses_a", "title": title, "time": times}}
    for at, (name, text) in enumerate(prompts.items(), start=1):
        times = {"created": NOON + at}
        files[f"message/ses_a/{name}.json"] = {"id": name, "role": "user", "time": times}
        files[f"part/{name}/prt_{name}.json"] = {"type": "text", "text": text}
    for name, value in files.items():
        path = root / "storage" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client(tmp_path / "opencode")


@pytest.fixture
def again(client: Client) -> Iterator[Callable[[], Reading]]:
    """Read what is new in the client's database, again and again."""
    importer, kept = OpenCodeImporter(), Reading()

    def reading_again() -> Reading:
        return read(importer, client.path.parent, kept)

    yield reading_again
    assert "planted" not in str(kept)


def digests(folder: Path) -> dict[str, str]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


@pytest.mark.parametrize("folder", stores("opencode"), ids=lambda folder: folder.name)
def test_each_store_gives_what_its_client_showed_and_keeps_its_bytes(folder: Path) -> None:
    before = digests(folder)
    assert read(OpenCodeImporter(), folder / "store").summary() == expected(folder)
    assert digests(folder) == before


@pytest.mark.parametrize("folder", stores("opencode"), ids=lambda folder: folder.name)
def test_small_batches_give_the_same_entries(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read(OpenCodeImporter(), folder / "store")
    monkeypatch.setattr(reading, "BATCH_RECORDS", 1)
    parts = read(OpenCodeImporter(), folder / "store")
    assert parts.entries == whole.entries
    assert parts.records == whole.records


@pytest.mark.parametrize("folder", stores("opencode"), ids=lambda folder: folder.name)
def test_a_second_reading_finds_nothing(folder: Path) -> None:
    importer = OpenCodeImporter()
    first = read(importer, folder / "store")
    records, states = first.records, dict(first.states)
    assert read(importer, folder / "store", first).records == records
    assert first.states == states


def test_files_and_tables_of_one_session_are_the_same_entries() -> None:
    files = read(OpenCodeImporter(), OPENCODE / "1.1.65" / "store")
    both = read(OpenCodeImporter(), OPENCODE / "1.1.65-imported-by-1.2.1" / "store")
    assert files.entries.keys() < both.entries.keys()
    assert both.repeated == len(files.entries)
    assert not both.changed


def test_files_beside_a_database_that_does_not_have_them_are_read() -> None:
    both = read(OpenCodeImporter(), OPENCODE / "1.1.65-upgraded" / "store")
    assert len(both.sessions) == 2


def test_a_fork_repeats_nothing() -> None:
    found = read(OpenCodeImporter(), OPENCODE / "1.18.33" / "store")
    assert found.texts(FORK) == ['"Forked [[text:fork done]]"', "fork done"]
    assert found.repeated == len(found.messages(ORIGINAL))
    assert not found.changed


def test_a_sub_agent_has_its_parent_and_is_named_by_its_call() -> None:
    found = read(OpenCodeImporter(), OPENCODE / "1.18.33" / "store")
    assert found.sessions[CHILD].parent == ORIGINAL
    results = [draft.payload or {} for draft in found.messages(ORIGINAL, role="tool_result")]
    assert [payload["session"] for payload in results if "session" in payload] == [CHILD]


def test_a_compaction_is_a_summary_and_what_follows_is_the_client() -> None:
    found = read(OpenCodeImporter(), OPENCODE / "1.18.33" / "store")
    assert found.texts(COMPACTED, role="summary") == [
        "## Objective\n- MOCK SUMMARY: test the store naïve 日本語\n"
    ]
    (system,) = found.texts(COMPACTED, role="system")
    assert system.startswith("Continue if you have next steps")


def test_an_answer_that_was_killed_leaves_no_empty_entry() -> None:
    found = read(OpenCodeImporter(), OPENCODE / "1.18.33" / "store")
    assert all(draft.content for draft in found.messages(KILLED))
    assert found.skipped["unfinished text"] == 1


def test_sessions_tell_where_and_with_what() -> None:
    session = read(OpenCodeImporter(), OPENCODE / "1.18.33" / "store").sessions[ORIGINAL]
    assert session.directory == "/home/dev/proj"
    assert str(session.started_at) == "2026-11-29 14:50:50.180000+00:00"
    assert session.payload["version"] == "1.18.33"
    assert session.payload["model"] == "mock-model"
    assert session.payload["worktree"] == "/home/dev/proj"


def test_an_image_is_kept_as_its_hash() -> None:
    found = read(OpenCodeImporter(), OPENCODE / "1.18.33" / "store")
    kept = [(draft.payload or {}).get("blobs") for draft in found.messages()]
    (blob,) = next(each for each in kept if each)
    assert (blob["media_type"], blob["bytes"], blob["name"]) == ("image/png", 75, "img.png")
    assert "base64," not in str(found.drafts)


def test_tokens_are_counted_once_a_message() -> None:
    found = read(OpenCodeImporter(), OPENCODE / "1.18.33" / "store")
    usages = [(draft.payload or {}).get("usage") for draft in found.messages(ORIGINAL)]
    totals = [usage["tokens"]["total"] for usage in usages if usage]
    assert len(totals) == 8
    assert sum(totals) == 4 * 1060 + 3 * 1061 + 1062 + 1063 - 1060


def test_a_message_is_followed_from_its_first_row_to_its_end(
    client: Client, again: Callable[[], Reading]
) -> None:
    client.session("ses_a", 0)
    client.prompt("msg_1", "ses_a", 10, "go")
    client.message("msg_2", "ses_a", 20, 20, **answer(20))
    client.part("prt_2", "msg_2", "ses_a", 21, type="text", text="")
    client.part("prt_3", "msg_2", "ses_a", 22, **tool("pending", input={}))
    assert again().texts() == ["go"]
    client.part("prt_2", "msg_2", "ses_a", 23, type="text", text="I wi")
    client.part("prt_3", "msg_2", "ses_a", 24, **tool("running"))
    assert again().texts() == ["go", "I wi", "bash: ls"]
    client.part("prt_2", "msg_2", "ses_a", 25, type="text", text="I will")
    client.part("prt_3", "msg_2", "ses_a", 26, **tool("completed", output="a.txt"))
    client.message("msg_2", "ses_a", 20, 27, **answer(20, done=1, tokens={"total": 5}))
    found = again()
    assert [draft.content for draft in found.changed] == ["I will"]
    assert found.texts(role="tool_result") == ["a.txt"]
    assert (found.messages(role="tool_result")[0].payload or {})["usage"] == {
        "tokens": {"total": 5}
    }


def test_only_what_changed_is_read_again(client: Client, again: Callable[[], Reading]) -> None:
    for number in range(20):
        client.session(f"ses_{number}", number)
        for prompt in range(5):
            at = number + prompt * 60_000
            client.prompt(f"msg_{number}_{prompt}", f"ses_{number}", at, f"{number} {prompt}")
    before = again().records
    client.prompt("msg_new", "ses_3", 600_000, "later")
    found = again()
    assert found.texts("ses_3")[-1] == "later"
    # The session, its newest old message, which lies within the overlap, and the new one.
    assert found.records - before == 1 + 2 * 2


def test_rows_that_come_from_a_backup_are_found_without_a_new_time(
    client: Client, again: Callable[[], Reading]
) -> None:
    client.session("ses_a", 0)
    client.prompt("msg_1", "ses_a", 10, "first")
    client.prompt("msg_3", "ses_a", 5_000_000, "third")
    again()
    client.prompt("msg_2", "ses_a", 20, "second")
    assert again().texts() == ["first", "second", "third"]


def test_a_change_within_the_same_millisecond_is_seen(
    client: Client, again: Callable[[], Reading]
) -> None:
    client.session("ses_a", 0)
    client.prompt("msg_1", "ses_a", 10, "draft")
    again()
    client.part("prt_msg_1", "msg_1", "ses_a", 10, type="text", text="final")
    assert [draft.content for draft in again().changed] == ["final"]


def test_an_unchanged_database_is_not_even_opened(
    client: Client, again: Callable[[], Reading], monkeypatch: pytest.MonkeyPatch
) -> None:
    client.session("ses_a", 0)
    again()
    monkeypatch.setattr(database, "Tables", None)
    again()


def test_a_session_that_goes_while_it_waits_its_turn_holds_up_no_other(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, name in enumerate(("ses_a", "ses_b", "ses_c")):
        client.session(name, number)
        client.prompt(f"msg_{name}", name, number, name)
    monkeypatch.setattr(reading, "BATCH_RECORDS", 1)
    importer, kept = OpenCodeImporter(), Reading()
    (source,) = importer.sources(Store(provider="opencode", root=client.path.parent))
    first = importer.read(source, None)
    assert not first.finished
    kept.add(first)
    kept.states[source.key] = first.state
    client.run("DELETE FROM session WHERE id = 'ses_b'")
    assert read(importer, client.path.parent, kept).texts() == ["ses_a", "ses_c"]


def test_rows_that_are_no_json_are_counted_and_named(
    client: Client, again: Callable[[], Reading]
) -> None:
    client.session("ses_a", 0)
    client.prompt("msg_1", "ses_a", 1, "one")
    client.prompt("msg_2", "ses_a", 2, "two")
    client.run("UPDATE part SET data = '{\"type\": \"te' WHERE id = 'prt_msg_2'")
    client.message("msg_3", "ses_a", 3, 3, **answer(3, time={"created": 1e30}))
    client.part("prt_3", "msg_3", "ses_a", 3, **tool("completed", output="x", attachments=5))
    client.prompt("msg_4", "ses_a", 4, "four")
    found = again()
    assert found.texts() == ["one", "four"]
    torn, strange = found.unreadable
    assert "prt_msg_2: no JSON" in torn.reason
    assert "prt_3: a shape this importer does not know" in strange.reason
    assert {torn.path, strange.path} == {str(client.path)}


def test_what_stands_beside_a_torn_or_odd_part_is_kept_and_each_part_is_counted(
    client: Client, again: Callable[[], Reading]
) -> None:
    client.session("ses_a", 0)
    client.message("msg_1", "ses_a", 1, 1, **answer(1, done=1))
    client.part("prt_1", "msg_1", "ses_a", 1, type="text", text="good")
    client.part("prt_2", "msg_1", "ses_a", 1, **tool("completed", output="half \ud83d"))
    client.part("prt_3", "msg_1", "ses_a", 1, type="text", text="torn")
    client.part("prt_4", "msg_1", "ses_a", 1, **tool("completed", output="x", attachments=5))
    client.part("prt_5", "msg_1", "ses_a", 1, type="text", text="good, too")
    client.part("prt_6", "msg_1", "ses_a", 1, type="text", text="empty")
    client.run("UPDATE part SET data = substr(data, 1, 20) WHERE id = 'prt_3'")
    client.run("UPDATE part SET data = NULL WHERE id = 'prt_6'")
    client.prompt("msg_2", "ses_a", 2, "of whom")
    client.run("UPDATE message SET data = '{' WHERE id = 'msg_2'")
    found = again()
    assert found.texts() == ["good", "bash: ls", "half \ud83d", "good, too"]
    assert [each.reason.partition(":")[0] for each in found.unreadable] == [
        *("prt_3", "prt_4", "prt_6", "msg_2")
    ]
    assert found.skipped == {"header of a message": 1, "part of an unreadable message": 1}
    assert found.records == 1 + 7 + 2


def test_a_part_that_is_torn_while_it_is_written_is_read_when_it_is_whole(tmp_path: Path) -> None:
    root = tmp_path / "opencode"
    write_session(root, {f"msg_{number}": f"text {number}" for number in range(4)})
    part = root / "storage" / "part" / "msg_0" / "prt_msg_0.json"
    whole = part.read_bytes()
    part.write_bytes(whole[:20])
    part.with_name("prt_second.json").write_text('{"type": "text", "text": "beside"}')
    importer, kept = OpenCodeImporter(), Reading()
    assert read(importer, root, kept).texts() == ["beside", "text 1", "text 2", "text 3"]
    assert len(kept.unreadable) == 1
    part.write_bytes(whole)
    read(importer, root, kept)
    assert [draft.content for draft in kept.changed] == ["text 0\nbeside"]
    assert len(read(importer, root, kept).unreadable) == 1


def test_parts_and_errors_have_their_roles(client: Client, again: Callable[[], Reading]) -> None:
    client.session("ses_a", 0)
    client.message("msg_1", "ses_a", 1, 1)
    parts: list[dict[str, Any]] = [
        {"type": "text", "text": "first"},
        {"type": "text", "text": "added", "synthetic": True},
        {"type": "text", "text": "hidden", "ignored": True},
        {"type": "file", "mime": "text/plain", "filename": "a.txt", "url": "file:///a.txt"},
        {"type": "text", "text": "second"},
        {"type": "agent", "name": "build"},
        {"type": "subtask", "agent": "review", "prompt": "look", "description": "d"},
        {"type": "hologram"},
    ]
    for number, part in enumerate(parts):
        client.part(f"prt_{number}", "msg_1", "ses_a", 1, **part)
    error = {"name": "APIError", "data": {"message": "no route"}}
    client.message("msg_2", "ses_a", 2, 2, **answer(2, error=error))
    client.part("prt_a", "msg_2", "ses_a", 2, **tool("error", error="denied"))
    client.part("prt_b", "msg_2", "ses_a", 2, **tool("completed", output="twice"))
    found = again()
    assert [(draft.role, draft.content) for draft in found.messages()] == [
        ("user", "first\n[file a.txt text/plain]\nsecond"),
        ("system", "added"),
        ("tool_call", "review: d\nprompt: look"),
        ("tool_call", "bash: ls"),
        ("tool_result", "denied"),
        ("tool_call", "bash: ls"),
        ("tool_result", "twice"),
        ("system", "APIError: no route"),
    ]
    assert found.skipped == {
        "ignored text": 1,
        "mention of an agent": 1,
        "unknown part: hologram": 1,
    }


def test_a_title_that_opencode_made_up_is_none_and_a_later_one_is_told(
    client: Client, again: Callable[[], Reading]
) -> None:
    client.session("ses_a", 0, title="New session - 2026-11-29T14:53:47.491Z")
    assert again().attributes("ses_a") == {}
    client.run("UPDATE session SET title = 'Mended', time_updated = ?", NOON + 9)
    assert again().attributes("ses_a") == {"title": "Mended"}


def titles(found: Reading) -> list[str]:
    return [each.content for each in found.entries.values() if (each.key or "").endswith("/title")]


def test_a_title_that_returns_is_told_again_and_one_that_stays_is_not(
    tmp_path: Path, client: Client, again: Callable[[], Reading]
) -> None:
    client.session("ses_a", 0, title="A")
    root = tmp_path / "files"
    importer, kept = OpenCodeImporter(), Reading()
    for at, title in enumerate(("A", "B", "B", "A"), start=1):
        statement = "UPDATE session SET title = ?, time_updated = ?"
        client.run(statement, title, NOON + at * 60_000)
        client.prompt(f"msg_{at}", "ses_a", at * 60_000, title)
        again()
        write_session(root, {f"msg_{at}": title}, title=title + " " * at)
        read(importer, root, kept)
    found = again()
    assert titles(found) == titles(kept) == ["A", "B", "A"]
    assert [each.content for each in kept.drafts if each.key] == ["A", "B", "A"]


def test_the_tables_of_the_second_generation_win_once_they_are_filled(
    client: Client, again: Callable[[], Reading]
) -> None:
    client.session("ses_a", 0)
    client.prompt("msg_1", "ses_a", 10, "old prompt")
    client.message("msg_2", "ses_a", 20, 21, **answer(20, done=1))
    client.part("prt_2", "msg_2", "ses_a", 20, type="text", text="old answer")
    client.part("prt_3", "msg_2", "ses_a", 20, **tool("completed", output="a.txt"))
    assert len(again().messages()) == 4
    with client.writing() as connection:
        connection.executescript(SECOND_GENERATION)
    assert len(again().messages()) == 4
    client.run(
        "INSERT INTO session_v2 VALUES ('ses_a','p',NULL,NULL,'/home/dev/proj','T','2.0.3',?,?,?)",
        *(json.dumps({"id": "m", "providerID": "p"}), NOON, NOON + 50),
    )
    state = {"status": "completed", "input": {"command": "ls"}}
    content = [
        {"type": "text", "text": "old answer"},
        {
            "type": "tool",
            "id": "call_1",
            "name": "bash",
            "state": {**state, "content": [{"type": "text", "text": "a.txt"}]},
        },
    ]
    times = {"created": NOON + 20, "completed": NOON + 21}
    client.row("msg_1", "ses_a", "user", 0, 10, text="old prompt")
    client.row("msg_2", "ses_a", "assistant", 1, 20, content=content, time=times)
    client.row("msg_3", "ses_a", "user", 2, 60, text="new prompt")
    found = again()
    assert found.texts() == ["old prompt", "old answer", "bash: ls", "a.txt", "new prompt"]
    assert not found.changed


def test_each_kind_of_row_of_the_second_generation_has_its_role(
    tmp_path: Path, again: Callable[[], Reading]
) -> None:
    second = Client(tmp_path / "second", schema=SECOND_GENERATION)
    for name, origin in (("ses_a", None), ("ses_b", "ses_a")):
        second.run(
            "INSERT INTO session_v2 VALUES (?,'p',NULL,?,'/home/dev/proj','T','2.0.3',NULL,?,?)",
            *(name, origin, NOON, NOON),
        )
    image = {"uri": "data:image/png;base64,aGVsbG8=", "mime": "image/png", "name": "x.png"}
    tool_ = {"type": "tool", "id": "c", "name": "look", "state": {"status": "streaming"}}
    model = {"id": "m", "providerID": "p"}
    rows: list[tuple[str, dict[str, Any]]] = [
        ("model-switched", {"model": model}),
        ("user", {"text": "go", "files": [image]}),
        ("synthetic", {"text": "by the client"}),
        ("assistant", {"model": model, "content": [{"type": "reasoning", "text": "why"}, tool_]}),
        ("shell", {"command": "make", "callID": "s", "output": "ok", "exit": 0}),
        ("compaction", {"status": "completed", "summary": "the gist", "recent": "go"}),
        ("compaction", {"status": "failed"}),
        ("idle", {"outcome": "succeeded"}),
        ("hologram", {}),
    ]
    for number, (kind, data) in enumerate(rows):
        second.row(f"msg_{number}", "ses_a", kind, number, number, **data)
    found = read(OpenCodeImporter(), second.path.parent)
    assert [(draft.role, draft.content) for draft in found.messages()] == [
        ("user", "go\n[image x.png image/png, 5 bytes]"),
        ("system", "by the client"),
        ("reasoning", "why"),
        ("tool_call", "shell: make"),
        ("tool_result", "ok"),
        ("summary", "the gist"),
    ]
    assert (found.messages(role="reasoning")[0].payload or {})["model"] == "m"
    assert found.skipped == {
        "switch of model": 1,
        "empty message": 1,
        "end of a turn": 1,
        "unknown message: hologram": 1,
    }
    assert found.attributes("ses_b")["forked_from"] == str(session_id_of("opencode", "ses_a"))
    again()


@pytest.mark.parametrize("time", [10**18, -(10**15), "never", 0])
def test_a_time_that_is_none_stops_no_database(
    client: Client, again: Callable[[], Reading], time: object
) -> None:
    client.session("ses_a", 0)
    client.session("ses_b", 1)
    client.prompt("msg_1", "ses_a", 1, "one")
    client.message("msg_2", "ses_a", 2, 2, **answer(2, done=1, time={"created": time}))
    client.part("prt_2", "msg_2", "ses_a", 2, type="text", text="two", time={"start": time})
    client.run("UPDATE message SET time_created = ? WHERE id = 'msg_2'", time)
    client.prompt("msg_3", "ses_b", 3, "three")
    client.run("UPDATE session SET time_created = ?, time_updated = ?", time, time)
    client.run("UPDATE message SET time_updated = ? WHERE id <> 'msg_2'", time)
    client.run("UPDATE part SET time_updated = ?", time)
    found = again()
    assert sorted(found.texts()) == ["one", "three", "two"]
    assert not found.unreadable
    (odd,) = (draft for draft in found.messages() if draft.content == "two")
    assert (odd.position or 0) < 1000
    assert odd.occurred_at is None


def test_an_odd_part_in_a_row_costs_only_itself(client: Client) -> None:
    root = client.path.parent.parent / "second"
    second = Client(root, schema=SECOND_GENERATION)
    second.run(
        "INSERT INTO session_v2 VALUES ('ses_a','p',NULL,NULL,'/home/dev/proj','T','2',NULL,?,?)",
        *(NOON, NOON),
    )
    odd = {"type": "tool", "id": "c", "name": "look", "state": {"content": 5}}
    content = [{"type": "text", "text": "said"}, odd, 7, {"type": "text", "text": "too"}]
    second.row("msg_1", "ses_a", "user", 0, 0, text="go", files=["odd"])
    second.row("msg_2", "ses_a", "assistant", 1, 1, content=content)
    second.row("msg_3", "ses_a", "assistant", 2, 2, content=5)
    found = read(OpenCodeImporter(), root)
    assert found.texts() == ["go", "said", "too"]
    assert [each.reason.partition(":")[0] for each in found.unreadable] == [
        *("msg_1/1", "msg_2/1", "msg_2/2", "msg_3")
    ]


def test_a_database_of_something_else_is_an_error_and_an_empty_one_is_not(tmp_path: Path) -> None:
    read(OpenCodeImporter(), Client(tmp_path / "new", schema="").path.parent)
    other = Client(tmp_path / "other", schema="CREATE TABLE session (token text)")
    with pytest.raises(OSError, match="tables of sessions are not in here"):
        read(OpenCodeImporter(), other.path.parent)


def test_stores_are_where_the_environment_says(tmp_path: Path) -> None:
    importer = OpenCodeImporter()
    assert importer.stores({}, tmp_path) == []
    home = Client(tmp_path / ".local" / "share" / "opencode").path
    assert [store.root for store in importer.stores({}, tmp_path)] == [home.parent]
    moved = Client(tmp_path / "xdg" / "opencode", name="opencode-dev.db").path
    named = Client(tmp_path / "elsewhere", name="mine.sqlite").path
    environment = {"XDG_DATA_HOME": str(tmp_path / "xdg"), "OPENCODE_DB": str(named)}
    found = importer.stores(environment, tmp_path)
    assert [store.root for store in found] == [moved.parent, named.parent]
    sources = [[source.path for source in importer.sources(store)] for store in found]
    assert sources == [[moved], [named]]
    relative = importer.stores({**environment, "OPENCODE_DB": "opencode-dev.db"}, tmp_path)
    assert [store.root for store in relative] == [moved.parent]


def test_a_session_in_files_is_followed_while_it_is_written(tmp_path: Path) -> None:
    root = tmp_path / "opencode"
    shutil.copytree(OPENCODE / "1.1.65" / "store", root)
    importer, kept = OpenCodeImporter(), Reading()
    before = read(importer, root, kept).records
    part = next((root / "storage" / "part").rglob("prt_227df80ea001BbLdyemLOe2pq2.json"))
    whole = part.read_text()
    part.write_text(whole[:40])
    read(importer, root, kept)
    (problem,) = kept.unreadable
    assert "prt_227df80ea001BbLdyemLOe2pq2: no JSON" in problem.reason
    part.write_text(whole.replace("second done", "second undone"))
    read(importer, root, kept)
    assert [draft.content for draft in kept.changed] == ["second undone"]
    records = kept.records
    assert records > before
    assert read(importer, root, kept).records == records


@pytest.mark.parametrize("way", ["in place", "by another file", "by one more part"])
def test_a_part_of_a_message_long_past_that_is_changed_is_read_again(
    tmp_path: Path, way: str
) -> None:
    root = tmp_path / "opencode"
    write_session(root, {f"msg_{number}": f"text {number}" for number in range(8)})
    importer, kept = OpenCodeImporter(), Reading()
    read(importer, root, kept)
    part = root / "storage" / "part" / "msg_0" / "prt_msg_0.json"
    other = json.dumps({"type": "text", "text": "changed much later"})
    if way == "in place":
        part.write_text(other)
    elif way == "by another file":
        part.with_name("draft").write_text(other)
        part.with_name("draft").rename(part)
    else:
        part.with_name("prt_second.json").write_text(other)
    records = kept.records
    read(importer, root, kept)
    (changed,) = kept.changed
    assert "changed much later" in changed.content
    assert kept.records > records
    records = kept.records
    assert read(importer, root, kept).records == records


def test_the_oldest_layout_has_everything_below_its_project(tmp_path: Path) -> None:
    storage = tmp_path / "opencode" / "project" / "home-dev-proj" / "storage" / "session"
    files = {
        "info/ses_a.json": {"id": "ses_a", "title": "Old", "time": {"created": NOON}},
        "message/ses_a/msg_1.json": {"role": "user", "time": {"created": NOON + 1}},
        "message/ses_a/msg_2.json": answer(2, done=1, path={"cwd": "/home/dev/proj"}),
        "part/ses_a/msg_1/prt_1.json": {"type": "text", "text": "hello"},
        "part/ses_a/msg_2/prt_2.json": {"type": "text", "text": "there"},
    }
    for name, value in files.items():
        path = storage / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))
    found = read(OpenCodeImporter(), tmp_path / "opencode")
    assert found.texts() == ["hello", "there"]
    assert found.sessions["ses_a"].directory == "/home/dev/proj"
    assert found.attributes("ses_a") == {"title": "Old"}


def test_a_session_file_that_is_torn_is_read_when_it_is_whole(tmp_path: Path) -> None:
    root = tmp_path / "opencode"
    shutil.copytree(OPENCODE / "1.1.65" / "store", root)
    session = next((root / "storage" / "session").rglob("ses_*.json"))
    whole = session.read_text()
    session.write_text(whole[:20])
    importer, kept = OpenCodeImporter(), Reading()
    read(importer, root, kept)
    read(importer, root, kept)
    assert (len(kept.unreadable), kept.drafts) == (1, [])
    session.write_text(whole)
    assert len(read(importer, root, kept).messages()) == 12


def test_a_torn_first_message_is_told_once_and_blocks_no_other(tmp_path: Path) -> None:
    root = tmp_path / "opencode"
    write_session(root, {f"msg_{number}": f"text {number}" for number in range(4)})
    first = root / "storage" / "message" / "ses_a" / "msg_0.json"
    project = root / "storage" / "project" / "p.json"
    session = root / "storage" / "session" / "p" / "ses_a.json"
    session.write_text(json.dumps({**json.loads(session.read_text()), "projectID": "p"}))
    project.parent.mkdir()
    project.write_text('{"worktree": "/ho')
    whole = first.read_bytes()
    first.write_bytes(whole[:9])
    importer, kept = OpenCodeImporter(), Reading()
    assert read(importer, root, kept).texts() == ["text 1", "text 2", "text 3"]
    assert kept.skipped == {"part of an unreadable message": 1}
    assert read(importer, root, kept).records == 1 + 4 * 2
    (torn,) = kept.unreadable
    assert torn.path == str(first)
    first.write_bytes(whole)
    before = set(kept.entries)
    found = read(importer, root, kept)
    assert found.texts() == ["text 0", "text 1", "text 2", "text 3"]
    assert len(set(found.entries) - before) == 1, "the others keep their identities"
    assert not found.changed
