"""The window of a client that does not say which session it is in.

OpenCode starts its server with a directory and names no session (logged by a shim). Which one is at
work there stands in the client's own store, which only its importer can read; a package adds that
by an entry point.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

from memory import log

__all__ = ["WINDOWS", "Reader", "Window", "look"]

WINDOWS: Final = "memory.windows"
"""The group of entry points: a client's short name, and its Reader."""

_log = log.get(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What is at work in a directory: the client's id of the session, and of the tool call."""

    session: str
    call: str = ""


Reader = Callable[[str, str, Mapping[str, str], Path], Window | None]
"""Takes the directory, the called tool's name, the environment and the user's home folder."""


def look(client: str, directory: str, tool: str) -> Window | None:
    """Return what a client's store says of a directory; None when it says nothing.

    Whatever a client's reader raises is logged: a record is kept without its session.
    """
    reader = _reader(client)
    if reader is None:
        return None
    try:
        return reader(directory, tool, os.environ, Path.home())
    except Exception as error:  # noqa: BLE001 - another package's code, over a client's own data
        log.unexpected(_log, f"the window of {client}", error)
        return None


@lru_cache(maxsize=8)
def _reader(client: str) -> Reader | None:
    for point in entry_points(group=WINDOWS, name=client):
        try:
            found: Reader = point.load()
        except (ImportError, AttributeError) as error:
            log.unexpected(_log, f"the window of {client}", error)
        else:
            return found
    return None
