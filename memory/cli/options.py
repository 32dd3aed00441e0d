"""The options that several commands share."""

from typing import Annotated

import typer

__all__ = ["Client", "Project", "Since", "limit"]

Client = Annotated[
    str | None,
    typer.Option("--client", help="Only what this client wrote: claude, codex, opencode …"),
]
Project = Annotated[
    str | None, typer.Option("--project", help="Only this project: its name or its id.")
]
Since = Annotated[
    str | None, typer.Option("--since", help="Not before: a time, or 2h, 3d, 1w ago.")
]


def limit(words: str, *, most: int) -> object:
    """Return the option for how many; numbers outside 1 to ``most`` are wrong usage."""
    return typer.Option("--limit", min=1, max=most, help=f"{words}, at most {most}.")
