"""The commands by name, and how each starts, ends and fails.

A command's module is imported only when that command runs: the database's libraries take most of
a second to load, and `memory --help` needs none of them.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points, version
from itertools import takewhile
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from memory.errors import LedgerError

__all__ = ["COMMANDS", "GROUP", "run"]

GROUP: Final = "memory.commands"
"""The entry-point group by which other packages add commands."""

COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "url": ("memory.cli.url:url", "Print the ledger's address, password included."),
    "pg": ("memory.cli.pg:app", "Start, stop and watch the embedded PostgreSQL."),
}
"""Each command's place and its one-line help, in the order of `memory --help`."""

_FAILED: Final = 1
_USAGE: Final = 2
_EPILOG: Final = "Exit status: 0 done, 1 failed, 2 wrong usage, 3 (pg status) not running."


class _Commands(TyperGroup):
    """A group that knows its commands by name and loads the one that runs."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0]
        if name in COMMANDS:
            self.add_command(_loaded(COMMANDS[name][0], name), name)
        elif name in (added := _added()):
            self.add_command(_command(_load(added[name]), name), name)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for name, entry_point in _added().items():
            try:
                command = _command(_load(entry_point), name)
            except LedgerError as error:  # one broken package must not hide the other commands
                command = _named(name, str(error))
            self.add_command(command, name)
        super().format_commands(ctx, formatter)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit status: 0 done, 1 failed, 2 wrong usage."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    as_json = "--json" in takewhile(lambda each: each != "--", given)
    try:
        status = _group().main(given or ["--help"], prog_name="memory", standalone_mode=False)
        sys.stdout.flush()
    except LedgerError as error:
        return _fail(error.code, str(error), _FAILED, as_json=as_json)
    except typer.TyperException as error:
        return _fail("usage", error.format_message(), _USAGE, as_json=as_json)
    return status if isinstance(status, int) else 0


def _fail(code: str, message: str, status: int, *, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"is_error": True, "code": code, "error": message}))  # noqa: T201 - the answer
    else:
        line = " ".join(message.split())
        print(f"memory: {line} ({code})", file=sys.stderr)  # noqa: T201 - for people
    return status


def _group() -> TyperGroup:
    app = typer.Typer(
        cls=_Commands, name="memory", epilog=_EPILOG, add_completion=False, rich_markup_mode=None
    )
    app.callback()(_root)
    group = typer.main.get_group(app)
    for name, (_, words) in COMMANDS.items():
        group.add_command(_named(name, words))
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


def _named(name: str, words: str) -> TyperCommand:
    """Return what stands for a command in the list of commands."""
    return TyperCommand(name, help=words, rich_markup_mode=None)


def _added() -> dict[str, EntryPoint]:
    """Return the commands of other packages by name; ours cannot be replaced."""
    return {each.name: each for each in entry_points(group=GROUP) if each.name not in COMMANDS}


def _load(entry_point: EntryPoint) -> Any:
    """Load another package's command; raises LedgerError when that package is broken."""
    try:
        return entry_point.load()
    except (ImportError, AttributeError) as error:
        message = f"{entry_point.value} cannot be loaded ({error}); install its package again."
        raise LedgerError(message, code="broken_package") from error


def _loaded(place: str, name: str) -> Any:
    module, _, attribute = place.partition(":")
    return _command(getattr(import_module(module), attribute), name)


def _command(found: Any, name: str) -> Any:
    """Return the command that an app, or a function, stands for."""
    app = found
    if not isinstance(found, typer.Typer):
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command()(found)
    command = typer.main.get_command(app)
    command.name = name
    return command
