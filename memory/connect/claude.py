"""Claude Code's files: the MCP server, and the hooks that tell when something was said."""

import shlex
from pathlib import Path
from typing import Any, Final

from memory.connect.parts import Item, JsonPart, Part
from memory.connect.places import Configured, Places, entry_of
from memory.connect.server import NAME, Server, is_brief, is_ours

__all__ = [
    "EVENTS",
    "FOLDER",
    "configured",
    "folder",
    "hooks_of",
    "is_hook",
    "parts",
    "settings_files",
]

FOLDER: Final = ".claude"
EVENTS: Final = ("Stop", "SubagentStop", "PreCompact", "SessionEnd")
"""The hooks after which something new stands in the transcript (2.1.197 and 2.1.332)."""

_START: Final = "SessionStart"
_SERVERS: Final = "mcpServers"
_SECONDS: Final = 10  # a hook ends in a fraction of one; Claude Code would wait for 60


def parts(places: Places, server: Server) -> tuple[Part, ...]:
    """Return what connecting changes: as `claude mcp add -s user` or `-s project` writes it.

    A brief that is neither wanted nor unwanted stays as it is.
    """
    entry = {
        "type": "stdio",
        "command": server.python,
        "args": server.arguments,
        # Claude Code itself puts in the value of a variable that stands there like this.
        "env": {**server.environment, **{name: f"${{{name}}}" for name in server.passed}},
    }
    hook = {"type": "command", "command": server.hook("claude"), "timeout": _SECONDS}
    items = [
        Item(path=("hooks", name), wanted=hook, is_ours=is_hook, is_gone=not places.hooks)
        for name in EVENTS
    ]
    brief = {"type": "command", "command": server.brief("claude"), "timeout": _SECONDS}
    items.append(
        Item(
            path=("hooks", _START),
            wanted=brief if places.brief else None,
            is_ours=is_brief_hook,
            is_gone=places.brief is False,
        )
    )
    return (
        JsonPart(path=_server_file(places), about="MCP server", members={(_SERVERS, NAME): entry}),
        JsonPart(
            path=settings_files(places)[-1],
            about="hooks that capture each turn",
            items=items,
            inside="hooks",
        ),
    )


def is_hook(value: Any) -> bool:
    """Return whether a hook in a settings file is this program's."""
    return is_ours(_words(value), "--hook")


def is_brief_hook(value: Any) -> bool:
    """Return whether a hook in a settings file prints this program's brief."""
    return is_brief(_words(value))


def configured(places: Places) -> Configured | None:
    """Return the server as Claude Code would start it here, None when it is not connected."""
    found = places.json(_server_file(places), comments=False)
    return entry_of(found.get(_SERVERS), _server_file(places), "env")


def hooks_of(settings: dict[str, Any]) -> dict[str, str]:
    """Return the events after which settings run this program's hook, with its command."""
    hooks = settings.get("hooks")
    groups = hooks.items() if isinstance(hooks, dict) else ()
    return {
        event: hook["command"]
        for event, listed in groups
        for group in _listed(listed)
        for hook in _listed(group.get("hooks") if isinstance(group, dict) else None)
        if is_hook(hook)
    }


def settings_files(places: Places) -> list[Path]:
    """Return the settings that hold here, the one to be changed last."""
    own = folder(places) / "settings.json"
    if places.project is None:
        return [own]
    # Its paths are this machine's, so it is the file that is not shared.
    return [own, places.project / FOLDER / "settings.local.json"]


def _server_file(places: Places) -> Path:
    if places.project is not None:
        return places.project / ".mcp.json"
    chosen = places.environment.get("CLAUDE_CONFIG_DIR", "")
    return (Path(chosen) if chosen else places.home) / ".claude.json"


def folder(places: Places) -> Path:
    """Return the folder of the account's settings and transcripts."""
    chosen = places.environment.get("CLAUDE_CONFIG_DIR", "")
    return Path(chosen) if chosen else places.home / FOLDER


def _listed(value: Any) -> list[Any]:
    """Return an array of the settings, empty for anything else."""
    return value if isinstance(value, list) else []


def _words(hook: Any) -> list[str]:
    """Return the words of a hook's command, none where there is none."""
    command = hook.get("command") if isinstance(hook, dict) else None
    try:
        return shlex.split(command) if isinstance(command, str) else []
    except ValueError:  # a quotation that does not end
        return []
