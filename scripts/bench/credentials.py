"""Measure the scan for credentials: ``python scripts/bench/credentials.py [FILE …]``.

Prints MB/s of CPU time, and how many times longer it takes than counting a word that is not there.
Without files it reads the standard library's sources.
"""

import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path

from memory.crud_secret import find

ROUNDS = 3


def texts(names: list[str]) -> list[str]:
    """Read the files, or the standard library."""
    paths = [Path(name) for name in names] or [
        path
        for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py"))
        if "site-packages" not in path.parts
    ]
    return [path.read_text("utf-8", errors="replace") for path in paths]


def seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of the fastest round."""
    taken = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def main() -> None:
    """Measure and print."""
    read = texts(sys.argv[1:])
    size = sum(len(text.encode("utf-8", "replace")) for text in read) / 1e6
    counting = seconds(lambda: [text.count("zqxj") for text in read])
    finding = seconds(lambda: [find(text) for text in read])
    print(f"{size:.1f} MB; find: {size / finding:.1f} MB/s, {finding / counting:.0f} x str.count")
    long = "".join(read)
    finding = seconds(lambda: find(long))
    print(f"one text: {size / finding:.1f} MB/s; {len(find(long))} findings")


if __name__ == "__main__":
    main()
