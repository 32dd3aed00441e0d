"""What a program of ours says about any error; its last line of defence against a traceback."""

import json
import os
import sys
from collections.abc import Callable
from typing import Any, Final

import typer

from memory import log
from memory.errors import LedgerError
from memory.program import typed

__all__ = ["FAILED", "STOPPED", "USAGE", "described", "ended"]

FAILED: Final = 1
USAGE: Final = 2

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


def ended(work: Callable[[], Any], *, name: str, as_json: bool) -> int:
    """Run the work of a program and return its exit status.

    An error becomes one line under the program's name, or one object of JSON, and FAILED or USAGE.
    """
    try:
        status = work()
        sys.stdout.flush()
    except typer.TyperException as error:
        return _told("usage", error.format_message(), USAGE, name=name, as_json=as_json)
    except BrokenPipeError:  # the reader has seen enough; the interpreter must not flush again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:  # noqa: BLE001 - the edge of the program: told in one line
        code, words = described(error)
        return _told(code, words, FAILED, name=name, as_json=as_json)
    return status if isinstance(status, int) else 0


def _told(code: str, words: str, status: int, *, name: str, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"is_error": True, "code": code, "error": words}))  # noqa: T201 - the answer
    else:
        print(f"{name}: {' '.join(words.split())} ({code})", file=sys.stderr)  # noqa: T201 - for people
    return status
