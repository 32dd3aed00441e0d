"""The importers as a program: ``python -m importers`` and ``memory-import``."""

import sys
from collections.abc import Sequence

from importers.options import parse

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None, *, client: str = "") -> int:
    """Run the importers and return the exit status: 0, 1 when something failed, 130 when stopped.

    ``client`` restricts this to one client, whose own module was started.
    """
    options = parse(arguments, client=client)
    # A wrong argument and --help must not wait for the database's libraries.
    from importers.cli import run  # noqa: PLC0415

    return run(options)


if __name__ == "__main__":
    sys.exit(main())
