"""Measure what a client waits for when it calls a hook, beside starting the same Python for nothing.

Run: python scripts/bench/hook.py [--runs 50] [--module]
The file is the quick command line (`python -I -S importers/hook.py`), the module the plain one
(`python -P -m importers`). Cold means without compiled code of ours or of the standard library.
It starts a throw-away database. Times are wall times in milliseconds of one run on one machine.
"""

import argparse
import fcntl
import json
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# The folder of this program holds a hook.py as well, which must not hide a module of that name.
from throwaway import machine, server

ROOT = Path(__file__).resolve().parent.parent.parent
FILE = ("-I", "-S", str(ROOT / "importers" / "hook.py"))
MODULE = ("-P", "-m", "importers")
AWAY = "postgresql://nobody:nothing@127.0.0.1:1/none"
SESSION = "00000000-0000-4000-8000-{number:012d}"
LAST_WORDS = "All tests pass; the index is built after the rows are in. " * 40


@dataclass(frozen=True, slots=True)
class Took:
    """What a call took, in milliseconds: of the clock, and of the processor."""

    wall: float
    cpu: float


def timed(arguments: Sequence[str], environment: dict[str, str], said: bytes = b"") -> Took:
    """Return what a process takes until it has ended."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, input=said, capture_output=True, check=True
    )
    if done.stdout or done.stderr:
        raise SystemExit(f"a hook said something: {done.stdout!r} {done.stderr!r}")
    wall = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Took(wall * 1000, used * 1000)


def payload(number: int, home: Path) -> bytes:
    """Return what Claude Code gives a Stop hook, whose transcript is there."""
    session = SESSION.format(number=number)
    path = home / ".claude" / "projects" / "proj" / f"{session}.jsonl"
    said = {"role": "user", "content": LAST_WORDS}
    row = {"type": "user", "uuid": session, "sessionId": session, "cwd": "/x", "message": said}
    path.write_text(json.dumps(row) + "\n")
    facts = {
        "session_id": session,
        "transcript_path": str(path),
        "cwd": str(home),
        "hook_event_name": "Stop",
        "stop_hook_active": False,
        "last_assistant_message": LAST_WORDS,
    }
    return json.dumps(facts).encode()


@contextmanager
def importer(home: Path) -> Iterator[None]:
    """Stand for an importer that runs: it holds the lock of the spool."""
    spool = home / "memory" / "spool"
    spool.mkdir(parents=True, exist_ok=True)
    with (spool / "claude.lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def row(name: str, runs: int, once: Callable[[int], Took]) -> None:
    """Print one row of the table."""
    once(0)
    all_took = [once(number) for number in range(1, runs + 1)]
    walls = sorted(each.wall for each in all_took)
    p95 = walls[min(runs - 1, int(runs * 0.95))]
    cpu = statistics.median(each.cpu for each in all_took)
    print(f"| {name} | {statistics.median(walls):.1f} | {p95:.1f} | {cpu:.1f} |", flush=True)


def cold(arguments: Sequence[str], environment: dict[str, str], said: bytes = b"") -> Took:
    """Return what a call takes that has to compile everything."""
    folder = tempfile.mkdtemp(prefix="shared-memory-cold-")
    try:
        option = ("-X", f"pycache_prefix={folder}")
        return timed([*option, *arguments], environment, said)
    finally:
        shutil.rmtree(folder)


def table(name: str, form: Sequence[str], runs: int, home: Path, up: str) -> None:
    """Print the rows of one form of the command line."""
    base = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT)}
    ready = {**base, "MEMORY_HOME": str(home / "memory"), "DATABASE_URL": up}
    away = {**ready, "DATABASE_URL": AWAY}
    call = [*form, "--hook", "claude"]
    idle = [*form[:-1], "-c", "pass"] if "-m" not in form else ["-P", "-c", "pass"]
    row(f"{name}: python {' '.join(idle)}", runs, lambda _: timed(idle, base))
    with importer(home):
        row(f"{name}: hook, importer running", runs, lambda n: timed(call, ready, payload(n, home)))
        row(f"{name}: the same, cold", runs, lambda n: cold(call, ready, payload(n, home)))
        row(f"{name}: python -c pass, cold", runs, lambda _: cold(idle, base))
    row(f"{name}: hook, none running, database up", runs, lambda n: _alone(call, ready, n, home))
    row(f"{name}: hook, none running, database away", runs, lambda n: _alone(call, away, n, home))


def _alone(call: Sequence[str], environment: dict[str, str], number: int, home: Path) -> Took:
    """Return what a call takes that starts an importer, and wait for that one's end."""
    spool = home / "memory" / "spool"
    for path in spool.glob("claude.*.*"):
        path.unlink()  # signals that wait, so that each call finds the same
    (spool / "claude.failed").unlink(missing_ok=True)
    took = timed(call, environment, payload(number, home))
    with (spool / "claude.lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
    return took


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--module", action="store_true", help="the plain command line as well")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the server is stopped then, too
    home = Path(tempfile.mkdtemp(prefix="shared-memory-hook-"))
    (home / ".claude" / "projects" / "proj").mkdir(parents=True)
    try:
        with server() as settings:
            print(f"{machine()}; {given.runs} runs\n")
            print("| | p50 ms | p95 ms | CPU p50 ms |")
            print("|---|---|---|---|")
            table("file", FILE, given.runs, home, settings.database_url)
            if given.module:
                table("module", MODULE, given.runs, home, settings.database_url)
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
