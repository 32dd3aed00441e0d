"""Measure the tokeniser: ``python scripts/bench/text.py [FILE …]``.

Prints MB/s of CPU time, and how many times longer it takes than ``str.split``. Without files it
reads the standard library's sources, once by file and once as their docstrings and comments.
"""

import io
import sys
import sysconfig
import time
import tokenize
from collections.abc import Callable
from pathlib import Path

from memory.search.packed import pack
from memory.text import tokens

ROUNDS = 3


def sources() -> list[str]:
    """Read the standard library's own modules."""
    folder = Path(sysconfig.get_path("stdlib"))
    return [path.read_text("utf-8", errors="replace") for path in sorted(folder.glob("*.py"))]


def prose(code: list[str]) -> list[str]:
    """Return what is written in words in source files."""
    kinds = (tokenize.COMMENT, tokenize.STRING)
    return [
        part.string
        for text in code
        for part in tokenize.generate_tokens(io.StringIO(text).readline)
        if part.type in kinds and len(part.string) > 40
    ]


def seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of the fastest round."""
    taken = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def _packed(text: str) -> bytes:
    return pack(tokens(text).positions).positions


def report(name: str, texts: list[str]) -> None:
    """Measure one set of texts and print a line."""
    size = sum(len(text.encode("utf-8", "replace")) for text in texts) / 1e6
    splitting = seconds(lambda: sum(len(text.split()) for text in texts))
    cutting = seconds(lambda: sum(tokens(text).length for text in texts))
    packing = seconds(lambda: sum(len(_packed(text)) for text in texts))
    print(
        f"{name}: {size:.1f} MB in {len(texts)} texts; tokens {size / cutting:.1f} MB/s, "
        f"{cutting / splitting:.0f} x str.split; packed {size / packing:.1f} MB/s"
    )


def main() -> None:
    """Measure and print."""
    if sys.argv[1:]:
        report("files", [Path(name).read_text("utf-8", errors="replace") for name in sys.argv[1:]])
        return
    code = sources()
    report("code", code)
    report("prose", prose(code))


if __name__ == "__main__":
    main()
