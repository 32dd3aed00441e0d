"""The commands by name, and how each starts, ends and fails.

A command's module is imported only when that command runs: the database's libraries take most of
a second to load, and `memory --help` needs none of them.
"""

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import EntryPoint, version
from itertools import takewhile
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from memory.cli import plugins
from memory.cli.fault import ended
from memory.errors import LedgerError

__all__ = ["COMMANDS", "run"]

COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "setup": ("memory.cli.setup:setup", "Start the server, build the schema, import every store."),
    "status": ("memory.cli.status:status", "Show where the ledger is and what it holds."),
    "search": ("memory.cli.search:search", "Search everything the clients said and did."),
    "show": (
        "memory.cli.show:show",
        "Show an entry whole, or a session's conversation page by page.",
    ),
    "sessions": ("memory.cli.sessions:sessions", "List the sessions that were active last."),
    "projects": (
        "memory.cli.projects:projects",
        "List the projects, and what the ledger holds of each.",
    ),
    "context": (
        "memory.cli.context:context",
        "Show a project's current facts, decisions, preferences, state and last events.",
    ),
    "brief": (
        "memory.cli.brief:brief",
        "Print in 2 KB what holds in a project, for a hook at the beginning of a session.",
    ),
    "changes": (
        "memory.cli.changes:changes",
        "Show what a client wrote: messages, values, events and states, oldest first.",
    ),
    "connect": (
        "memory.cli.connect:connect",
        "Connect Claude Code, Codex and OpenCode: their MCP server, and what captures each turn.",
    ),
    "disconnect": (
        "memory.cli.connect:disconnect",
        "Take back what connect changed; a file that nobody else changed is as it was, to the byte.",
    ),
    "doctor": ("memory.cli.doctor:doctor", "Check everything, and say what mends what is broken."),
    "machine": (
        "memory.cli.machines:machine",
        "Show this machine's id and label, or give it another label; the id stays.",
    ),
    "machines": ("memory.cli.machines:machines", "List the machines that the ledger knows."),
    "upgrade": (
        "memory.cli.upgrade:upgrade",
        "Bring an older ledger's schema up to this program's: show the plan, take a dump, apply it.",
    ),
    "reindex": ("memory.cli.reindex:reindex", "Build the heads and the search index anew."),
    "pg": ("memory.cli.pg:app", "Start, stop and watch the embedded PostgreSQL."),
    "url": ("memory.cli.url:url", "Print the ledger's address, password included."),
}
"""Each command's place and its one-line help, in the order of `memory --help`."""

_EPILOG: Final = "Exit status: 0 done, 1 failed, 2 wrong usage, 3 (pg status) not running."


class _Commands(TyperGroup):
    """A group that knows its commands by name and loads the one that runs."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0]
        if name in COMMANDS:
            module, _, attribute = COMMANDS[name][0].partition(":")
            found = getattr(import_module(module), attribute)
            self.add_command(plugins.as_command(found, name), name)
        elif name in (added := _added()):
            self.add_command(plugins.as_command(plugins.named(added[name]), name), name)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for name, entry_point in _added().items():
            try:
                command = plugins.as_command(plugins.named(entry_point), name)
            except LedgerError as error:  # one broken package must not hide the other commands
                command = _listed(name, str(error))
            self.add_command(command, name)
        super().format_commands(ctx, formatter)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit status: 0 done, 1 failed, 2 wrong usage."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    as_json = "--json" in takewhile(lambda each: each != "--", given)

    def work() -> Any:
        return _group().main(given or ["--help"], prog_name="memory", standalone_mode=False)

    return ended(work, name="memory", as_json=as_json)


def _group() -> TyperGroup:
    app = typer.Typer(
        cls=_Commands, name="memory", epilog=_EPILOG, add_completion=False, rich_markup_mode=None
    )
    app.callback()(_root)
    group = typer.main.get_group(app)
    for name, (_, words) in COMMANDS.items():
        group.add_command(_listed(name, words))
    return group


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"memory {version('shared-memory')}")  # noqa: T201 - the answer
        raise typer.Exit


def _root(
    *,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Search and look after the memory that Claude Code, Codex and OpenCode share."""


def _listed(name: str, words: str) -> TyperCommand:
    """Return what stands for a command in the list of commands."""
    return TyperCommand(name, help=words, rich_markup_mode=None)


def _added() -> dict[str, EntryPoint]:
    """Return the commands of other packages by name; ours cannot be replaced."""
    return {k: v for k, v in plugins.points(plugins.COMMANDS).items() if k not in COMMANDS}
