"""Measure what a watch costs that has nothing to do: its share of a core, and its memory.

Run: python scripts/bench/watch_idle.py [--files 300] [--seconds 120]
A generated store is imported and then watched by a process of its own; what is measured begins
when the first pass is over and a minute has gone by, so that every file has settled.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from generate_store import CLIENTS, generate
from import_store import environment_of, pss, sizes
from throwaway import machine, server

BYTES_PER_FILE = 20_000
SETTLE_SECONDS = 60
TICKS = os.sysconf("SC_CLK_TCK")


def spent(process: int) -> float:
    """Return the seconds of CPU that a process, its threads and its children have used.

    To the nanosecond, as the scheduler counts them (Documentation/scheduler/sched-stats.rst): in
    ticks of 10 ms a process that is idle has used none. Children that have ended count in ticks.
    """
    threads = Path(f"/proc/{process}/task")
    running = sum(int((each / "schedstat").read_text().split()[0]) for each in threads.iterdir())
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    ended = (int(fields[13]) + int(fields[14])) / TICKS
    children = psutil.Process(process).children(recursive=True)
    return running / 1e9 + ended + sum(spent(child.pid) for child in children)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--files", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=120.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="shared-memory-idle-") as folder, server() as settings:
        home = Path(folder)
        generate(home, size=given.files * BYTES_PER_FILE, files=given.files)
        files, size = sizes(home, CLIENTS)
        process = subprocess.Popen(
            [sys.executable, "-m", "importers", "--watch", "--json"],
            env={**environment_of(settings), "HOME": str(home)},
            stdout=subprocess.PIPE,
        )
        try:
            if process.stdout is None:
                raise AssertionError
            first = json.loads(process.stdout.readline())  # the report of the first pass
            if first.get("is_error"):
                raise SystemExit(f"the watch failed: {first}")
            time.sleep(SETTLE_SECONDS)
            began, before = time.perf_counter(), spent(process.pid)
            time.sleep(given.seconds)
            if process.poll() is not None:
                raise SystemExit(f"the watch ended with {process.returncode}")
            share = (spent(process.pid) - before) / (time.perf_counter() - began)
            print(machine())
            count = len(psutil.Process(process.pid).children(recursive=True))
            print(f"{files} files, {size / 1e6:.1f} MB: idle CPU {share:.3%} of a core", end="")
            print(f", Pss {pss(process.pid):.0f} MB, {count} children")
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


if __name__ == "__main__":
    main()
