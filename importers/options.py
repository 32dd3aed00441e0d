"""What the importers are asked to do; read with the standard library alone, so that it is quick.

Hooks and subcommands never come here: see `importers.hooks` and `importers.subcommands`.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from importers.subcommands import SUBCOMMANDS

__all__ = ["Options", "parse"]

_EPILOG: Final = "\n".join(
    (
        "what clients call (it ends at once, with 0, and prints nothing on standard output):",
        "  --hook CLIENT [-e NAME=VALUE]...                   the hook's JSON on standard input",
        "  --notify CLIENT [-e NAME=VALUE]... [--then PROGRAM [ARGUMENT]...] JSON",
        *(["", "subcommands:"] if SUBCOMMANDS else []),
        *(f"  {name:<12} {words}" for name, (_, words) in SUBCOMMANDS.items()),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """One call of the importers; ``clients`` is empty for all, ``poll`` is in seconds.

    ``drain`` reads only what signals in the spool name; ``lock`` is the descriptor that the hook
    which started this holds the spool by. ``root`` is a home, or the folder of one client's store;
    ``machine`` is the one it comes from, this one when empty.
    """

    clients: tuple[str, ...] = ()
    watch: bool = False
    as_json: bool = False
    root: Path | None = None
    machine: str = ""
    poll: float | None = None
    drain: bool = False
    lock: int | None = None


def parse(arguments: Sequence[str] | None, *, client: str = "") -> Options:
    """Read a command line; ``client`` is the one whose own module was started.

    Raises SystemExit after telling what is wrong, as argparse does.
    """
    of = f" of {client}" if client else " of every client there is an importer for"
    parser = argparse.ArgumentParser(
        prog=f"python -m importers.{client}" if client else "memory-import",
        description=f"Read the sessions{of} into the ledger. Reading again adds nothing twice.",
        epilog="" if client else _EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--once", action="store_true", help="read what is new and end (the default)")
    how.add_argument("--watch", action="store_true", help="go on reading until stopped")
    how.add_argument("--drain", action="store_true", help="read what hooks have named, and end")
    if not client:
        parser.add_argument(
            "--client", action="append", default=[], help="only this client; may be repeated"
        )
    parser.add_argument("--json", action="store_true", help="answer with one JSON object a pass")
    parser.add_argument(
        "--root", type=Path, metavar="DIR", help="another home, or the folder of one client's store"
    )
    parser.add_argument(
        "--machine", default="", metavar="NAME", help="the machine that --root was copied from"
    )
    parser.add_argument("--poll", type=_seconds, help="seconds between passes of --watch")
    parser.add_argument("--lock", type=int, help=argparse.SUPPRESS)
    found = parser.parse_args(arguments)
    clients = (client,) if client else tuple(found.client)
    _refuse_contradictions(parser, found, clients)
    return Options(
        clients=clients,
        watch=found.watch,
        as_json=found.json,
        root=found.root,
        machine=found.machine,
        poll=found.poll,
        drain=found.drain,
        lock=found.lock,
    )


def _refuse_contradictions(
    parser: argparse.ArgumentParser, found: argparse.Namespace, clients: tuple[str, ...]
) -> None:
    if found.machine and found.root is None:
        parser.error("--machine needs --root: the copied or mounted home of that machine")
    if found.drain and found.root is not None:
        parser.error("--drain reads the clients' own stores, without --root")
    if found.lock is not None and not (found.drain and len(clients) == 1):
        parser.error("--lock needs --drain and exactly one --client")


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0.1 <= seconds <= 3600:
        raise argparse.ArgumentTypeError("takes 0.1 to 3600 seconds")
    return seconds
