"""Tool calls as people read and search them: the tool, what it is about, then the rest."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

__all__ = ["call_text", "plain"]

# What a call is about, in the order in which it is looked for.
_MAIN: Final = (
    "command",
    "cmd",
    "filePath",
    "file_path",
    "path",
    "pattern",
    "query",
    "url",
    "description",
    "prompt",
    "message",
    "text",
)
_SHELLS: Final = frozenset({"bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh"})
_SHELL_WORDS: Final = 3  # bash -lc "what was meant"


def call_text(tool: str, arguments: Any) -> str:
    """Return a tool call as text: its name and main argument in one line, the rest below."""
    if not isinstance(arguments, Mapping):
        return f"{tool}: {plain(arguments)}" if arguments else tool
    main = next((key for key in _MAIN if arguments.get(key)), None)
    first = f"{tool}: {_command(arguments[main])}" if main else tool
    rest = [f"{key}: {plain(value)}" for key, value in arguments.items() if key != main]
    return "\n".join([first, *rest])


def plain(value: Any) -> str:
    """Return text as it is and everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _command(value: Any) -> str:
    """Return a command as it was meant; the shell around it says nothing."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return plain(value)
    words = [plain(word) for word in value]
    if len(words) == _SHELL_WORDS and words[0] in _SHELLS and words[1].startswith("-"):
        return words[2]
    return " ".join(words)
