"""How this program's commands are typed on this machine."""

import os
import re
import shlex
import sys
from functools import cache
from pathlib import Path
from typing import Final

__all__ = ["typed"]

_NAME: Final = "memory"
_COMMAND: Final = re.compile(rf"(?:^|(?<=`)){_NAME}(?= [a-z])")


def typed(text: str) -> str:
    """Return a text whose commands work as they stand.

    A command is written `memory WORDS`, in backticks or as the whole text. The name alone stays
    when a shell finds this program under it; else the console script beside this Python is named
    by its path, and without one the module.
    """
    return _COMMAND.sub(lambda _: _program(), text)


@cache
def _program() -> str:
    script = Path(sys.executable).with_name(_NAME)
    if not os.access(script, os.X_OK):
        return shlex.join([sys.executable, "-P", "-m", "memory.cli"])
    return _NAME if _is_first_on_path(script) else shlex.quote(str(script))


def _is_first_on_path(script: Path) -> bool:
    for folder in os.get_exec_path():
        found = Path(folder, _NAME)
        if os.access(found, os.X_OK) and found.is_file():
            return found.samefile(script)
    return False
