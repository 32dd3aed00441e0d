"""pi's session files of every version become the same entries, whatever its versions do to them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from readings import DATA, expected, read, stores

from importers.base import Store
from importers.pi import PiImporter
from memory.drafts import Kind, session_id_of

PI = DATA / "pi"
SESSION = "01a20000-0000-7000-8000-000000000001"
OTHER = "01a20000-0000-7000-8000-000000000002"
NAME = f"2026-11-29T10-00-00-000Z_{SESSION}.jsonl"


def session_file(
    root: Path, *rows: dict[str, Any], name: str = NAME, folder: str = "--d--"
) -> Path:
    path = root / "sessions" / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.writelines(json.dumps(each) + "\n" for each in rows)
    return path


def row(kind: str, second: int = 0, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "timestamp": f"2026-11-29T10:00:{second:02}.000Z", **fields}


def header(**fields: Any) -> dict[str, Any]:
    return row("session", **{"version": 3, "id": SESSION, "cwd": "/home/dev/proj", **fields})


def message(text: Any, role: str = "user", second: int = 1, **fields: Any) -> dict[str, Any]:
    told = {"role": role, "content": text, "timestamp": 1_795_946_400_000 + second * 1000}
    return row("message", second, message={**told, **fields})


@pytest.mark.parametrize("folder", stores("pi"), ids=lambda folder: folder.name)
def test_a_store_gives_what_pi_showed(folder: Path) -> None:
    assert read(PiImporter(), folder / "store").summary() == expected(folder)


def test_a_file_that_a_newer_version_wrote_anew_adds_only_what_is_new(tmp_path: Path) -> None:
    root = Path(shutil.copytree(PI / "0.27.9" / "store", tmp_path / "store"))
    before = read(PiImporter(), root)
    known = set(before.entries)
    (old,), (new,) = (list(each.rglob("*.jsonl")) for each in (root, PI / "0.27.9-migrated"))
    shutil.copyfile(new, old)
    after = read(PiImporter(), root, before)
    assert {after.entries[each].content for each in after.entries.keys() - known} == {
        "Third, by a newer version [[text:migrated]]",
        "migrated",
    }
    assert after.changed == []
    assert len(after.sessions) == 1, "although the file's name has another id than its header"


def test_forks_and_clones_hold_what_they_copied_once(tmp_path: Path) -> None:
    reading = read(PiImporter(), PI / "0.73.1" / "store")
    assert len(reading.messages()) == 12 + 15 + 2 + 2
    _, original, fork, clone = sorted(reading.sessions)
    assert reading.attributes(fork)["forked_from"] == str(session_id_of("pi", original))
    assert reading.attributes(clone)["forked_from"] == str(session_id_of("pi", fork))
    assert "forked_from" not in reading.attributes(original)
    # Where the original is gone, what was copied from it is the fork's.
    root = Path(shutil.copytree(PI / "0.73.1" / "store", tmp_path / "store"))
    (gone,) = root.rglob(f"*{original}.jsonl")
    gone.unlink()
    assert len(read(PiImporter(), root).messages(fork)) == 8 + 2


def test_a_fork_is_read_behind_its_original_whatever_the_names_say(tmp_path: Path) -> None:
    origin = session_file(tmp_path, header(), message("first"), name=f"2026-12-01_{SESSION}.jsonl")
    parent = {"id": OTHER, "parentSession": f"C:\\elsewhere\\{origin.name}"}
    session_file(tmp_path, header(**parent), message("first"), name=f"2026-11-01_{OTHER}.jsonl")
    first, second = PiImporter().sources(Store(provider="pi", root=tmp_path))
    assert first.after == (second.key,)


def test_who_speaks_is_told_from_what_extensions_and_pi_itself_say(tmp_path: Path) -> None:
    session_file(
        tmp_path,
        header(),
        message("typed"),
        row("custom_message", 2, customType="todo", content="injected", display=False),
        row("branch_summary", 3, fromId="root", summary="what the branch did"),
        row("compaction", 4, summary="what was said", tokensBefore=9, retainedTail=[{"role": "x"}]),
        message([], "assistant", 5, stopReason="error", errorMessage="overloaded", model="m"),
        row("custom", 6, customType="todo", data={"count": 1}),
        row("label", 7, targetId="a", label="here"),
        row("session_info", 8, name=" a name "),
        row("telepathy", 9, text="?"),
        message("still heard", "oracle", 10),
        message([{"type": "text", "text": ""}], "user", 11),
    )
    reading = read(PiImporter(), tmp_path)
    assert [(each.role, each.content) for each in reading.messages()] == [
        ("user", "typed"),
        ("system", "injected"),
        ("summary", "what the branch did"),
        ("summary", "what was said"),
        ("system", "overloaded"),
        ("system", "still heard"),
    ]
    assert reading.attributes(SESSION) == {"title": "a name", "model": "m"}
    assert dict(reading.skipped) == {
        "state of an extension": 1,
        "bookmark": 1,
        "unknown record: telepathy": 1,
        "empty message": 1,
    }


def test_calls_results_and_the_users_own_commands_are_paired_and_told_apart(tmp_path: Path) -> None:
    call = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "make"}}
    usage = {"input": 3, "output": 4, "totalTokens": 7, "cost": {"total": 0.1}}
    said = [{"type": "thinking", "thinking": "hm"}, {"type": "thinking", "thinking": ""}, call]
    output = [{"type": "text", "text": "built"}]
    session_file(
        tmp_path,
        header(),
        message(said, "assistant", 1, model="m", provider="p", usage=usage),
        message(output, "toolResult", 2, toolCallId="c1", toolName="bash", isError=False),
        message(None, "bashExecution", 3, command="ls", output="a b", exitCode=0, cancelled=False),
    )
    thought, called, told, typed, printed = read(PiImporter(), tmp_path).messages()
    tokens = {"input": 3, "output": 4, "totalTokens": 7}
    assert (thought.role, thought.payload) == (
        "reasoning",
        {"model": "m", "provider": "p", "usage": tokens},
    )
    assert (called.content, called.payload) == (
        "bash: make",
        {"call_id": "c1", "tool": "bash", "input": {"command": "make"}},
    )
    assert (told.content, told.payload) == (
        "built",
        {"call_id": "c1", "is_error": False, "tool": "bash"},
    )
    assert (typed.role, typed.content) == ("tool_call", "bash: ls")
    assert printed.payload == {"tool": "bash", "by": "user", "exit_code": 0}


def test_an_image_is_kept_as_its_hash_and_size(tmp_path: Path) -> None:
    image = {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}
    session_file(tmp_path, header(), message([{"type": "text", "text": "look"}, image]))
    (kept,) = read(PiImporter(), tmp_path).messages()
    assert kept.content == "look\n[image image/png, 5 bytes]"
    assert kept.payload is not None
    assert kept.payload["blobs"][0]["bytes"] == 5


def test_a_renamed_role_is_the_same_message(tmp_path: Path) -> None:
    session_file(tmp_path / "a", header(version=2), message("x", "hookMessage", customType="t"))
    session_file(tmp_path / "b", header(), message("x", "custom", customType="t"))
    (before,), (after,) = (read(PiImporter(), tmp_path / each).messages() for each in "ab")
    assert (before.source_id, before.content_hash) == (after.source_id, after.content_hash)


def test_the_same_words_twice_in_one_millisecond_are_two_messages(tmp_path: Path) -> None:
    path = session_file(tmp_path, header(), message("yes"), message("yes"))
    reading = read(PiImporter(), tmp_path)
    assert reading.texts() == ["yes", "yes"]
    session_file(tmp_path, message("yes"), name=path.name)
    assert read(PiImporter(), tmp_path, reading).texts() == ["yes", "yes", "yes"]


def test_a_file_without_its_header_still_belongs_to_the_session_in_its_name(tmp_path: Path) -> None:
    session_file(tmp_path, message("found"))
    session_file(tmp_path, message("lost"), name="nameless.jsonl")
    reading = read(PiImporter(), tmp_path)
    assert reading.texts(SESSION) == ["found"]
    (lost,) = reading.unreadable
    assert lost.reason.startswith("no session")


def test_a_session_begins_with_the_first_line_that_can_be_read(tmp_path: Path) -> None:
    name = f"2026-11-29T10-00-00-000Z_{'日本' * 20}.jsonl"
    session_file(tmp_path, message([3]), message("found") | {"timestamp": None}, name=name)
    reading = read(PiImporter(), tmp_path)
    assert reading.texts() == ["found"]
    assert len(reading.unreadable) == 1
    session_file(tmp_path / "b", header(id=[1]), message("named by its file"))
    assert list(read(PiImporter(), tmp_path / "b").sessions) == [SESSION]


@pytest.mark.parametrize(
    "bad",
    [
        {"no": "type"},
        row("message"),
        row("message", message={"content": "x"}),
        message(["no block"], "assistant"),
        message([3]),
        header(id=[1]) | {"type": 4},
    ],
)
def test_a_line_of_another_shape_costs_only_itself(tmp_path: Path, bad: dict[str, Any]) -> None:
    session_file(tmp_path, header(), message("before"), bad, message("after", second=3))
    reading = read(PiImporter(), tmp_path)
    assert reading.texts() == ["before", "after"]
    assert len(reading.unreadable) == 1


def test_a_session_that_pi_moves_into_its_folder_keeps_its_checkpoint(tmp_path: Path) -> None:
    path = session_file(tmp_path, header(), message("hello"))
    stray = path.rename(tmp_path / path.name)  # where 0.30.0 put it
    reading = read(PiImporter(), tmp_path)
    stray.rename(path)
    again = read(PiImporter(), tmp_path, reading)
    assert (again.records, again.repeated) == (2, 0)


def test_the_same_file_in_two_folders_is_read_in_both(tmp_path: Path) -> None:
    for folder in ("--a--", "--b--"):
        session_file(tmp_path, header(), message("hello"), folder=folder)
    reading = read(PiImporter(), tmp_path)
    assert (reading.records, len(reading.states), reading.texts()) == (4, 2, ["hello"])


def test_stores_are_where_the_environment_says(tmp_path: Path) -> None:
    def roots(**environment: str) -> list[Path]:
        return [store.root for store in PiImporter().stores(environment, tmp_path)]

    assert roots() == []
    agent = tmp_path / ".pi" / "agent"
    session_file(agent, header())
    assert roots() == [agent]
    session_file(tmp_path / "x", header())
    assert roots(PI_CODING_AGENT_DIR="~/x") == [tmp_path / "x"]
    apart = tmp_path / "x" / "sessions"
    assert roots(PI_CODING_AGENT_SESSION_DIR=str(apart)) == [agent, apart]
    assert roots(PI_CODING_AGENT_SESSION_DIR=str(agent / "sessions")) == [agent]


def test_a_folder_of_sessions_alone_is_read(tmp_path: Path) -> None:
    path = session_file(tmp_path, header(), message("hello"))
    assert read(PiImporter(), path.parent).texts() == ["hello"]


def test_odd_times_stop_no_file(tmp_path: Path) -> None:
    session_file(
        tmp_path,
        {**header(), "timestamp": "never"},
        {**message("one"), "timestamp": "+275760-09-13T00:00:00Z"},
        {"type": "message", "message": {"role": "user", "content": "two", "timestamp": -1}},
    )
    reading = read(PiImporter(), tmp_path)
    assert reading.texts() == ["one", "two"]
    assert {each.occurred_at for each in reading.messages() if each.kind is Kind.MESSAGE} == {None}
