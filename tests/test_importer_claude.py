"""Claude Code's transcripts of every layout become sessions and entries."""

import base64
import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from readings import DATA, Reading, expected, read, stores

from importers import tail
from importers.base import Store
from importers.claude import ClaudeImporter
from memory.drafts import Kind, session_id_of

CLAUDE = DATA / "claude"
PARENT = "deb63f7f-4d21-4e69-89d8-3b25fcb54eaa"
FORK = "eef21e0a-def2-4815-8b32-1388922d2eb1"
SESSION = "00000000-0000-4000-8000-000000000001"
OTHER = "00000000-0000-4000-8000-000000000002"

_seconds = count()


def row(kind: str, uuid: str, content: Any, **fields: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content, **fields.pop("message", {})}
    if kind == "assistant":
        message = {"id": f"msg_{uuid}", "model": "claude-opus-4-8", **message}
    return {
        "type": kind,
        "uuid": uuid,
        "parentUuid": None,
        "sessionId": SESSION,
        "cwd": "/home/dev/proj",
        "gitBranch": "main",
        "version": "2.1.197",
        "timestamp": f"2026-11-29T10:00:{next(_seconds) % 60:02}.000Z",
        "message": message,
        **fields,
    }


def user(uuid: str, content: Any, **fields: Any) -> dict[str, Any]:
    return row("user", uuid, content, **fields)


def assistant(uuid: str, content: Any, **fields: Any) -> dict[str, Any]:
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    return row("assistant", uuid, content, **fields)


def write(root: Path, *rows: Mapping[str, Any], name: str = f"proj/{SESSION}.jsonl") -> Path:
    path = root / "projects" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(each) + "\n" for each in rows)
    return path


def calling(call_id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "Task", "input": {"prompt": "go"}}


def roles(reading: Reading) -> list[tuple[str | None, str]]:
    return [(draft.role, draft.content) for draft in reading.messages()]


@pytest.mark.parametrize("folder", stores("claude"), ids=lambda folder: folder.name)
def test_each_store_gives_what_its_client_showed(folder: Path) -> None:
    assert read(ClaudeImporter(), folder / "store").summary() == expected(folder)


@pytest.mark.parametrize("folder", stores("claude"), ids=lambda folder: folder.name)
def test_reading_row_by_row_gives_the_same_entries(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = read(ClaudeImporter(), folder / "store")
    monkeypatch.setattr(tail, "BATCH_RECORDS", 1)
    parts = read(ClaudeImporter(), folder / "store")
    assert parts.entries == whole.entries


def test_the_store_is_where_the_environment_says_or_in_the_home(tmp_path: Path) -> None:
    importer = ClaudeImporter()
    assert importer.stores({}, tmp_path) == []
    write(tmp_path / ".claude", user("a", "hello"))
    write(tmp_path / "elsewhere", user("a", "hello"))
    assert [store.root for store in importer.stores({}, tmp_path)] == [tmp_path / ".claude"]
    chosen = {"CLAUDE_CONFIG_DIR": str(tmp_path / "elsewhere")}
    assert [store.root for store in importer.stores(chosen, tmp_path)] == [tmp_path / "elsewhere"]


def test_a_fork_gives_only_its_own_rows_and_waits_for_its_original() -> None:
    reading = read(ClaudeImporter(), CLAUDE / "2.1.197" / "store")
    assert reading.texts(FORK) == ["Forked turn [[text:fork done]]", "fork done"]
    assert reading.repeated == 28
    assert not reading.changed
    store = Store(provider="claude", root=CLAUDE / "2.1.197" / "store")
    (fork,) = [each for each in ClaudeImporter().sources(store) if FORK in each.key]
    assert [Path(key).stem for key in fork.after] == [PARENT]


def test_a_fork_after_a_compaction_waits_for_its_original() -> None:
    store = Store(provider="claude", root=CLAUDE / "2.1.332" / "store")
    (fork,) = [each for each in ClaudeImporter().sources(store) if "0b124109" in each.key]
    assert "6b43d4af-d011-40e6-a924-110ad0a7af2b" in [Path(key).stem for key in fork.after]
    reading = read(ClaudeImporter(), store.root)
    assert reading.repeated == 8
    assert not reading.changed, "the fork sets the tokens of a copied row to 0"


def test_a_resume_of_1_0_40_copies_under_new_uuids_and_adds_nothing() -> None:
    reading = read(ClaudeImporter(), CLAUDE / "1.0.40" / "store")
    rows = [draft for draft in reading.drafts if draft.kind is Kind.MESSAGE]
    assert (len(rows), len(reading.messages())) == (29, 14)


def test_an_old_session_that_begins_with_the_same_words_is_no_copy(tmp_path: Path) -> None:
    for session, answer in ((SESSION, "one"), (OTHER, "two")):
        old = {"version": "1.0.40", "sessionId": session}
        write(
            tmp_path,
            user(f"{answer}-q", "hello", **old),
            assistant(f"{answer}-a", answer, **old),
            user(f"{answer}-r", "and then?", **old),
            name=f"proj/{session}.jsonl",
        )
    assert len(read(ClaudeImporter(), tmp_path).messages()) == 6


def test_an_old_copy_is_known_although_its_text_became_a_list(tmp_path: Path) -> None:
    old = {"version": "1.0.40"}
    answer = {"message": {"id": "msg_1"}}
    write(tmp_path, user("q", "hello", **old), assistant("a", "hi", **old, **answer))
    copy = {**old, "sessionId": OTHER}
    write(
        tmp_path,
        user("q2", [{"type": "text", "text": "hello"}], **copy),
        assistant("a2", "hi", **copy, **answer),
        user("r2", "more", **copy),
        name=f"proj/{OTHER}.jsonl",
    )
    reading = read(ClaudeImporter(), tmp_path)
    assert reading.texts(SESSION) == ["hello", "hi"]
    assert reading.texts(OTHER) == ["more"]


def test_new_versions_are_never_compared_by_content(tmp_path: Path) -> None:
    for session in (SESSION, OTHER):
        write(
            tmp_path,
            user(f"q-{session}", "hello", sessionId=session),
            assistant(f"a-{session}", "hi", sessionId=session, message={"id": "msg_1"}),
            name=f"proj/{session}.jsonl",
        )
    assert len(read(ClaudeImporter(), tmp_path).messages()) == 4


def test_sub_agents_are_sessions_with_a_parent(tmp_path: Path) -> None:
    agent = {"isSidechain": True, "agentId": "a1b2"}
    layouts = {
        f"proj/{SESSION}/subagents/agent-a1b2.jsonl": agent,
        f"proj/{SESSION}/subagents/workflows/w/agent-c3.jsonl": {**agent, "agentId": "c3"},
        "proj/agent-0f0f0f0f.jsonl": {**agent, "agentId": "0f0f0f0f", "version": "2.0.35"},
    }
    write(tmp_path, user("u", "hello"))
    for number, (name, fields) in enumerate(layouts.items()):
        write(tmp_path, user(f"s{number}", "do it", **fields), name=name)
    meta = {"agentType": "Explore", "description": "Look around", "toolUseId": "toolu_1"}
    beside = tmp_path / "projects" / f"proj/{SESSION}/subagents/agent-a1b2.meta.json"
    beside.write_text(json.dumps(meta))
    sessions = read(ClaudeImporter(), tmp_path).sessions
    assert {name: each.parent for name, each in sessions.items()} == {
        SESSION: None,
        f"{SESSION}/agent-a1b2": SESSION,
        f"{SESSION}/agent-c3": SESSION,
        f"{SESSION}/agent-0f0f0f0f": SESSION,
    }
    assert sessions[f"{SESSION}/agent-a1b2"].title == "Look around"
    assert sessions[f"{SESSION}/agent-a1b2"].payload["call_id"] == "toolu_1"
    assert sessions[f"{SESSION}/agent-a1b2"].parent_id == session_id_of("claude", SESSION)


def test_a_sub_agent_of_a_sub_agent_has_that_one_for_a_parent(tmp_path: Path) -> None:
    folder = f"proj/{SESSION}/subagents"
    write(tmp_path, user("u", "hello"), assistant("a", [calling("toolu_1")]))
    chain = {"zz": "toolu_1", "mm": "toolu_2", "aa": "toolu_3", "lost": "toolu_9"}
    for depth, (agent, call) in enumerate(chain.items(), start=1):
        fields = {"isSidechain": True, "agentId": agent}
        write(
            tmp_path,
            user(f"{agent}-u", f"not a call: toolu_{depth}", **fields),
            assistant(f"{agent}-a", [calling(f"toolu_{depth + 1}")], **fields),
            name=f"{folder}/agent-{agent}.jsonl",
        )
        meta = {"agentType": "Explore", "toolUseId": call, "spawnDepth": depth}
        beside = tmp_path / "projects" / folder / f"agent-{agent}.meta.json"
        beside.write_text(json.dumps(meta))
    sessions = read(ClaudeImporter(), tmp_path).sessions
    assert {name: each.parent for name, each in sessions.items()} == {
        SESSION: None,
        f"{SESSION}/agent-zz": SESSION,
        f"{SESSION}/agent-mm": f"{SESSION}/agent-zz",
        f"{SESSION}/agent-aa": f"{SESSION}/agent-mm",
        f"{SESSION}/agent-lost": SESSION,
    }
    assert sessions[f"{SESSION}/agent-aa"].payload["spawn_depth"] == 3


def test_side_chains_inside_an_old_transcript_are_sessions_of_their_own(tmp_path: Path) -> None:
    old = {"version": "1.0.103"}
    side = {**old, "isSidechain": True}
    write(
        tmp_path,
        user("m1", "hello", **old),
        user("s1", "first task", **side),
        user("t1", "second task", **side),
        assistant("s2", "first answer", parentUuid="s1", **side),
        assistant("t2", "second answer", parentUuid="t1", **side),
        assistant("m2", "all done", parentUuid="m1", **old),
    )
    reading = read(ClaudeImporter(), tmp_path)
    assert reading.texts(SESSION) == ["hello", "all done"]
    assert reading.texts(f"{SESSION}/sidechain-s1") == ["first task", "first answer"]
    assert reading.texts(f"{SESSION}/sidechain-t1") == ["second task", "second answer"]
    assert reading.sessions[f"{SESSION}/sidechain-s1"].parent == SESSION


def test_warm_up_agents_are_skipped_by_name(tmp_path: Path) -> None:
    agent = {"isSidechain": True, "agentId": "0f0f0f0f", "version": "2.0.35"}
    write(
        tmp_path,
        user("w1", "Warmup", **agent),
        assistant("w2", "I am ready.", **agent),
        name="proj/agent-0f0f0f0f.jsonl",
    )
    reading = read(ClaudeImporter(), tmp_path)
    assert reading.skipped == {"warm-up agent": 2}
    assert not reading.sessions


def test_a_user_may_say_warmup(tmp_path: Path) -> None:
    write(tmp_path, user("u", "Warmup"))
    assert roles(read(ClaudeImporter(), tmp_path)) == [("user", "Warmup")]


@pytest.mark.parametrize(
    ("content", "fields"),
    [
        ("Continue from where you left off.", {"isMeta": True}),
        ("<command-name>/compact</command-name>", {}),
        ("<command-message>init is running…</command-message>\n<command-name>/init", {}),
        ("<local-command-stdout>Bye!</local-command-stdout>", {}),
        ("Caveat: The messages below were generated by the user", {}),
        ("[Request interrupted by user for tool use]", {}),
        ("<task-notification>\n<task-id>a</task-id>", {"origin": {"kind": "task-notification"}}),
        ("something the client made", {"origin": {"kind": "auto-continuation"}}),
        ("<system-reminder>\nToday is Sunday.\n</system-reminder>", {}),
        ("<ide_selection>lines 1 to 3</ide_selection>", {}),
        ("<bash-input>ls</bash-input>", {}),
    ],
)
def test_what_the_client_says_is_kept_as_system(
    tmp_path: Path, content: str, fields: dict[str, Any]
) -> None:
    write(tmp_path, user("u", content, **fields))
    assert roles(read(ClaudeImporter(), tmp_path)) == [("system", content)]


def test_what_was_typed_behind_a_wrapper_is_the_users(tmp_path: Path) -> None:
    text = "<ide_opened_file>The user opened a.py</ide_opened_file>\nPlease fix the bug"
    write(tmp_path, user("u", text), user("h", "hello", origin={"kind": "human"}))
    reading = read(ClaudeImporter(), tmp_path)
    assert roles(reading) == [
        ("system", "<ide_opened_file>The user opened a.py</ide_opened_file>"),
        ("user", "Please fix the bug"),
        ("user", "hello"),
    ]
    assert [each.source_id for each in reading.messages()] == ["u", "u#1", "h"]


def test_a_compaction_is_a_boundary_and_a_summary(tmp_path: Path) -> None:
    boundary = {
        **user("b", None),
        "type": "system",
        "subtype": "compact_boundary",
        "content": "Conversation compacted",
        "compactMetadata": {"trigger": "auto", "preTokens": 3176},
    }
    write(tmp_path, boundary, user("s", "This session is continued …", isCompactSummary=True))
    reading = read(ClaudeImporter(), tmp_path)
    assert roles(reading) == [
        ("system", "Conversation compacted"),
        ("summary", "This session is continued …"),
    ]
    payload = reading.messages()[0].payload
    assert payload is not None
    assert payload["compaction"]["preTokens"] == 3176


def test_the_clients_words_in_the_assistants_name_are_system(tmp_path: Path) -> None:
    synthetic = {"message": {"model": "<synthetic>"}}
    write(
        tmp_path,
        assistant("a", "No response requested.", **synthetic),
        assistant("b", "API Error: 500", isApiErrorMessage=True, **synthetic),
        assistant("c", "a partial ans", **synthetic),
    )
    assert [role for role, _ in roles(read(ClaudeImporter(), tmp_path))] == [
        "system",
        "system",
        "assistant",
    ]


def test_a_tool_call_and_its_result_are_paired_by_the_calls_id(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls -la"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a\nb", "is_error": True}
    write(tmp_path, assistant("a", [call]), user("r", [result]))
    made, got = read(ClaudeImporter(), tmp_path).messages()
    assert (made.role, made.content) == ("tool_call", "Bash: ls -la")
    assert made.payload is not None
    assert made.payload["input"] == {"command": "ls -la"}
    assert (got.role, got.content) == ("tool_result", "a\nb")
    assert got.payload is not None
    assert got.payload["is_error"] is True
    assert made.payload["call_id"] == got.payload["call_id"] == "toolu_1"


def test_results_in_any_order_are_paired_with_their_calls(tmp_path: Path) -> None:
    def result(number: int) -> dict[str, Any]:
        return {"type": "tool_result", "tool_use_id": f"t{number}", "content": f"out {number}"}

    write(
        tmp_path,
        user(
            "r3", [result(3)]
        ),  # a result may be written before its call's row, which is held back
        *(assistant(f"a{n}", [calling(f"t{n}")], message={"id": "msg"}) for n in (1, 2, 3)),
        user("r2", [result(2)]),
        user("r1", [result(1)]),
    )
    reading = read(ClaudeImporter(), tmp_path)
    by_role = {
        role: {
            (each.payload or {})["call_id"]: each.content for each in reading.messages(role=role)
        }
        for role in ("tool_call", "tool_result")
    }
    assert by_role["tool_result"] == {"t1": "out 1", "t2": "out 2", "t3": "out 3"}
    assert by_role["tool_call"].keys() == by_role["tool_result"].keys()


def test_a_thought_that_is_encrypted_is_counted_by_that_name(tmp_path: Path) -> None:
    thought = {"type": "thinking", "thinking": "", "signature": "c2ln"}
    write(tmp_path, user("u", "hello"), assistant("a", [thought]))
    reading = read(ClaudeImporter(), tmp_path)
    assert reading.skipped == {"encrypted thinking": 1}
    assert "c2ln" not in str(reading.drafts)


def test_model_and_title_say_from_which_row_they_are(tmp_path: Path) -> None:
    title = {"type": "custom-title", "customTitle": "My work", "sessionId": SESSION}
    path = write(tmp_path, title, user("u", "hello"), assistant("a", "hi"))
    rows = path.read_bytes().splitlines(keepends=True)
    reading = read(ClaudeImporter(), tmp_path)
    found = {(each.key or "").partition("/")[2]: each.origin for each in reading.drafts if each.key}
    places = {"title": (0, rows[0]), "model": (len(rows[0] + rows[1]), rows[2])}
    assert found == {
        name: {
            "path": str(path),
            "offset": offset,
            "hash": hashlib.sha256(raw.rstrip()).hexdigest(),
        }
        for name, (offset, raw) in places.items()
    }


def test_a_row_with_several_blocks_gives_an_entry_for_each(tmp_path: Path) -> None:
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "text", "text": ""},
        {"type": "text", "text": "I will look"},
        {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "/a"}},
        {"type": "redacted_thinking", "data": "opaque"},
        {"type": "quantum_block", "state": "both"},
    ]
    write(tmp_path, assistant("a", blocks))
    reading = read(ClaudeImporter(), tmp_path)
    assert [(each.source_id, each.role) for each in reading.messages()] == [
        ("a", "reasoning"),
        ("a#1", "assistant"),
        ("a#2", "tool_call"),
        ("a#3", "reasoning"),
        ("a#4", "system"),
    ]
    assert "opaque" not in str(reading.messages())


def test_an_empty_message_is_no_entry(tmp_path: Path) -> None:
    write(tmp_path, assistant("a", [{"type": "text", "text": ""}]), user("u", "  \n"))
    reading = read(ClaudeImporter(), tmp_path)
    assert reading.skipped == {"empty message": 2}


def test_images_are_kept_as_hash_and_size(tmp_path: Path) -> None:
    content = b"\x89PNG picture"
    source = {
        "type": "base64",
        "media_type": "image/png",
        "data": base64.b64encode(content).decode(),
    }
    image = {"type": "image", "source": source}
    write(
        tmp_path,
        user("u", [image, {"type": "text", "text": "what is this"}]),
        user("v", [image]),
        user("r", [{"type": "tool_result", "tool_use_id": "t", "content": [image]}]),
    )
    reading = read(ClaudeImporter(), tmp_path)
    kept = {
        "type": "image",
        "media_type": "image/png",
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
    }
    mark = "[image image/png, 12 bytes]"
    assert reading.texts() == ["what is this", mark, mark]
    for draft in reading.messages():
        assert draft.payload is not None
        assert draft.payload["blobs"] == [kept]
    assert source["data"] not in str(reading.drafts)


def test_a_long_output_is_read_from_the_sessions_own_folder() -> None:
    reading = read(ClaudeImporter(), CLAUDE / "2.1.197" / "store")
    (long,) = [each for each in reading.messages() if (each.payload or {}).get("saved_output")]
    assert long.content.startswith("1\n2\n3\n")
    assert long.content.rstrip().endswith("\n2000")
    assert "persisted-output" not in long.content


@pytest.mark.parametrize(
    "name", ["../../secret.txt", "/etc/hostname", "link.txt", "none.txt", ".."]
)
def test_a_long_output_is_never_read_from_elsewhere(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "projects" / "proj" / SESSION / "tool-results"
    folder.mkdir(parents=True)
    (tmp_path / "projects" / "secret.txt").write_text("elsewhere")
    (folder / "link.txt").symlink_to(tmp_path / "projects" / "secret.txt")
    text = f"<persisted-output>\nOutput too large. Full output saved to: {name}\n\nPreview: 1"
    write(tmp_path, user("r", [{"type": "tool_result", "tool_use_id": "t", "content": text}]))
    assert read(ClaudeImporter(), tmp_path).texts() == [text]


def test_a_long_output_is_the_same_result_when_its_file_is_gone(tmp_path: Path) -> None:
    shutil.copytree(CLAUDE / "2.1.197" / "store", tmp_path / "store")
    first = read(ClaudeImporter(), tmp_path / "store")
    shutil.rmtree(tmp_path / "store" / "projects" / "-home-dev-proj" / PARENT / "tool-results")
    second = read(ClaudeImporter(), tmp_path / "store")
    assert {key: each.content_hash for key, each in first.entries.items()} == {
        key: each.content_hash for key, each in second.entries.items()
    }


def test_tokens_are_counted_once_a_message(tmp_path: Path) -> None:
    def usage(output: int) -> dict[str, Any]:
        return {"id": "msg_1", "usage": {"input_tokens": 100, "output_tokens": output}}

    write(
        tmp_path,
        assistant("a", "one", message=usage(1)),
        assistant("b", "two", message=usage(1)),
        assistant("c", "three", message=usage(51)),
    )
    used = [
        (draft.payload or {}).get("usage") for draft in read(ClaudeImporter(), tmp_path).messages()
    ]
    assert used == [{"input_tokens": 100, "output_tokens": 1}, None, {"output_tokens": 50}]


def test_copies_of_prompts_in_new_kinds_of_rows_are_not_taken(tmp_path: Path) -> None:
    message = {"role": "user", "content": "hello"}
    write(
        tmp_path,
        user("u", "hello"),
        {"type": "queue-operation", "operation": "enqueue", "content": "hello"},
        {"type": "last-prompt", "lastPrompt": "hello"},
        {"type": "api-request-blob", "message": message},
        {"type": "prompt-mirror", "uuid": "x", "message": message, "sessionId": SESSION},
        {"type": "user", "message": message},
        {"type": "system", "subtype": "turn_duration", "uuid": "y"},
    )
    reading = read(ClaudeImporter(), tmp_path)
    assert reading.texts() == ["hello"]
    assert reading.skipped == {
        "queue-operation": 1,
        "last-prompt": 1,
        "api-request-blob": 1,
        "unknown: prompt-mirror": 1,
        "user without a uuid": 1,
        "system: turn_duration": 1,
    }


def test_what_is_typed_while_the_model_works_is_the_users(tmp_path: Path) -> None:
    def queued(prompt: Any, uuid: str | None = None, **more: Any) -> dict[str, Any]:
        attachment = {"type": "queued_command", "prompt": prompt, **more}
        made = {**user("-", None), "type": "attachment", "uuid": uuid, "attachment": attachment}
        return {key: value for key, value in made.items() if key != "message"}

    write(
        tmp_path,
        queued("stop, use tabs", "q1", commandMode="prompt"),
        queued([{"type": "text", "text": "and then test"}]),
        queued([{"type": "text", "text": "and then test"}]),
        queued("<task-notification>done", "q2", commandMode="task-notification"),
        queued("agent says", "q3", origin={"kind": "task-notification"}),
        {**user("x", None), "type": "attachment", "attachment": {"type": "date"}},
    )
    reading = read(ClaudeImporter(), tmp_path)
    assert roles(reading) == [
        ("user", "stop, use tabs"),
        ("user", "and then test"),
        ("user", "and then test"),
        ("system", "<task-notification>done"),
        ("system", "agent says"),
    ]
    assert reading.skipped == {"attachment": 1}


def test_the_title_that_the_user_chose_stays(tmp_path: Path) -> None:
    title = {"sessionId": SESSION}
    write(
        tmp_path,
        {"type": "custom-title", "customTitle": "Before all", **title},
        user("u", "hello"),
        {"type": "ai-title", "aiTitle": "A greeting", **title},
        {"type": "custom-title", "customTitle": "My work", **title},
        {"type": "custom-title", "customTitle": "My work", **title},
        {"type": "custom-title", "customTitle": "Before all", **title},
        {"type": "ai-title", "aiTitle": "", **title},
    )
    reading = read(ClaudeImporter(), tmp_path)
    titles = [each.content for each in reading.drafts if (each.key or "").endswith("/title")]
    assert titles == ["Before all", "My work", "Before all"]
    assert len({each.source_id for each in reading.drafts}) == len(reading.drafts)
    assert reading.skipped == {
        "title: waits for the first message": 1,
        "title: the user chose one": 1,
        "title: repeated": 1,
        "title: empty": 1,
    }


def test_a_summary_names_the_session_it_is_about(tmp_path: Path) -> None:
    write(tmp_path, user("u", "hello"), assistant("leaf", "hi"))
    write(
        tmp_path,
        {"type": "summary", "summary": "A greeting", "leafUuid": "leaf"},
        {"type": "summary", "summary": "Long gone", "leafUuid": "nowhere"},
        user("v", "again", sessionId=OTHER),
        name=f"proj/{OTHER}.jsonl",
    )
    reading = read(ClaudeImporter(), tmp_path)
    assert reading.attributes(SESSION)["title"] == "A greeting"
    assert "title" not in reading.attributes(OTHER)
    assert reading.skipped == {"title: of a session that is not here": 1}


def test_a_pipe_among_the_transcripts_keeps_no_summary_back(tmp_path: Path) -> None:
    row = {"type": "summary", "summary": "Long gone", "leafUuid": "nowhere"}
    path = write(tmp_path, row, user("u", "hello"))
    os.mkfifo(path.with_name(f"{OTHER}.jsonl"))
    importer = ClaudeImporter()
    sources = {
        each.path: each for each in importer.sources(Store(provider="claude", root=tmp_path))
    }
    assert len(sources) == 2
    assert importer.read(sources[path], None).records == 2


def test_a_worktree_belongs_to_its_repository(tmp_path: Path) -> None:
    write(tmp_path, user("u", "hello", cwd="/home/dev/proj/.claude/worktrees/fix/sub"))
    session = read(ClaudeImporter(), tmp_path).sessions[SESSION]
    assert session.directory == "/home/dev/proj"
    assert session.payload["worktree"] == "fix"
    assert session.payload["cwd"] == "/home/dev/proj/.claude/worktrees/fix/sub"


def test_a_transcript_that_moves_to_another_project_is_read_on(tmp_path: Path) -> None:
    path = write(tmp_path, user("u", "hello"))
    importer = ClaudeImporter()
    reading = read(importer, tmp_path)
    moved = tmp_path / "projects" / "proj--claude-worktrees-fix" / path.name
    moved.parent.mkdir()
    path.rename(moved)
    write(tmp_path, user("v", "more"), name=f"{moved.parent.name}/{moved.name}")
    records = reading.records
    read(importer, tmp_path, reading)
    assert reading.records == records + 1
    assert reading.texts(SESSION) == ["hello", "more"]


def test_the_same_session_in_two_projects_is_read_twice_and_stored_once(tmp_path: Path) -> None:
    path = write(tmp_path, user("u", "hello"))
    (tmp_path / "projects" / "copy").mkdir()
    shutil.copy(path, tmp_path / "projects" / "copy" / path.name)
    reading = read(ClaudeImporter(), tmp_path)
    assert (reading.records, len(reading.messages()), len(reading.states)) == (2, 1, 2)


def test_rows_that_are_not_what_claude_writes_stop_nothing(tmp_path: Path) -> None:
    write(
        tmp_path,
        user("u", "hello"),
        {"type": "user", "uuid": "a"},
        {"type": "user", "uuid": "b", "message": "text"},
        {"type": "assistant", "uuid": "c", "message": {"content": 42}},
        {"type": "assistant", "uuid": "d", "message": {"content": [None]}},
        {"type": ["user"], "uuid": "e"},
        {"type": "user", "uuid": "f" * 1000, "message": {"content": "x"}},
        user("s", "x", sessionId="y" * 1000),
        user("t", "no time", timestamp="yesterday"),
        user("v", "there", sessionId=None, cwd=None, version=7, gitBranch=None),
    )
    reading = read(ClaudeImporter(), tmp_path)
    assert reading.texts(SESSION) == ["hello", "no time", "there"]
    assert len(reading.unreadable) == 7
    assert all("x" * 3 not in each.reason for each in reading.unreadable)


def test_order_is_that_of_the_file_not_of_the_clock(tmp_path: Path) -> None:
    write(
        tmp_path,
        user("u", "first", timestamp="2026-11-29T10:00:05Z"),
        assistant("a", "second", timestamp="2026-11-29T10:00:01Z"),
    )
    assert read(ClaudeImporter(), tmp_path).texts() == ["first", "second"]


def test_a_folder_that_may_not_be_read_keeps_no_other_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, user("u", "hello"), name=f"good/{SESSION}.jsonl")
    locked = tmp_path / "projects" / "locked"
    locked.mkdir()
    importer = ClaudeImporter()
    listing, scanning = Path.iterdir, os.scandir

    def refuse(path: Path) -> None:
        if path == locked:
            raise PermissionError(13, "Permission denied", str(path))

    def iterdir(path: Path) -> Any:
        refuse(path)
        return listing(path)

    def scandir(path: Path) -> Any:
        refuse(path)
        return scanning(path)

    # Permissions would not do: root, as whom tests may run, reads everything.
    monkeypatch.setattr(Path, "iterdir", iterdir)
    monkeypatch.setattr(os, "scandir", scandir)
    sources = list(importer.sources(Store(provider="claude", root=tmp_path)))
    assert [each.path.name for each in sources] == [f"{SESSION}.jsonl", "locked"]
    with pytest.raises(PermissionError):
        importer.read(sources[1], None)


def test_the_checkpoint_holds_nothing_of_the_text(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"type": "custom-title", "customTitle": "hunter2 title", "sessionId": SESSION},
        user("u", "hunter2 text"),
        assistant("a", [{"type": "tool_use", "id": "t", "name": "hunter2", "input": {}}]),
    )
    assert "hunter2" not in json.dumps(read(ClaudeImporter(), tmp_path).states)
