"""The commands that connect the clients to this ledger, and take that back."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

import memory
from memory.cli.connect_output import (
    change_facts,
    notes_of,
    print_by_hand,
    show_change,
    show_connections,
    show_written,
)
from memory.cli.output import Json, print_json, say
from memory.connect import (
    CLIENTS,
    Change,
    Places,
    Receipts,
    Server,
    Unwritable,
    carry_out,
    clear,
    connecting,
    disconnecting,
    found,
    server_of,
)
from memory.connect.commands import connections
from memory.connect.opencode import PLUGIN
from memory.database import parse
from memory.errors import InvalidInput, LedgerError, NotFound
from memory.settings import Settings

__all__ = ["connect", "connections", "disconnect", "here", "show_connections"]

_ALL = "all"

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[CLIENT]...", help="claude, codex, opencode or all."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the changes and make none.")]
Project = Annotated[
    bool, typer.Option("--project", help="Only for the project in this directory, in its files.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Make the changes without asking.")]
Print = Annotated[
    bool, typer.Option("--print", help="Print the clients' own commands, and change nothing.")
]
Brief = Annotated[
    bool | None,
    typer.Option(
        "--brief/--no-brief",
        help="Tell Claude Code and OpenCode at a session's start, in 2 KB, what holds in its project.",
    ),
]
Hooks = Annotated[
    bool,
    typer.Option(
        "--hooks/--no-hooks",
        help="Let each turn be captured at once; without, `memory watch` finds it.",
    ),
]


@dataclass(frozen=True, slots=True)
class _Work:
    """What was planned, what could not be, and what was done."""

    changes: list[Change] = field(default_factory=list)
    failures: list[tuple[str, LedgerError]] = field(default_factory=list)
    backups: dict[Path, Path | None] = field(default_factory=dict)


def connect(
    names: Names = None,
    *,
    dry_run: DryRun = False,
    project: Project = False,
    yes: Yes = False,
    by_hand: Print = False,
    brief: Brief = None,
    hooks: Hooks = True,
    as_json: Json = False,
) -> None:
    """Connect Claude Code, Codex and OpenCode: their MCP server, and what captures each turn."""
    _check_addresses()
    if by_hand:
        print_by_hand(as_json=as_json)
        return
    places = here(project=project, brief=brief, hooks=hooks)
    server = server_of(os.environ)
    chosen = _installed(names or [], places)
    work = _planned(chosen, places, server, connecting)
    _finish(
        work,
        "Connect",
        dry_run=dry_run,
        yes=yes,
        as_json=as_json,
        notes=notes_of(chosen, places, server),
    )


def disconnect(
    names: Names = None,
    *,
    dry_run: DryRun = False,
    project: Project = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Take back what connect changed; a file that nobody else changed is as it was, to the byte."""
    places = here(project=project)
    receipts = Receipts.of(os.environ, places.home)
    chosen = _known(names or [_ALL])
    work = _planned(
        chosen,
        places,
        server_of(os.environ),
        lambda name, part: disconnecting(name, part, receipts),
    )
    _finish(work, "Disconnect", dry_run=dry_run, yes=yes, as_json=as_json, notes=[])


def here(*, project: bool = False, brief: bool | None = None, hooks: bool = True) -> Places:
    """Return this account's places, or those of the project in the working directory."""
    plugin = Path(memory.__file__).resolve().parent.parent / PLUGIN
    return Places(
        home=Path.home(),
        environment=os.environ,
        plugin=plugin if plugin.is_file() else None,
        project=Path.cwd() if project else None,
        brief=brief,
        hooks=hooks,
    )


def _check_addresses() -> None:
    """See that every server can use the addresses that the clients are told. Raises InvalidInput.

    One that is not understood may hold a password in a place where none is looked for.
    """
    settings = Settings.from_environment()
    if settings.database_url:
        parse(settings.database_url)
    if settings.owner_url:
        parse(settings.owner_url, variable="MEMORY_OWNER_URL")


def _installed(names: Sequence[str], places: Places) -> list[str]:
    """Return the clients that are meant and there. Raises NotFound and InvalidInput."""
    there = found(places)
    if not names or _ALL in names:
        if there:
            return _known(names) and there
        looked = ", ".join(f"{each.program} or {each.folder(places)}" for each in CLIENTS.values())
        raise NotFound(
            f"No client was found; looked for {looked}. Install one, then run this again.",
            code="client_missing",
        )
    chosen = _known(names)
    for name in chosen:
        if name not in there:
            client = CLIENTS[name]
            raise NotFound(
                f"{client.title} is not installed: neither {client.program} in PATH nor"
                f" {client.folder(places)} is there. Install it, then run this again.",
                code="client_missing",
            )
    return chosen


def _known(names: Sequence[str]) -> list[str]:
    """Return the clients' names in their order. Raises InvalidInput for one that nobody knows."""
    wrong = [name for name in names if name not in CLIENTS and name != _ALL]
    if wrong:
        raise InvalidInput(
            f"No such client: {wrong[0]}; {', '.join(CLIENTS)} and {_ALL} are known."
        )
    return [name for name in CLIENTS if name in names or _ALL in names or not names]


def _planned(
    names: Sequence[str],
    places: Places,
    server: Server,
    plan: Callable[[str, Any], Change],
) -> _Work:
    """Plan every file of the clients; one client's broken file does not keep the others."""
    work = _Work()
    for name in names:
        try:
            work.changes.extend([plan(name, each) for each in CLIENTS[name].parts(places, server)])
        except Unwritable as error:
            work.failures.append((name, error))
    return work


def _finish(
    work: _Work, verb: str, *, dry_run: bool, yes: bool, as_json: bool, notes: Sequence[str]
) -> None:
    """Show the changes, ask, make them, and say what became of them."""
    if not as_json:
        for change in work.changes:
            show_change(change)
    if not dry_run and any(change.kind != "none" for change in work.changes):
        _confirm(work, verb, yes=yes, as_json=as_json)
        _carry_out(work, as_json=as_json)
    for change in () if dry_run else work.changes:
        clear(change.content.path)
    if as_json:
        _print(work, dry_run=dry_run, notes=notes)
    else:
        for line in (*notes, *_failed(work)):
            say(line)
    if work.failures:
        raise typer.Exit(1)


def _confirm(work: _Work, verb: str, *, yes: bool, as_json: bool) -> None:
    """Ask on a terminal. Raises InvalidInput where nobody can be asked, and Exit for a no."""
    if yes:
        return
    if as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InvalidInput(
            "Nothing was changed, because nobody can be asked here: add --yes, or --dry-run to see"
            " what would change.",
            code="not_confirmed",
        )
    names = dict.fromkeys(each.client for each in work.changes if each.kind != "none")
    titles = " and ".join(CLIENTS[name].title for name in names)
    if not typer.confirm(f"{verb} {titles}?"):
        say("Nothing was changed.")
        raise typer.Exit(1)


def _carry_out(work: _Work, *, as_json: bool) -> None:
    receipts = Receipts.of(os.environ, Path.home())
    failed: set[str] = set()
    for change in work.changes:
        if change.kind == "none" or change.client in failed:
            continue
        try:
            backup = carry_out(change, receipts)
        except Unwritable as error:
            failed.add(change.client)
            work.failures.append((change.client, error))
            continue
        work.backups[change.content.path] = backup
        if not as_json:
            show_written(change, backup)


def _print(work: _Work, *, dry_run: bool, notes: Sequence[str]) -> None:
    facts = {
        "applied": bool(work.backups),
        "dry_run": dry_run,
        "changes": [
            change_facts(each, work.backups.get(each.content.path)) for each in work.changes
        ],
        "failed": [
            {"client": name, "code": error.code, "error": str(error)}
            for name, error in work.failures
        ],
        "notes": list(notes),
    }
    if work.failures:
        _, error = work.failures[0]
        facts = {"is_error": True, "code": error.code, "error": str(error), **facts}
    print_json(facts)


def _failed(work: _Work) -> Iterator[str]:
    for name, error in work.failures:
        yield f"✗ {CLIENTS[name].title}: {error} ({error.code})"
