"""The importers as a program: ``python -m importers`` and ``memory-import``."""

import sys

from importers import hooks

TYPE_CHECKING = False  # a hook must not wait for typing; checkers know this name
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: "Sequence[str] | None" = None, *, client: str = "") -> int:
    """Run the importers and return the exit status: 0, 1 when something failed, 130 when stopped.

    ``client`` restricts this to one client, whose own module was started.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given and given[0] in hooks.OPTIONS and not client:
        return hooks.main(given)
    # A hook must not wait for what reads the other command lines.
    from importers.options import parse  # noqa: PLC0415
    from importers.subcommands import subcommand  # noqa: PLC0415

    if given and not client and (found := subcommand(given[0])):
        return found(given[1:])
    options = parse(given, client=client)
    # A wrong argument and --help must not wait for the database's libraries.
    from importers.cli import run  # noqa: PLC0415

    return run(options)


if __name__ == "__main__":
    sys.exit(main())
