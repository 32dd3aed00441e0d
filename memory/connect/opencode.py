"""OpenCode's file: the MCP server, and the plugin that captures turns and tells a brief."""

from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from memory.connect.parts import Item, JsonPart, Part
from memory.connect.places import Configured, Places, entry_of
from memory.connect.server import NAME, Server

__all__ = ["PLUGIN", "configured", "folder", "is_plugin", "parts", "plugin_of"]

PLUGIN: Final = Path("clients") / "opencode-plugin" / "shared-memory.js"
"""The plugin's place in this repository."""

_BRIEF: Final = "brief"
_NAMES: Final = ("opencode.json", "opencode.jsonc")
_SCHEMA: Final = '{\n  "$schema": "https://opencode.ai/config.json"\n}'


def parts(places: Places, server: Server) -> tuple[Part, ...]:
    """Return what connecting changes: as `opencode mcp add` writes it, with a plugin."""
    entry = {
        "type": "local",
        "command": [server.python, *server.arguments],
        # OpenCode itself puts in the value of a variable that stands there like this.
        "environment": {
            **server.environment,
            **{name: f"{{env:{name}}}" for name in server.passed},
        },
    }
    return (
        JsonPart(
            path=_file(places),
            about="MCP server, and the plugin that captures each turn",
            members={("mcp", NAME): entry},
            items=[
                Item(
                    path=("plugin",),
                    wanted=_plugin(places, server, None),
                    is_ours=is_plugin,
                    is_gone=not places.hooks,
                    renewed=partial(_plugin, places, server),
                )
            ],
            comments=True,
            blank=_SCHEMA,
        ),
    )


def _plugin(places: Places, server: Server, found: Any) -> list[Any] | None:
    """Return the plugin with its options, None where this installation has none.

    A brief that is neither wanted nor unwanted stays as it was ``found``.
    """
    if places.plugin is None:
        return None
    options = {"command": server.notify("opencode")}
    if places.brief or (places.brief is None and _has_brief(found)):
        options[_BRIEF] = server.brief_command("opencode")
    return [places.plugin.as_uri(), options]


def _has_brief(plugin: Any) -> bool:
    """Return whether a plugin in a settings file tells a session a brief at its start."""
    options = plugin[1] if isinstance(plugin, list) and len(plugin) > 1 else None
    return isinstance(options, dict) and _BRIEF in options


def is_plugin(value: Any) -> bool:
    """Return whether a plugin in a settings file is this program's."""
    spec = value[0] if isinstance(value, list) and value else value
    return isinstance(spec, str) and spec.endswith(PLUGIN.as_posix())


def configured(places: Places) -> Configured | None:
    """Return the server as OpenCode would start it here, None when it is not connected."""
    path = _file(places)
    found = places.json(path, comments=True)
    return entry_of(found.get("mcp"), path, "environment")


def folder(places: Places) -> Path:
    """Return the folder of the account's settings."""
    return places.config / "opencode"


def plugin_of(places: Places) -> Path | None:
    """Return the file of this program's plugin that the settings name, None when they do not."""
    listed = places.json(_file(places), comments=True).get("plugin")
    for each in listed if isinstance(listed, list) else []:
        if is_plugin(each):
            spec = each[0] if isinstance(each, list) else each
            return Path(unquote(urlsplit(spec).path))
    return None


def _file(places: Places) -> Path:
    """Return the file that `opencode mcp add` of 1.18.33 writes to.

    It is the first one there; a client that starts without any makes the second of the user's.
    """
    place = places.project or folder(places)
    nested = [place / ".opencode" / name for name in _NAMES] if places.project else []
    there = [each for each in [place / name for name in _NAMES] + nested if each.exists()]
    if there:
        return there[0]
    return place / _NAMES[0 if places.project or (place / "config.json").exists() else 1]
