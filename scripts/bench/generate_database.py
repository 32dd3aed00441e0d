"""The part of a generated store that is OpenCode's: one SQLite database."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from speech import CWD, Clock, Speech

__all__ = ["write_database"]

_SCHEMA: Final = """
CREATE TABLE project (id text PRIMARY KEY, worktree text NOT NULL, vcs text,
    time_created integer NOT NULL, time_updated integer NOT NULL, sandboxes text NOT NULL);
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text,
    slug text NOT NULL, directory text NOT NULL, title text NOT NULL, version text NOT NULL,
    agent text, model text, time_created integer NOT NULL, time_updated integer NOT NULL);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL,
    time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
    time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
CREATE INDEX part_message_id_id_idx ON part (message_id, id);
CREATE INDEX part_session_idx ON part (session_id);
"""


def write_database(home: Path, speech: Speech, sizes: list[int]) -> int:
    """Write sessions of these sizes under a home folder; return the bytes of the database."""
    folder = home / ".local" / "share" / "opencode"
    folder.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(folder / "opencode.db")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(_SCHEMA)
    connection.execute("INSERT INTO project VALUES ('p', ?, 'git', 1, 1, '[]')", (CWD,))
    for size in sizes:
        session, clock = f"ses_{speech.hexadecimal(26)}", Clock(speech)
        begun, done = clock.milliseconds, 0
        for table, row in _rows(speech, clock, session):
            connection.execute(
                f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})",  # noqa: S608 - our own names
                row,
            )
            done += len(row[-1])
            if done >= size:
                break
        values = (session, "p", None, "slug", CWD, speech.prose(1.5), "1.18.33", "build", None)
        connection.execute(
            "INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*values, begun, clock.milliseconds),
        )
        connection.commit()
    connection.close()
    return (folder / "opencode.db").stat().st_size


def _rows(speech: Speech, clock: Clock, session: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
    def message(identity: str, **data: Any) -> tuple[str, tuple[Any, ...]]:
        clock.step()
        at = clock.milliseconds
        data["time"] = {"created": at, "completed": at}
        return "message", (identity, session, at, at, json.dumps(data, ensure_ascii=False))

    def part(identity: str, **data: Any) -> tuple[str, tuple[Any, ...]]:
        clock.step()
        name, at = f"prt_{clock.milliseconds:x}{speech.hexadecimal(8)}", clock.milliseconds
        text = json.dumps(data, ensure_ascii=False)
        return "part", (name, identity, session, at, at, text)

    while True:
        user = f"msg_{clock.milliseconds:x}u{speech.hexadecimal(8)}"
        yield message(user, role="user", agent="build")
        yield part(user, type="text", text=speech.prose(3.5))
        for _ in range(1 + int(speech.chance.expovariate(1 / 8))):
            answer = f"msg_{clock.milliseconds:x}v{speech.hexadecimal(8)}"
            model = {"modelID": "m", "providerID": "p", "path": {"cwd": CWD, "root": CWD}}
            tokens = {"input": 500, "output": 40, "reasoning": 20, "cache": {"read": 0, "write": 0}}
            yield message(answer, role="assistant", parentID=user, tokens=tokens, **model)
            yield part(answer, type="reasoning", text=speech.prose(3.0))
            tool, given = speech.call()
            state = {"status": "completed", "input": given, "output": speech.output()}
            call = f"call_{speech.hexadecimal(24)}"
            yield part(answer, type="tool", tool=tool.lower(), callID=call, state=state)
        yield part(answer, type="text", text=speech.prose(4.0))
