"""What a program of ours says about any error; its last line of defence against a traceback."""

import os
import sys
from typing import Final

from memory import log
from memory.errors import LedgerError
from memory.program import typed

__all__ = ["STOPPED", "described", "end_output"]

STOPPED: Final = 130
"""The exit status of a program that Ctrl-C ended, as a shell reports it."""

_LOG: Final = log.get(__name__)


def described(error: Exception) -> tuple[str, str]:
    """Return the code and the words for an error.

    Where one that nobody foresaw arose is logged at MEMORY_LOG_LEVEL=DEBUG, and its text never: it
    may hold what nobody should see.
    """
    if isinstance(error, LedgerError):
        return error.code, str(error)
    if isinstance(error, OSError):
        return "system", str(error)
    name = type(error).__name__
    if os.environ.get("MEMORY_LOG_LEVEL", "").strip().upper() == "DEBUG":
        log.configure("DEBUG")  # it may have failed before a command did so
        log.unexpected(_LOG, "this program", error)
        return "internal", f"This program failed with {name}; the lines above say where."
    words = (
        f"This program failed with {name}, which nobody foresaw; run it again with"
        " MEMORY_LOG_LEVEL=DEBUG to see where, and `memory doctor` to check the rest."
    )
    return "internal", typed(words)


def end_output() -> None:
    """Write no more to a reader that has seen enough; the interpreter must not flush again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
