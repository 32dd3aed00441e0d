"""The command line for people; `main` is its entry point."""

__all__ = ["main"]


def main() -> int:
    """Run the command line and return its exit status."""
    # Importing memory.cli.checks, as importers do, must not load what only a command needs.
    from memory.cli.app import run  # noqa: PLC0415

    return run()
