"""Stores of the versions of which no sample is at hand, made as their clients are known to write.

Every session has the same two turns: a prompt, a tool call with its result, and an answer.
"""

import copy
import hashlib
import json
import sqlite3
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

TURNS = ("first", "second")
TEXTS = [
    each
    for turn in TURNS
    for each in (f"{turn} prompt", f"Bash: ls {turn}", f"{turn} output", f"{turn} answer")
]
NOON = 1_795_953_600_000  # milliseconds


def ident(*names: object) -> str:
    """Return an id that looks like the clients' own and is the same each time."""
    return str(uuid.UUID(hashlib.sha256(repr(names).encode()).hexdigest()[:32], version=4))


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Append lines to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def stamp(second: int) -> str:
    """Return a time as the clients write it."""
    return f"2026-11-29T10:{second // 60:02}:{second % 60:02}.000Z"


# --- Claude Code -----------------------------------------------------------------------------


def claude_file(root: Path, name: str) -> Path:
    """Return the path of a transcript in the one project of a store."""
    return root / "projects" / "-home-dev-proj" / f"{name}.jsonl"


def claude_turn(
    turn: str, session: str, version: str, *, start: int = 0, **fields: Any
) -> list[dict[str, Any]]:
    """Return the rows of one turn: the blocks of an answer are rows with one message id."""
    call = {"type": "tool_use", "id": f"toolu_{turn}", "name": "Bash"}
    call["input"] = {"command": f"ls {turn}"}  # type: ignore[assignment] - JSON
    result = {"type": "tool_result", "tool_use_id": f"toolu_{turn}", "content": f"{turn} output"}
    said: list[tuple[str, Any, dict[str, Any]]] = [
        ("user", f"{turn} prompt", {}),
        ("assistant", [call], {"id": f"msg_{turn}_1", "model": "claude-x"}),
        ("user", [result], {}),
        (
            "assistant",
            [{"type": "text", "text": f"{turn} answer"}],
            {"id": f"msg_{turn}_2", "model": "claude-x"},
        ),
    ]
    rows: list[dict[str, Any]] = []
    for number, (kind, content, message) in enumerate(said):
        rows.append(
            {
                "type": kind,
                "uuid": ident(turn, number, fields.get("agentId")),
                "parentUuid": rows[-1]["uuid"] if rows else None,
                "sessionId": session,
                "cwd": "/home/dev/proj",
                "gitBranch": "main",
                "version": version,
                "isSidechain": False,
                "timestamp": stamp(start + number),
                "message": {"role": kind, "content": content, **message},
                **fields,
            }
        )
    return rows


def claude_copy(
    rows: Sequence[dict[str, Any]], session: str, *, start: int, new_uuids: bool
) -> list[dict[str, Any]]:
    """Return rows as a resume before 2.0 copies them: new times, and before 1.0.103 new uuids."""
    copied = []
    for number, original in enumerate(rows):
        row = copy.deepcopy(original)
        row["sessionId"], row["timestamp"] = session, stamp(start + number)
        if new_uuids:
            row["uuid"] = ident(session, row["uuid"])
            row["parentUuid"] = row["parentUuid"] and ident(session, row["parentUuid"])
            content = row["message"]["content"]
            if isinstance(content, str):
                row["message"]["content"] = [{"type": "text", "text": content}]
        copied.append(row)
    return copied


# --- Codex -----------------------------------------------------------------------------------


def codex_file(root: Path, thread: str) -> Path:
    """Return the path of a thread's rollout."""
    return root / "sessions" / "2026" / "11" / "29" / f"rollout-2026-11-29T10-00-00-{thread}.jsonl"


def codex_items(turn: str) -> list[dict[str, Any]]:
    """Return the items of one turn, which are the same in every era."""
    arguments = json.dumps({"command": f"ls {turn}"})
    prompt = [{"type": "input_text", "text": f"{turn} prompt"}]
    answer = [{"type": "output_text", "text": f"{turn} answer"}]
    return [
        {"type": "message", "role": "user", "content": prompt},
        {"type": "function_call", "name": "Bash", "call_id": f"c_{turn}", "arguments": arguments},
        {"type": "function_call_output", "call_id": f"c_{turn}", "output": f"{turn} output"},
        {"type": "message", "role": "assistant", "content": answer},
    ]


def _line(kind: str, second: int, /, **payload: Any) -> dict[str, Any]:
    return {"timestamp": stamp(second), "type": kind, "payload": payload}


def codex_bare(thread: str, turns: Sequence[str] = TURNS) -> list[dict[str, Any]]:
    """Return a rollout of 0.20: bare items without times, and the client's state between them."""
    header = {"id": thread, "timestamp": stamp(0), "instructions": None, "git": {"branch": "main"}}
    items = [{**each, "id": None} for turn in turns for each in codex_items(turn)]
    return [header, {"record_type": "state"}, *items]


def codex_header(thread: str, era: str, **fields: Any) -> dict[str, Any]:
    """Return the first line of a wrapped rollout."""
    header: dict[str, Any] = {
        "id": thread,
        "timestamp": stamp(0),
        "cwd": "/home/dev/proj",
        "originator": "codex_exec",
        "cli_version": era,
        "source": "exec",
        "git": {"branch": "main"},
    }
    if _number(era) >= _number("0.92"):
        header |= {"model_provider": "openai", "base_instructions": {"text": "be good"}}
    if _number(era) >= _number("0.145"):
        header |= {"session_id": thread, "thread_source": "user", "history_mode": "legacy"}
    if _number(era) >= _number("0.158"):
        header["history_mode"] = "paginated"
    return _line("session_meta", 0, **header, **fields)


def codex_turn(turn: str, era: str, *, start: int = 1) -> list[dict[str, Any]]:
    """Return the lines of one turn as this version writes them, with the copies in its events."""
    has_turns, is_paginated = _number(era) >= _number("0.122"), _number(era) >= _number("0.158")
    turn_id = {"turn_id": ident("turn", turn)} if has_turns else {}
    lines = [_line("event_msg", start, type="task_started", **turn_id)] if has_turns else []
    lines.append(_line("turn_context", start, cwd="/home/dev/proj", model="gpt-x", **turn_id))
    if _number(era) >= _number("0.145"):
        lines.append(_line("world_state", start, state={}))
    for number, each in enumerate(codex_items(turn)):
        item = dict(each)
        if _number(era) >= _number("0.145"):
            item["id"] = f"msg_{ident(turn, number, era)}"
            item["internal_chat_message_metadata_passthrough"] = dict(turn_id)
        made = _line("response_item", start + number, **item)
        if is_paginated:
            made["metadata"] = {"history_sequence": number}
        lines += [made, *_copy_of(each, turn, start + number, is_paginated=is_paginated)]
    usage = {"total_tokens": start + 10}
    if is_paginated:
        lines.append(_line("token_usage_record", start + 4, thread_token_usage=usage, usage=usage))
    else:
        lines.append(
            _line("event_msg", start + 4, type="token_count", info={"total_token_usage": usage})
        )
    if has_turns:
        lines.append(_line("event_msg", start + 5, type="task_complete", **turn_id))
    return lines


def _copy_of(
    item: Mapping[str, Any], turn: str, second: int, *, is_paginated: bool
) -> list[dict[str, Any]]:
    if item["type"] != "message":
        return []
    is_prompt = item["role"] == "user"
    text = item["content"][0]["text"]
    if is_paginated:
        shown = {
            "type": "UserMessage" if is_prompt else "AgentMessage",
            "content": [{"type": "text", "text": text}],
        }
        turn_id = ident("turn", turn)
        return [_line("event_msg", second, type="item_completed", turn_id=turn_id, item=shown)]
    kind = "user_message" if is_prompt else "agent_message"
    return [_line("event_msg", second, type=kind, message=text, kind="plain")]


def numbered(lines: Sequence[dict[str, Any]], *, first: int = 0) -> list[dict[str, Any]]:
    """Return lines with their ordinals, as paginated rollouts have them."""
    return [{**line, "ordinal": first + number} for number, line in enumerate(lines)]


def codex_wrapped(thread: str, era: str, turns: Sequence[str] = TURNS) -> list[dict[str, Any]]:
    """Return a rollout of 0.47 and later, with as many turns."""
    lines = [codex_header(thread, era)]
    for number, turn in enumerate(turns):
        lines += codex_turn(turn, era, start=1 + 10 * number)
    return numbered(lines) if _number(era) >= _number("0.158") else lines


def codex_replayed(
    parent: Sequence[dict[str, Any]], thread: str, origin: str, era: str
) -> list[dict[str, Any]]:
    """Return a fork of 0.122 or 0.145: its header, then its parent's lines with new times."""
    replay = [{**copy.deepcopy(line), "timestamp": stamp(100)} for line in parent]
    return [codex_header(thread, era, forked_from_id=origin), *replay]


def codex_migrated(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what ``codex migrate-rollouts`` makes of a legacy rollout in place."""
    found = []
    for number, line in enumerate(copy.deepcopy(list(lines))):
        payload = line["payload"]
        if line["type"] == "session_meta":
            if number:
                continue  # the parent's header in a fork
            payload["history_mode"] = "paginated"
        kinds = {"user_message": "UserMessage", "agent_message": "AgentMessage"}
        kind = kinds.get(str(payload.get("type"))) if line["type"] == "event_msg" else None
        if kind:
            shown = {"type": kind, "content": [{"type": "text", "text": payload["message"]}]}
            line["payload"] = {"type": "item_completed", "item": shown}
        found.append(line)
    return numbered(found)


# --- OpenCode --------------------------------------------------------------------------------

_TABLES = {
    "1.2.1": """
        CREATE TABLE project (id text PRIMARY KEY, worktree text);
        CREATE TABLE session (id text PRIMARY KEY, project_id text, parent_id text, slug text,
          directory text, title text, version text, time_created integer, time_updated integer);
        CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer,
          time_updated integer, data text);
        CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text,
          time_created integer, time_updated integer, data text);
        CREATE TABLE permission (data text); CREATE TABLE todo (content text);
        CREATE TABLE session_share (secret text); CREATE TABLE control_account (token text);
    """,
    "1.3.2": "CREATE TABLE workspace (id text); CREATE TABLE account (token text);",
    "1.15.13": """
        CREATE TABLE event (id text PRIMARY KEY, aggregate_id text, seq integer, type text,
          data text);
        CREATE TABLE event_sequence (aggregate_id text PRIMARY KEY, seq integer);
        CREATE TABLE session_message (id text PRIMARY KEY, session_id text, type text,
          seq integer, time_created integer, time_updated integer, data text);
        ALTER TABLE session ADD COLUMN agent text; ALTER TABLE session ADD COLUMN model text;
        ALTER TABLE session ADD COLUMN cost real DEFAULT 0;
    """,
    "1.18.33": "CREATE TABLE session_input (id text); CREATE TABLE credential (value text);",
}


def opencode_messages(session: str) -> dict[str, tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Return the messages of a session, by id, each with its parts."""
    found: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {}
    for number, turn in enumerate(TURNS):
        at = NOON + 1000 * number
        prompt = {"role": "user", "time": {"created": at}}
        found[f"msg_{session}_{number}a"] = prompt, [{"type": "text", "text": f"{turn} prompt"}]
        answer = {"role": "assistant", "time": {"created": at + 1, "completed": at + 2}}
        state = {
            "status": "completed",
            "input": {"command": f"ls {turn}"},
            "output": f"{turn} output",
        }
        call = {"type": "tool", "tool": "Bash", "callID": f"call_{turn}", "state": state}
        text = {"type": "text", "text": f"{turn} answer"}
        model = {"modelID": "m", "providerID": "p"}
        found[f"msg_{session}_{number}b"] = {**answer, **model}, [call, text]
    return found


def opencode_files(root: Path, session: str) -> None:
    """Write a session as versions before 1.2 did."""
    times = {"created": NOON, "updated": NOON}
    about = {"id": session, "projectID": "p", "directory": "/home/dev/proj", "title": "T"}
    files: dict[str, Any] = {f"session/p/{session}.json": {**about, "time": times}}
    for name, (data, parts) in opencode_messages(session).items():
        files[f"message/{session}/{name}.json"] = {"id": name, **data}
        for number, part in enumerate(parts):
            files[f"part/{name}/prt_{name}_{number}.json"] = part
    for name, value in files.items():
        path = root / "storage" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value, indent=2))


def opencode_tables(root: Path, era: str, *sessions: str, updated: int = NOON) -> Path:
    """Write sessions into the database of a version, making it when it is not there.

    All say the same at the same times under their own ids, as a fork and its original do;
    ``updated`` is the time at which their rows were written.
    """
    root.mkdir(parents=True, exist_ok=True)
    path = root / "opencode.db"
    is_new = not path.exists()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for version, script in _TABLES.items():
            if is_new and _number(version) <= _number(era):
                connection.executescript(script)
        for session in sessions:
            _insert(connection, "session", _session_row(session, era, updated))
            for name, (data, parts) in opencode_messages(session).items():
                row = {"session_id": session, "time_updated": updated}
                made = {"id": name, "time_created": data["time"]["created"]}
                _insert(connection, "message", {**row, **made, "data": json.dumps(data)})
                for number, part in enumerate(parts):
                    made = {"id": f"prt_{name}_{number}", "time_created": updated}
                    told = {"message_id": name, "data": json.dumps(part)}
                    _insert(connection, "part", {**row, **made, **told})
    return path


def _session_row(session: str, era: str, updated: int) -> dict[str, Any]:
    return {
        "id": session,
        "project_id": "p",
        "slug": "quick-otter",
        "directory": "/home/dev/proj",
        "title": "T",
        "version": era,
        "time_created": NOON,
        "time_updated": updated,
    }


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in version.split("."))


def _insert(connection: sqlite3.Connection, table: str, row: Mapping[str, Any]) -> None:
    names, marks = ", ".join(row), ", ".join("?" * len(row))
    connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(row.values()))
