"""The doctor's lines about the clients: each entry is tried as its client would start it."""

import os
import shlex
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from memory import postgres
from memory.cli.checks import Check
from memory.cli.connect import here
from memory.cli.handshake import talk
from memory.connect import CLIENTS, Client, Configured, Places, Unwritable, found
from memory.connect import claude as claude_files
from memory.connect import codex as codex_files
from memory.connect import opencode as opencode_files
from memory.database import parse
from memory.errors import LedgerError
from memory.settings import Settings

__all__ = ["client_checks", "codex_trust"]

_TOOL: Final = "status"


def client_checks(settings: Settings) -> Iterator[Check]:
    """Yield what is found, then each client's entry and what captures its turns."""
    places = here()
    there = found(places)
    yield Check("clients", ok=True, detail=_found(places, there))
    for name in there:
        client = CLIENTS[name]
        try:
            entry = client.configured(places)
            if entry is None:
                detail = f"not connected; `memory connect {name}` does it"
                yield Check(f"{name} entry", ok=True, detail=detail)
                continue
            yield _entry(name, client, entry, settings)
            yield from _capture(name, places)
        except Unwritable as error:
            yield Check(f"{name} entry", ok=False, detail=error.code, remedy=str(error))


def _found(places: Places, there: list[str]) -> str:
    """Say where each client is."""
    said = []
    for name, client in CLIENTS.items():
        folder = client.folder(places)
        place = places.program(client.program) or (f"only {folder}" if name in there else "")
        said.append(f"{client.title}: {place or 'not found'}")
    return "; ".join(said)


def _entry(name: str, client: Client, entry: Configured, settings: Settings) -> Check:
    """Start the configured command, do the handshake, and call a tool."""
    remedy = f"memory connect {name}"
    environment = entry.started_by(name, os.environ)
    try:
        theirs = Settings.from_environment(environment)
    except LedgerError as error:
        if error.code == "database_url_missing":
            remedy = f"Set DATABASE_URL where you start {client.title}, or: {remedy}"
        return Check(f"{name} entry", ok=False, detail=str(error), remedy=remedy)
    is_asleep = _is_asleep(theirs)
    heard = talk(entry.command, environment, tool="" if is_asleep else _TOOL)
    if heard.failure:
        detail = f"{client.title} could not start it: {heard.failure}"
        return Check(f"{name} entry", ok=False, detail=detail, remedy=remedy)
    detail = f"answers in {heard.seconds * 1000:.0f} ms with {heard.tools} tools"
    if _place(theirs) != _place(settings):
        detail += f", of another ledger ({_place(theirs)})"
    if heard.version != version("shared-memory"):
        detail = f"is version {heard.version}, this is {version('shared-memory')}"
        return Check(f"{name} entry", ok=False, detail=detail, remedy=remedy)
    if is_asleep:
        detail += "; no tool was called, because that would start the embedded server"
        return Check(f"{name} entry", ok=True, detail=detail)
    wrong = _refusal(heard.answer)
    if wrong:
        detail = f"{detail}, and cannot use the ledger: {wrong}"
        return Check(f"{name} entry", ok=False, detail=detail, remedy="memory doctor")
    return Check(f"{name} entry", ok=True, detail=f"{detail}, and {_TOOL} answers")


def _is_asleep(settings: Settings) -> bool:
    """Return whether a tool call would start a server, which asking must not do."""
    return not settings.database_url and postgres.state(settings) is None


def _place(settings: Settings) -> str:
    """Return which ledger settings name, without the password of an address."""
    if not settings.database_url:
        return f"{settings.home}, {settings.ledger}"
    try:
        address = str(parse(settings.database_url)).rpartition("@")[2]
    except LedgerError as error:
        return str(error)
    return f"{address}, {settings.ledger}"


def _refusal(answer: Any) -> str:
    """Return what a tool's answer says is wrong, empty for nothing."""
    if not isinstance(answer, dict):
        return "its answer is no object"
    database = answer.get("database")
    told = answer if answer.get("is_error") else database if isinstance(database, dict) else {}
    return str(told.get("error", ""))


def _capture(name: str, places: Places) -> Iterator[Check]:
    """Look at what tells the importers that a turn is over."""
    look = {"claude": _claude_hooks, "codex": _codex_notify, "opencode": _opencode_plugin}[name]
    words, missing = look(places)
    if missing:
        detail = f"{missing} is not there, so no turn is told"
        yield Check(f"{name} hook", ok=False, detail=detail, remedy=f"memory connect {name}")
    else:
        said = words or f"none: `memory watch` captures its turns; `memory connect {name}` adds one"
        yield Check(f"{name} hook", ok=True, detail=said)
    if name == "codex":
        yield from codex_trust(places)


def _claude_hooks(places: Places) -> tuple[str, str]:
    settings = places.json(claude_files.settings_files(places)[0], comments=False)
    commands = claude_files.hooks_of(settings)
    missing = [each for command in commands.values() for each in _missing(shlex.split(command))]
    return f"after {', '.join(sorted(commands))}" if commands else "", "".join(missing[:1])


def _codex_notify(places: Places) -> tuple[str, str]:
    notify = places.toml(codex_files.config_file(places)).get("notify")
    users = codex_files.chained(notify)
    if users is None or not isinstance(notify, list):
        return "", ""
    ours = notify[: len(notify) - len(users)]
    then = f", then {users[0]}" if users else ""
    return f"notify after each turn, which needs no trust{then}", "".join(_missing(ours)[:1])


def _opencode_plugin(places: Places) -> tuple[str, str]:
    plugin = opencode_files.plugin_of(places)
    if plugin is None:
        return "", ""
    return f"plugin {plugin}", "" if plugin.is_file() else str(plugin)


def codex_trust(places: Places) -> Iterator[Check]:
    """Yield whether a hook of ours in hooks.json is trusted: Codex skips others without a word.

    Codex 0.171.0 keeps the trust in config.toml, under hooks.state and the file's path.
    """
    file = codex_files.folder(places) / "hooks.json"
    if not file.exists() or not claude_files.hooks_of(places.json(file, comments=False)):
        return
    state = places.toml(codex_files.config_file(places)).get("hooks", {}).get("state", {})
    is_trusted = any(str(file) in key and "trusted_hash" in each for key, each in state.items())
    yield Check(
        "codex trust",
        ok=is_trusted,
        detail=f"the hook in {file} is {'' if is_trusted else 'not '}trusted",
        remedy="Type /hooks in Codex and trust it, or use notify: memory connect codex",
    )


def _missing(words: list[str]) -> list[str]:
    """Return the files in a command line that are not there."""
    return [word for word in words if word.startswith("/") and not Path(word).exists()]
