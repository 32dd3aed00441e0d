"""Codex' file: the MCP server, its start, and the program that is told when something was said."""

import tomllib
from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import tomlkit

from memory.connect import toml
from memory.connect.parts import Part, Taken
from memory.connect.places import Configured, Places, entry_of
from memory.connect.server import KNOWN, NAME, Server, is_ours, is_server
from memory.connect.toml import Section

__all__ = ["GRACE", "CodexPart", "chained", "config_file", "configured", "folder", "parts"]

GRACE: Final = "mcp_optional_startup_grace_ms"
"""How long Codex waits for a server that it can do without; see decision 0017."""

GRACE_MS: Final = 10_000
_SERVERS: Final = "mcp_servers"
_NOTIFY: Final = "notify"


def parts(places: Places, server: Server) -> tuple[Part, ...]:
    """Return what connecting changes: as `codex mcp add` writes it, with notify and a grace.

    In a project Codex 0.171.0 reads only the servers; it ignores ``notify`` there and says so.
    """
    is_own = places.project is None
    about = "MCP server, its start, and the program that captures each turn"
    return (
        CodexPart(
            path=config_file(places),
            about=about if is_own else "MCP server",
            server=server,
            is_own=is_own,
            has_notify=places.hooks,
        ),
    )


def folder(places: Places) -> Path:
    """Return the folder of the account's settings and sessions."""
    chosen = places.environment.get("CODEX_HOME", "")
    return Path(chosen) if chosen else places.home / ".codex"


def config_file(places: Places) -> Path:
    """Return the file of settings, the user's or the project's."""
    if places.project is not None:
        return places.project / ".codex" / "config.toml"
    return folder(places) / "config.toml"


def configured(places: Places) -> Configured | None:
    """Return the server as Codex would start it here, None when it is not connected."""
    path = config_file(places)
    return entry_of(places.toml(path).get(_SERVERS), path, "env")


def chained(notify: Any) -> list[str] | None:
    """Return the user's program inside of this program's ``notify``, None when it is not ours."""
    if not (isinstance(notify, list) and is_ours([str(word) for word in notify], "--notify")):
        return None
    words = [str(word) for word in notify]
    return words[words.index("--then") + 1 :] if "--then" in words else []


@dataclass(frozen=True, slots=True, kw_only=True)
class CodexPart(Part):
    """``config.toml``; ``is_own`` says that it is the user's own and no project's.

    Without ``has_notify`` only the user's own program is called.
    """

    server: Server
    is_own: bool
    has_notify: bool = True

    def connected(self, text: str) -> str:
        """Return the text with the server's table, ``notify`` and the grace."""
        found = tomllib.loads(text)
        if _has_entry(found) and not is_server(found[_SERVERS][NAME]):
            raise Taken(f"{_SERVERS}.{NAME}")
        if self.is_own:
            text = self._notified(text, found.get(_NOTIFY))
            if GRACE not in found:
                text = _with(text, GRACE, GRACE_MS)
        return self._served(text, is_inline=_has_entry(found))

    def disconnected(self, text: str, original: str | None) -> str:
        """Return the text without them; a program of the user's is called directly again."""
        found, before = tomllib.loads(text), tomllib.loads(original or "")
        is_there = _has_entry(found) and is_server(found[_SERVERS][NAME])
        for section in reversed(_own(text) if is_there else []):
            text = _cut(text, section.start, section.end)
        if is_there and _has_entry(tomllib.loads(text)):
            raise ValueError(f"{NAME} stands there as an inline table, which is not edited")
        users = chained(found.get(_NOTIFY))
        is_untouched = not is_there and users is None and original is None
        if not self.is_own or is_untouched:
            return text
        if users and original and users == before.get(_NOTIFY):
            start, end = toml.assignment(original, _NOTIFY) or (0, 0)
            text = _with(text, _NOTIFY, users, written=original[start:end])
        elif users is not None:
            text = _with(text, _NOTIFY, users) if users else _without(text, _NOTIFY)
        if found.get(GRACE) == GRACE_MS and GRACE not in before:
            text = _without(text, GRACE)
        return text

    def rest(self, text: str) -> Any:
        """Return the value without them."""
        value = tomllib.loads(text)
        if _has_entry(value) and is_server(value[_SERVERS][NAME]):
            del value[_SERVERS][NAME]
        if not value.get(_SERVERS):
            value.pop(_SERVERS, None)
        if self.is_own:
            inner = chained(value.get(_NOTIFY))
            value[_NOTIFY] = value.get(_NOTIFY) if inner is None else inner or None
            if value.get(GRACE) == GRACE_MS:
                del value[GRACE]
        return value

    def _notified(self, text: str, found: Any) -> str:
        """Return the text with this program's ``notify`` before the user's, or the user's alone."""
        inner = chained(found)
        if found is not None and not _is_command(found):
            raise ValueError(f"{_NOTIFY} is no array of words")
        then = inner if inner is not None else found or []
        if self.has_notify:
            return _with(text, _NOTIFY, self.server.notify("codex", then))
        if inner is None:
            return text
        return _with(text, _NOTIFY, inner) if inner else _without(text, _NOTIFY)

    def _served(self, text: str, *, is_inline: bool) -> str:
        """Return the text with the server's table, in its place or at the end.

        ``is_inline`` says what an entry is that has no table of its own.
        """
        own = _own(text)
        if not own:
            if is_inline:
                raise ValueError(f"{NAME} stands there as an inline table, which is not edited")
            block = self._table("")
            joint = "\n" if text and not text.endswith("\n") else ""
            text += joint + ("\n" if text else "") + block
            try:
                tomllib.loads(text)
            except tomllib.TOMLDecodeError:
                message = f"{_SERVERS} is an inline table there, to which nothing can be added"
                raise ValueError(message) from None
            return text
        before = "\n".join(text[each.start : each.end].rstrip("\n") for each in own) + "\n"
        after = self._table(before)
        if tomllib.loads(before) == tomllib.loads(after):
            return text
        for section in reversed(own[1:]):
            text = _cut(text, section.start, section.end)
        return text[: own[0].start] + after + text[own[0].end :]

    def _table(self, text: str) -> str:
        """Return the text of the server's own tables as they should be; the user's keys stay."""
        document = tomlkit.parse(text)
        if not text:
            document[_SERVERS] = tomlkit.table(is_super_table=True)
            _inside(document[_SERVERS])[NAME] = tomlkit.table()
        table = _inside(_inside(document[_SERVERS])[NAME])
        wanted: dict[str, Any] = {"command": self.server.python, "args": self.server.arguments}
        if self.server.passed:
            wanted["env_vars"] = list(self.server.passed)
        else:
            table.pop("env_vars", None)
        if "env" not in table:
            table["env"] = tomlkit.table()
        environment = _inside(table["env"])
        for name in [each for each in environment if each in KNOWN]:
            if name not in self.server.environment:
                del environment[name]
        for inner, values in ((table, wanted), (environment, self.server.environment)):
            for name, value in values.items():
                if inner.get(name) != value:
                    inner[name] = value
        return tomlkit.dumps(document)


def _has_entry(value: Any) -> bool:
    """Return whether settings hold an entry with our server's name."""
    servers = value.get(_SERVERS)
    return isinstance(servers, dict) and NAME in servers


def _is_command(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _own(text: str) -> list[Section]:
    return [each for each in toml.sections(text) if each.path[:2] == (_SERVERS, NAME)]


def _inside(table: Any) -> MutableMapping[str, Any]:
    """Return a table of tomlkit, whose own types do not say what stands inside. Raises ValueError."""
    if not isinstance(table, MutableMapping):
        raise ValueError(f"something else than a table stands at {NAME}")  # noqa: TRY004 - the file's fault
    return table


def _with(text: str, name: str, value: Any, *, written: str = "") -> str:
    """Return the text with an assignment at the top, in its place or after the last one."""
    if tomllib.loads(text).get(name) == value and not written:
        return text
    line = written or f"{name} = {toml.literal(value)}"
    found = toml.assignment(text, name)
    if found:
        return text[: found[0]] + line + text[found[1] :]
    place = toml.end_of_top(text)
    joint = "\n" if place and not text[:place].endswith("\n") else ""
    gap = "\n" if place == 0 and text else ""
    return text[:place] + joint + line + "\n" + gap + text[place:]


def _without(text: str, name: str) -> str:
    """Return the text without the line, or lines, of an assignment at the top."""
    start, end = toml.assignment(text, name) or (0, 0)
    if not end:
        return text
    rest = text[end:].partition("\n")[2]
    # What `_with` put before a table that begins the file.
    return text[:start] + (rest if start else rest.removeprefix("\n"))


def _cut(text: str, start: int, end: int) -> str:
    """Return the text without a part, and without the empty line before it."""
    head = text[:start]
    return (head[:-1] if head.endswith("\n\n") or head == "\n" else head) + text[end:]
