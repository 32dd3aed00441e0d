"""Codex' rollouts of every era become the same entries, whatever its versions do to the files."""

import hashlib
import json
import shutil
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from backports import zstd
from readings import DATA, batches, expected, read, stores

from importers import repeats, tail
from importers.base import Store, moment, moment_of
from importers.codex import CodexImporter
from importers.codex.titles import MAX_TITLE
from memory.drafts import Kind, session_id_of

CODEX = DATA / "codex"
FORKED = "01a227da-d8f3-76b2-a818-049b94bf0d80"
FORK = "01a227e1-ca49-7d91-a481-209430fdb7cc"
THREAD = "01a20000-0000-7000-8000-000000000001"
TURN = "01a20000-0000-7000-8000-00000000000a"
NAME = f"rollout-2026-11-29T10-00-00-{THREAD}.jsonl"


def rollout(root: Path, *lines: dict[str, Any], name: str = NAME) -> Path:
    path = root / "sessions" / "2026" / "11" / "29" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    return path


def line(kind: str, second: int = 0, *, metadata: Any = None, **payload: Any) -> dict[str, Any]:
    made = {"timestamp": f"2026-11-29T10:00:{second:02}.000Z", "type": kind, "payload": payload}
    return made if metadata is None else {**made, "metadata": metadata}


def header(**fields: Any) -> dict[str, Any]:
    fields = {"id": THREAD, "timestamp": "2026-11-29T10:00:00Z", "cwd": "/home/dev/proj", **fields}
    return line("session_meta", **fields)


def turn(name: str = TURN, second: int = 0) -> dict[str, Any]:
    return line("event_msg", second, type="task_started", turn_id=name)


def message(text: str, role: str = "user", second: int = 0, **fields: Any) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text}]
    return line("response_item", second, type="message", role=role, content=content, **fields)


def item(kind: str, **fields: Any) -> dict[str, Any]:
    return line("response_item", type=kind, **fields)


@pytest.mark.parametrize("folder", stores("codex"), ids=lambda folder: folder.name)
def test_each_store_gives_what_its_client_showed(folder: Path) -> None:
    assert read(CodexImporter(), folder / "store").summary() == expected(folder)


@pytest.mark.parametrize("folder", stores("codex"), ids=lambda folder: folder.name)
def test_reading_changes_nothing_in_the_store(folder: Path) -> None:
    def digest() -> dict[str, str]:
        found = (path for path in folder.rglob("*") if path.is_file())
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}

    before = digest()
    read(CodexImporter(), folder / "store")
    assert digest() == before


@pytest.mark.parametrize("folder", stores("codex"), ids=lambda folder: folder.name)
def test_reading_line_by_line_gives_the_same_entries(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = read(CodexImporter(), folder / "store")
    monkeypatch.setattr(tail, "BATCH_RECORDS", 1)
    parts = read(CodexImporter(), folder / "store")
    assert parts.entries == whole.entries


@pytest.mark.parametrize("folder", stores("codex"), ids=lambda folder: folder.name)
def test_a_second_reading_finds_nothing(folder: Path) -> None:
    importer = CodexImporter()
    first = read(importer, folder / "store")
    records = first.records
    assert read(importer, folder / "store", first).records == records


def test_the_rewrite_of_a_file_in_place_keeps_all_identities() -> None:
    legacy, migrated = (
        [
            (draft.source_id, draft.content_hash)
            for draft in read(CodexImporter(), CODEX / name / "store").drafts
            if draft.kind is Kind.MESSAGE
        ]
        for name in ("0.122.0", "0.122.0-migrated")
    )
    assert legacy == migrated
    assert (len(legacy), len(set(legacy))) == (55, 38)


def test_a_file_that_is_rewritten_while_it_is_watched_adds_nothing(tmp_path: Path) -> None:
    root = tmp_path / "codex"
    shutil.copytree(CODEX / "0.122.0" / "store", root)
    importer = CodexImporter()
    reading = read(importer, root)
    before = len(reading.entries)
    shutil.copytree(CODEX / "0.122.0-migrated" / "store", root, dirs_exist_ok=True)
    read(importer, root, reading)
    assert len(reading.entries) == before
    assert not reading.changed


def test_a_fork_that_replays_its_parent_is_its_own_session_and_repeats_nothing() -> None:
    reading = read(CodexImporter(), CODEX / "0.122.0" / "store")
    assert reading.texts(FORK, role="user") == ["Forked turn [[text:fork done]]"]
    assert reading.repeated >= 17
    assert reading.attributes(FORK)["forked_from"] == str(session_id_of("codex", FORKED))
    assert reading.sessions[FORK].parent is None


def test_a_fork_is_known_by_the_other_name_of_its_origin_too(tmp_path: Path) -> None:
    rollout(tmp_path, header(), turn(), message("hi"))
    name = f"rollout-2026-11-29T11-00-00-{FORK}.jsonl"
    rollout(tmp_path, header(id=FORK, forked_from_thread_id=THREAD, trace_id="t"), name=name)
    importer = CodexImporter()
    sources = list(importer.sources(Store(provider="codex", root=tmp_path)))
    assert sources[1].after == (sources[0].key,)
    reading = read(importer, tmp_path)
    assert reading.attributes(FORK)["forked_from"] == str(session_id_of("codex", THREAD))
    assert reading.sessions[FORK].payload["forked_from"] == THREAD


def test_a_fork_waits_for_the_file_it_may_repeat() -> None:
    store = Store(provider="codex", root=CODEX / "0.122.0" / "store")
    sources = {source.path.name[-41:-6]: source for source in CodexImporter().sources(store)}
    assert sources[FORK[1:]].after == (sources[FORKED[1:]].key,)
    assert [source.after for name, source in sources.items() if name != FORK[1:]] == [()] * 3


@pytest.mark.parametrize("name", ["0.122.0", "0.171.0"])
def test_a_sub_agent_is_a_session_of_its_own_with_its_parent(name: str) -> None:
    sessions = read(CodexImporter(), CODEX / name / "store").sessions
    (child,) = (each for each in sessions.values() if each.parent)
    assert child.parent in sessions
    assert child.payload["agent"]


def test_a_thread_is_named_by_its_own_id_and_not_by_its_roots(tmp_path: Path) -> None:
    rollout(tmp_path, header(session_id="root", source={"subagent": {"other": "review"}}))
    reading = read(CodexImporter(), tmp_path)
    assert list(reading.sessions) == [THREAD]
    assert reading.sessions[THREAD].payload["root"] == "root"
    assert reading.sessions[THREAD].parent == "root"


def test_the_header_tells_where_who_and_with_what() -> None:
    session = read(CodexImporter(), CODEX / "0.171.0" / "store").sessions[
        "01a227c6-57a6-7bf0-b316-0f55c2279389"
    ]
    assert session.directory == "/home/dev/proj"
    assert session.started_at is not None
    assert session.started_at.isoformat() == "2026-11-29T14:47:19.745000+00:00"
    assert session.payload["git_branch"] == "feature/store"
    assert session.payload["version"] == "0.171.0"
    assert session.payload["originator"] == "codex_exec"


def test_model_and_tokens_become_attributes_when_they_are_known() -> None:
    reading = read(CodexImporter(), CODEX / "0.171.0" / "store")
    found = reading.attributes("01a227c6-57a6-7bf0-b316-0f55c2279389")
    assert found == {"model": "gpt-5.5", "tokens": "5304"}
    answers = reading.messages("01a227c6-57a6-7bf0-b316-0f55c2279389", role="assistant")
    assert [(draft.payload or {})["model"] for draft in answers] == ["gpt-5.1-codex", "gpt-5.5"]


def test_compressed_and_archived_files_keep_the_key_of_the_first_place(tmp_path: Path) -> None:
    root = tmp_path / "codex"
    shutil.copytree(CODEX / "0.171.0" / "store", root)
    importer = CodexImporter()
    keys = {source.key for source in importer.sources(Store(provider="codex", root=root))}
    reading = read(importer, root)
    before = len(reading.entries)
    archived = root / "archived_sessions"
    for path in (root / "sessions").rglob("*.jsonl"):
        path.rename(archived / path.name)
    moved = list(importer.sources(Store(provider="codex", root=root)))
    assert {source.key for source in moved} == keys
    events: set[str] = set()
    for source in moved:
        for batch in batches(importer, source, reading):
            events.update(batch.events)
    assert events == {"moved"}
    assert len(reading.entries) == before


def test_a_plain_file_wins_over_its_compressed_twin(tmp_path: Path) -> None:
    path = rollout(tmp_path, header(), turn(), message("plain"))
    path.with_name(path.name + ".zst").write_bytes(b"old")
    sources = list(CodexImporter().sources(Store(provider="codex", root=tmp_path)))
    assert [(source.path, source.key) for source in sources] == [(path, str(path))]


@pytest.mark.parametrize("is_packed", [True, False], ids=["packed", "plain"])
@pytest.mark.parametrize("stale", ["sessions", "archived"])
def test_of_two_files_of_a_thread_in_two_folders_neither_hides_the_other(
    tmp_path: Path, stale: str, *, is_packed: bool
) -> None:
    path = rollout(tmp_path, header(), turn(), message("before"))
    archived = tmp_path / "archived_sessions" / path.name
    archived.parent.mkdir()
    importer = CodexImporter()
    reading = read(importer, tmp_path)
    old, live = (path, archived) if stale == "sessions" else (archived, path)
    whole = path.read_bytes()
    path.unlink()
    if is_packed:
        old.with_name(old.name + ".zst").write_bytes(zstd.compress(whole))
    else:
        old.write_bytes(whole)
    said = b"".join(json.dumps(message(text)).encode() + b"\n" for text in ("behind", "more"))
    live.write_bytes(whole + said)
    read(importer, tmp_path, reading)
    assert reading.texts() == ["before", "behind", "more"]
    with live.open("ab") as file:
        file.write(json.dumps(message("last")).encode() + b"\n")
    read(importer, tmp_path, reading)
    assert reading.texts() == ["before", "behind", "more", "last"]
    assert not reading.changed


def test_the_harness_speaks_as_system_and_the_user_as_user(tmp_path: Path) -> None:
    rollout(
        tmp_path,
        header(),
        turn(),
        message("<permissions instructions>all</permissions instructions>", "developer"),
        message("<environment_context>\n <cwd>/home</cwd>\n</environment_context>"),
        message("# AGENTS.md instructions for /home\n\n<INSTRUCTIONS>be kind</INSTRUCTIONS>"),
        message("<user_instructions>be kind</user_instructions>"),
        message("<turn_aborted>\n</turn_aborted>"),
        message("<subagent_notification>{}</subagent_notification>"),
        message("<environment variables are not harness"),
        message("<div>is not, either</div>"),
        message("<user_shell_command>\n<command>ls</command></user_shell_command>"),
    )
    roles = [draft.role for draft in read(CodexImporter(), tmp_path).messages()]
    assert roles == ["system"] * 6 + ["user", "user", "tool_result"]


def test_what_a_block_says_of_itself_counts_more_than_how_it_begins(tmp_path: Path) -> None:
    kinds = {"content_item_kinds": ["environments.environment_context", "user.text"]}
    content = [
        {"type": "input_text", "text": "You are in /home"},
        {"type": "input_text", "text": "<skill> is what I typed"},
    ]
    fields = {"internal_chat_message_metadata_passthrough": kinds}
    rollout(tmp_path, header(), turn(), item("message", role="user", content=content, **fields))
    reading = read(CodexImporter(), tmp_path)
    assert reading.texts(role="user") == ["<skill> is what I typed"]
    assert reading.texts(role="system") == ["You are in /home"]


def test_a_summary_is_kept_once_and_the_copied_history_never(tmp_path: Path) -> None:
    copied = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]}]
    rollout(
        tmp_path,
        header(),
        turn(),
        message("a"),
        {**message("the gist", "assistant"), "metadata": {"compaction_output": True}},
        line("compacted", message="Before: the gist", replacement_history=copied),
        line("compacted", message="", replacement_history=copied),
        item("compaction", encrypted_content="x"),
    )
    reading = read(CodexImporter(), tmp_path)
    said = [(draft.role, draft.content) for draft in reading.messages()]
    assert said == [
        ("user", "a"),
        ("summary", "Before: the gist"),
        ("system", "Conversation compacted; the summary is encrypted"),
    ]
    assert reading.skipped == {
        "client event": 1,
        "compaction output": 1,
        "encrypted compaction": 1,
    }


def test_the_same_words_twice_in_a_turn_are_two_entries(tmp_path: Path) -> None:
    rollout(
        tmp_path, header(), turn(), message("again"), message("again"), message("ok", "assistant")
    )
    assert read(CodexImporter(), tmp_path).texts() == ["again", "again", "ok"]


def test_a_prompt_that_only_an_event_has_is_kept(tmp_path: Path) -> None:
    shown = {"type": "UserMessage", "content": [{"type": "text", "text": "shown"}]}
    rollout(
        tmp_path,
        header(),
        turn(),
        line("event_msg", type="item_completed", item=shown),
        message("answer", "assistant"),
        turn("second"),
        line("event_msg", type="user_message", message="old"),
        message("old"),
        turn("third"),
        message("both"),
        line("event_msg", type="user_message", message="both"),
        line("event_msg", type="user_message", message=""),
    )
    reading = read(CodexImporter(), tmp_path)
    assert reading.texts() == ["shown", "answer", "old", "both"]
    assert reading.skipped["duplicate of an event"] == 1
    assert reading.skipped["duplicate of a response item"] == 2


def test_bare_rollouts_have_no_times_and_are_read_all_the_same(tmp_path: Path) -> None:
    call = {
        "type": "function_call",
        "name": "shell",
        "call_id": "c1",
        "arguments": '{"command":["ls"]}',
    }
    answer = json.dumps({"output": "a\n", "metadata": {"exit_code": 2}})
    rollout(
        tmp_path,
        {"id": THREAD, "timestamp": "2025-08-07T10:00:00.5Z", "git": {"branch": "main"}},
        {"record_type": "state"},
        {
            "type": "message",
            "id": None,
            "role": "user",
            "content": [{"type": "input_text", "text": "hi"}],
        },
        {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "think"}]},
        call,
        {"type": "function_call_output", "call_id": "c1", "output": answer},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "done"}],
        },
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
    )
    reading = read(CodexImporter(), tmp_path)
    said = [(draft.role, draft.content) for draft in reading.messages()]
    assert said == [
        ("user", "hi"),
        ("reasoning", "think"),
        ("tool_call", "shell: ls"),
        ("tool_result", "a\n"),
        ("assistant", "done"),
        ("user", "hi"),
    ]
    assert {str(draft.occurred_at) for draft in reading.messages()} == {
        "2025-08-07 10:00:00.500000+00:00"
    }
    assert reading.messages(role="tool_result")[0].payload == {"call_id": "c1", "exit_code": 2}
    assert reading.sessions[THREAD].payload["git_branch"] == "main"
    assert all(THREAD in name for name in reading.entries)
    assert reading.skipped == {"client state": 1}


def test_tools_are_readable_and_their_outputs_whole(tmp_path: Path) -> None:
    image = "data:image/png;base64,aGVsbG8="
    blocks = [{"type": "input_text", "text": "seen"}, {"type": "input_image", "image_url": image}]
    search = {"type": "search", "query": "rust"}
    exec_ = {"type": "exec", "command": ["bash", "-lc", "cargo test"], "timeout_ms": None}
    rollout(
        tmp_path,
        header(),
        turn(),
        item("function_call", name="look", call_id="a", arguments='{"path": "x.png", "zoom": 2}'),
        item("function_call_output", call_id="a", output=blocks),
        item("custom_tool_call", name="apply_patch", call_id="b", input="*** Begin Patch"),
        item("custom_tool_call_output", call_id="b", output="Exit code: 1\nOutput:\nno"),
        item("local_shell_call", call_id="c", status="completed", action=exec_),
        item("web_search_call", id="ws_1", status="completed", action=search),
        item("image_generation_call", id="ig_1", revised_prompt="a cat", result="aGVsbG8="),
        item("function_call", name="broken", call_id="d", arguments='{"cut'),
        item("function_call_output", call_id="d", output={"content": "bad", "success": False}),
    )
    said = {
        draft.content: draft.payload or {} for draft in read(CodexImporter(), tmp_path).messages()
    }
    assert list(said) == [
        "look: x.png\nzoom: 2",
        "seen\n[image image/png, 5 bytes]",
        "apply_patch: *** Begin Patch",
        "Exit code: 1\nOutput:\nno",
        "local_shell: cargo test",
        "web_search: rust",
        "image_generation: a cat",
        'broken: {"cut',
        "bad",
    ]
    blob = {
        "type": "image",
        "media_type": "image/png",
        "sha256": hashlib.sha256(b"hello").hexdigest(),
        "bytes": 5,
    }
    assert said["seen\n[image image/png, 5 bytes]"]["blobs"] == [blob]
    assert said["image_generation: a cat"]["blobs"] == [blob]
    assert said["Exit code: 1\nOutput:\nno"]["exit_code"] == 1
    assert said["bad"]["success"] is False
    assert said["web_search: rust"]["call_id"] == "ws_1"


def test_calls_that_a_provider_gave_the_same_id_stay_apart(tmp_path: Path) -> None:
    pair = [
        item("function_call", name="t", call_id="call_0", arguments="{}"),
        item("function_call_output", call_id="call_0", output="same"),
    ]
    rollout(tmp_path, header(), turn(), *pair, *pair)
    assert read(CodexImporter(), tmp_path).texts() == ["t", "same", "t", "same"]


def test_encrypted_thoughts_leave_no_entry_and_their_summaries_a_mark(tmp_path: Path) -> None:
    summary = [{"type": "summary_text", "text": "weighing"}]
    rollout(
        tmp_path,
        header(),
        turn(),
        item("reasoning", summary=summary, encrypted_content="gAAA"),
        item("reasoning", summary=[], encrypted_content="gAAB"),
    )
    reading = read(CodexImporter(), tmp_path)
    (draft,) = reading.messages()
    assert (draft.content, (draft.payload or {})["is_encrypted"]) == ("weighing", True)
    assert reading.skipped["encrypted reasoning"] == 1
    assert "gAAA" not in str(reading.entries)


def test_what_one_agent_says_to_another_in_cipher_is_marked_and_not_kept(tmp_path: Path) -> None:
    cipher = "gAAAAA" + "Bk_x-9" * 20 + "=="
    arguments = json.dumps({"task_name": "look", "message": cipher})
    content = [{"type": "encrypted_content", "encrypted_content": cipher}]
    rollout(
        tmp_path,
        header(),
        turn(),
        item("function_call", name="spawn_agent", call_id="c", arguments=arguments),
        item("agent_message", author="/root", recipient="/root/look", content=content),
    )
    call, sent = read(CodexImporter(), tmp_path).messages()
    assert call.content == "spawn_agent: [encrypted]\ntask_name: look"
    assert (call.payload or {})["is_encrypted"] is True
    assert (sent.role, sent.content) == ("system", "[encrypted]")
    assert cipher not in str((call, sent))


def test_what_no_version_wrote_yet_is_counted_by_its_name(tmp_path: Path) -> None:
    rollout(
        tmp_path,
        header(),
        item("hologram", data=1),
        line("event_msg", type="confetti"),
        line("weather", sun=True),
        {"nothing": "known"},
        {
            "timestamp": 5,
            "type": "response_item",
            "payload": {"type": "message", "content": {"a": 1}},
        },
    )
    reading = read(CodexImporter(), tmp_path)
    assert reading.skipped == {
        "unknown item: hologram": 1,
        "unknown event: confetti": 1,
        "unknown record: weather": 1,
    }
    assert [each.reason for each in reading.unreadable] == [
        "neither a session's header nor an item of it"
    ]
    assert reading.texts() == ['{"a": 1}']


def test_a_file_without_header_is_named_after_its_file(tmp_path: Path) -> None:
    rollout(tmp_path, turn(), message("late", second=3))
    rollout(tmp_path, turn(), message("lost"), name="rollout-without-id.jsonl")
    reading = read(CodexImporter(), tmp_path)
    assert reading.texts(THREAD) == ["late"]
    assert len(reading.unreadable) == 2


def test_reading_order_follows_the_times_also_behind_a_shortened_file(tmp_path: Path) -> None:
    path = rollout(tmp_path, header(), turn(), *(message(f"m{n}", second=n) for n in range(5)))
    importer = CodexImporter()
    reading = read(importer, tmp_path)
    path.unlink()
    rollout(
        tmp_path, header(), turn(), message("m0"), message("m9", second=9), message("m9b", second=9)
    )
    read(importer, tmp_path, reading)
    assert reading.texts() == ["m0", "m1", "m2", "m3", "m4", "m9", "m9b"]


def test_an_entry_says_where_it_was_found_and_that_is_not_its_identity(tmp_path: Path) -> None:
    path = rollout(tmp_path / "a", header(), turn(), message("here", second=7))
    rollout(tmp_path / "b", header(originator="moved"), turn(), message("here", second=8))
    (first,) = read(CodexImporter(), tmp_path / "a").messages()
    (other,) = read(CodexImporter(), tmp_path / "b").messages()
    raw = path.read_bytes().splitlines()[2]
    assert first.origin == {
        "path": str(path),
        "offset": path.read_bytes().index(raw),
        "hash": hashlib.sha256(raw).hexdigest(),
    }
    assert (first.source_id, first.content_hash) == (other.source_id, other.content_hash)
    assert str(first.occurred_at) == "2026-11-29 10:00:07+00:00"


def test_titles_come_from_the_index_and_change_later(tmp_path: Path) -> None:
    importer = CodexImporter()
    rollout(tmp_path, header(), turn(), message("hi"))
    reading = read(importer, tmp_path)
    assert "title" not in reading.attributes(THREAD)
    index = tmp_path / "session_index.jsonl"
    for title in ("First", "Second", "First"):
        with index.open("a") as file:
            file.write(json.dumps({"id": THREAD, "thread_name": title}) + "\n{torn")
        read(importer, tmp_path, reading)
        assert reading.attributes(THREAD)["title"] == title
        assert title not in str(reading.states), "a title may hold a secret, a checkpoint may not"
        index.write_text(index.read_text().removesuffix("{torn"))
    titles = {each.source_id for each in reading.drafts if (each.key or "").endswith("/title")}
    assert len(titles) == 3


def test_titles_come_from_the_newest_state_database_and_the_users_word_wins(tmp_path: Path) -> None:
    databases = tmp_path / "elsewhere"
    databases.mkdir()
    rollout(tmp_path, header(), turn(), message("hi"))
    for number, name in ((4, "outdated"), (5, "  my\nname ")):
        with sqlite3.connect(databases / f"state_{number}.sqlite") as connection:
            connection.execute("CREATE TABLE threads (id, title, name)")
            connection.execute("INSERT INTO threads VALUES (?, 'x', ?)", (THREAD, name))
        connection.close()
    importer = CodexImporter()
    environment = {"CODEX_HOME": str(tmp_path), "CODEX_SQLITE_HOME": str(databases)}
    importer.stores(environment, Path("/nowhere"))
    reading = read(importer, tmp_path)
    assert reading.attributes(THREAD)["title"] == "my name"
    with sqlite3.connect(databases / "state_5.sqlite") as connection:
        connection.execute("UPDATE threads SET name = NULL, title = ?", ("t" * 900,))
    connection.close()
    read(importer, tmp_path, reading)
    assert len(reading.attributes(THREAD)["title"]) == MAX_TITLE


def test_titles_that_cannot_be_read_cost_no_session(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rollout(tmp_path, header(), turn(), message("hi"))
    (tmp_path / "state_5.sqlite").write_text("this is a text and no database")
    assert read(CodexImporter(), tmp_path).texts() == ["hi"]
    assert "cannot be read" in caplog.text


def test_the_store_is_where_the_environment_says(tmp_path: Path) -> None:
    importer = CodexImporter()
    assert importer.stores({}, tmp_path) == []
    rollout(tmp_path / ".codex", header())
    (tmp_path / "other" / "archived_sessions").mkdir(parents=True)
    assert [store.root for store in importer.stores({}, tmp_path)] == [tmp_path / ".codex"]
    chosen = importer.stores({"CODEX_HOME": str(tmp_path / "other")}, tmp_path)
    assert [store.root for store in chosen] == [tmp_path / "other"]


def test_a_header_that_is_still_being_written_is_asked_again(tmp_path: Path) -> None:
    importer = CodexImporter()
    store = Store(provider="codex", root=tmp_path)
    rollout(tmp_path, header())
    name = f"rollout-2026-11-29T11-00-00-{FORK}.jsonl"
    path = rollout(tmp_path, name=name)
    assert [source.after for source in importer.sources(store)] == [(), ()]
    rollout(tmp_path, header(id=FORK, forked_from_id=THREAD), name=name)
    sources = list(importer.sources(store))
    assert sources[1].path == path
    assert sources[1].after == (sources[0].key,)


NO_TIMES = ["0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00", "9001-01-01", "1969", "", 7]


@pytest.mark.parametrize("text", NO_TIMES)
def test_a_time_that_is_none_stops_no_file(tmp_path: Path, text: object) -> None:
    odd = message("odd", second=2)
    odd["timestamp"] = text
    rollout(tmp_path, header(timestamp=text), turn(), message("before", second=1), odd)
    rollout(tmp_path, message("after", second=3))
    found = read(CodexImporter(), tmp_path)
    assert found.texts() == ["before", "odd", "after"]
    assert found.messages()[1].occurred_at == found.sessions[THREAD].started_at
    assert not found.unreadable


def test_times_of_every_client_are_in_utc_and_within_the_years_that_the_ledger_takes() -> None:
    assert [moment(text) for text in NO_TIMES] == [None] * len(NO_TIMES)
    noon = datetime(2026, 11, 29, 12, tzinfo=UTC)
    assert {moment(f"2026-11-29T{each}") for each in ("12:00", "12:00Z", "14:00+02:00")} == {noon}
    assert moment_of(noon.timestamp() * 1000) == noon
    assert moment_of(1) is not None
    numbers = [0, -1, 10**400, float("nan"), float("inf"), 253_402_300_799_000, "1795953600000"]
    assert [moment_of(each) for each in numbers] == [None] * len(numbers)


def test_a_turn_of_any_length_loses_and_doubles_nothing_and_keeps_its_checkpoint_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeats, "EXACT", 16)
    monkeypatch.setattr(repeats, "SHARED", 8)
    monkeypatch.setattr(tail, "BATCH_RECORDS", 7)
    texts = [f"text {number}" for number in range(200)]
    path = rollout(tmp_path, header(), turn(), *(message(text, "assistant") for text in texts))
    again = [*texts[::20], "text 199", "text 199"]  # said before, known by itself or not
    reading = read(CodexImporter(), tmp_path)
    rollout(tmp_path, *(message(text, "assistant") for text in again))
    read(CodexImporter(), tmp_path, reading)
    assert sorted(reading.texts()) == sorted(texts + again)
    (state,) = reading.states.values()
    assert len(state["context"]["seen"]) <= 16 + 8

    path.write_text(path.read_text() + " \n")  # written anew: another inode, all read again
    path.rename(tmp_path / "copy")
    shutil.copy(tmp_path / "copy", path)
    identities = set(reading.entries)
    read(CodexImporter(), tmp_path, reading)
    assert set(reading.entries) == identities
    assert not reading.changed
