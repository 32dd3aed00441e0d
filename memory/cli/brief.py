"""What a session is told of its project when it begins."""

from typing import Annotated

import typer

from memory.brief import SECONDS, main

__all__ = ["brief"]


def brief(
    *,
    client: Annotated[
        str, typer.Option("--client", help="claude, codex: as its hook takes it; else plain text.")
    ] = "",
    directory: Annotated[
        str, typer.Option("--directory", help="Whose project; else the working directory's.")
    ] = "",
    seconds: Annotated[
        float, typer.Option("--seconds", min=0.1, help="After which it ends without output.")
    ] = SECONDS,
) -> None:
    """Print in 2 KB what holds in a project, for a hook at the beginning of a session.

    It always ends with status 0, and without output when anything goes wrong.
    """
    main([f"--client={client}", f"--directory={directory}", f"--seconds={seconds}"])
