"""What a program of ours says about any error; its last line of defence against a traceback."""

import os
import sys
import traceback
from typing import Final

from memory.errors import LedgerError

__all__ = ["STOPPED", "described", "end_output"]

STOPPED: Final = 130
"""The exit status of a program that Ctrl-C ended, as a shell reports it."""


def described(error: Exception) -> tuple[str, str]:
    """Return the code and the words for an error.

    Where one that nobody foresaw arose is shown on standard error at MEMORY_LOG_LEVEL=DEBUG alone:
    its text may hold what nobody should see.
    """
    if isinstance(error, LedgerError):
        return error.code, str(error)
    if isinstance(error, OSError):
        return "system", str(error)
    name = type(error).__name__
    if os.environ.get("MEMORY_LOG_LEVEL", "").strip().upper() == "DEBUG":
        traceback.print_exception(error)
        return "internal", f"This program failed with {name}; the lines above say where."
    words = (
        f"This program failed with {name}, which nobody foresaw; run it again with"
        " MEMORY_LOG_LEVEL=DEBUG to see where, and `memory doctor` to check the rest."
    )
    return "internal", words


def end_output() -> None:
    """Write no more to a reader that has seen enough; the interpreter must not flush again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
