"""Calling hooks as the clients do, and looking at what they leave."""

import fcntl
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from imports import line

ROOT = Path(__file__).resolve().parent.parent
SESSION = "00000000-0000-4000-8000-000000000001"
SECONDS = 60  # until a test gives up; nothing waits so long
HOOK = str(ROOT / "importers" / "hook.py")


def claude_says(home: Path, *texts: str, session: str = SESSION) -> Path:
    """Append prompts to a transcript of Claude Code in this home."""
    path = home / ".claude" / "projects" / "proj" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        for text in texts:
            file.write(
                line(
                    type="user",
                    uuid=f"{session[-4:]}-{text}",
                    sessionId=session,
                    cwd="/home/dev/proj",
                    version="2.1.197",
                    timestamp="2026-11-29T10:00:00Z",
                    message={"role": "user", "content": text},
                )
            )
    return path


def payload(path: Path, *, session: str = SESSION, **fields: Any) -> bytes:
    """Return what Claude Code gives a hook."""
    return json.dumps(
        {
            "session_id": session,
            "transcript_path": str(path),
            "cwd": "/home/dev/proj",
            "hook_event_name": "Stop",
            **fields,
        }
    ).encode()


def call(
    environment: dict[str, str], *arguments: str, stdin: bytes = b"", **options: Any
) -> subprocess.CompletedProcess[bytes]:
    """Call a hook as a client does, with an interpreter that knows no installed package."""
    return subprocess.run(
        [sys.executable, "-I", "-S", HOOK, *arguments],
        env=environment,
        input=stdin,
        capture_output=True,
        timeout=SECONDS,
        check=False,
        **options,
    )


def called(environment: dict[str, str], stdin: bytes) -> subprocess.Popen[bytes]:
    """Begin a call of a hook of Claude Code, and do not wait for its end."""
    command = [sys.executable, "-I", "-S", HOOK, "--hook", "claude"]
    process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(stdin)
    process.stdin.close()
    return process


def program(
    environment: dict[str, str], *arguments: str, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Run one of our programs, named by its module."""
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        env=environment,
        input=stdin,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )


@contextmanager
def held(spool: Path, client: str = "claude") -> Iterator[None]:
    """Read a client's signals, as an importer that runs does: hooks start none then."""
    spool.mkdir(parents=True, mode=0o700, exist_ok=True)
    with (spool / f"{client}.lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def waiting(spool: Path) -> list[str]:
    """Return the names of the signals that wait or are being read."""
    return sorted(path.name for path in spool.glob("*") if path.suffix in {".json", ".taken"})


def until(is_so: Callable[[], bool]) -> None:
    """Ask again and again until it is so."""
    deadline = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def is_read(spool: Path, client: str = "claude") -> bool:
    """Tell whether nothing waits, and nobody reads any more."""
    if waiting(spool):
        return False
    with (spool / f"{client}.lock").open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def readers(spool: Path) -> list[int]:
    """Return the processes that a hook has started for this home and that still run."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            about = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"--drain" in words and f"MEMORY_HOME={spool.parent}".encode() in about:
            found.append(int(entry.name))
    return found


def without(environment: dict[str, str], *names: str) -> dict[str, str]:
    """Return an environment that lacks some variables."""
    return {name: value for name, value in environment.items() if name not in names}


def mode(path: Path) -> int:
    """Return the permissions of a file."""
    return path.lstat().st_mode & 0o777
