"""What `memory connect` and `memory disconnect` say."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from memory.cli.output import console, print_json, say
from memory.connect import CLIENTS, Change, Places, Server, server_of
from memory.connect.commands import Connection, connections, generic
from memory.text import displayable

__all__ = [
    "change_facts",
    "notes_of",
    "print_by_hand",
    "show_change",
    "show_connections",
    "show_written",
]

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def show_connections(found: list[Connection]) -> None:
    """Print the commands for people, each on a line of its own to be copied."""
    screen = console()
    for each in found:
        screen.print(Text.assemble((each.client, "bold"), (f"  {each.about}", "dim")))
        screen.print(Text(f"  {each.command}"))


def print_by_hand(*, as_json: bool) -> None:
    """Print the clients' own commands, and the JSON for any other client."""
    found = connections(os.environ)
    other = generic(server_of(os.environ))
    if as_json:
        facts = [
            {"client": each.client, "command": each.command, "about": each.about} for each in found
        ]
        print_json({"connections": facts, "other": other})
        return
    show_connections(found)
    console().print(Text.assemble(("Any other client", "bold"), ("  as its file has it", "dim")))
    say(other)


def show_change(change: Change) -> None:
    """Print what becomes of one file."""
    screen = console()
    title = CLIENTS[change.client].title
    words = {"none": "stays as it is", "remove": "goes away: it was made by connecting"}
    said = words.get(change.kind, change.part.about)
    screen.print(Text.assemble((title, "bold"), f"  {change.content.path}: {said}"))
    for line in change.diff().splitlines() if change.kind != "none" else ():
        screen.print(Text(f"  {displayable(line)}", style=_COLOURS.get(line[:1], "")))


def show_written(change: Change, backup: Path | None) -> None:
    """Print that a file was written, and where what it held is kept."""
    title = CLIENTS[change.client].title
    kept = f"; what it held is in {backup}" if backup else ""
    say(
        f"{title}: {change.content.path} was {'removed' if change.data is None else 'written'}{kept}"
    )


def change_facts(change: Change, backup: Path | None) -> dict[str, Any]:
    """Return what becomes, or became, of one file, JSON-safe."""
    return {
        "client": change.client,
        "path": str(change.content.path),
        "about": change.part.about,
        "change": change.kind,
        "diff": change.diff(),
        "backup": str(backup) if backup else None,
    }


def notes_of(names: Sequence[str], places: Places, server: Server) -> list[str]:
    """Return what the user has to know beyond the changes."""
    notes = []
    if server.passed:
        told = " and ".join(server.passed)
        notes.append(
            f"{told} holds a password, so the files only name it: start the clients where it is set."
        )
    if "codex" in names and places.project is not None:
        notes.append(
            "Codex reads notify from the user's file alone: `memory connect codex` captures each turn."
        )
    if "opencode" in names and places.plugin is None and places.hooks:
        notes.append(
            "This installation has no OpenCode plugin: keep `memory watch` running to capture turns."
        )
    if "opencode" in names and places.brief and not (places.hooks and places.plugin):
        notes.append("OpenCode tells a brief by its plugin, which is left out here.")
    if "codex" in names and places.brief:
        notes.append("Codex tells no brief: its hooks have to be trusted by hand first.")
    return notes
