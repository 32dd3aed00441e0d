"""The embedded PostgreSQL: the commands of `python -m memory.postgres` under `memory pg`."""

from typing import Annotated

import typer

from memory.cli.ledger import configured
from memory.cli.output import Json
from memory.postgres.cli import TIMEOUT, carry_out

__all__ = ["app"]

Timeout = Annotated[
    float, typer.Option("--timeout", min=0, metavar="SECONDS", help="How long to wait at most.")
]

app = typer.Typer(
    help="Start, stop and watch the embedded PostgreSQL.",
    add_completion=False,
    rich_markup_mode=None,
)


@app.command()
def start(*, timeout: Timeout = TIMEOUT, as_json: Json = False) -> None:
    """Start it, setting it up the first time; ends when it accepts connections."""
    _do("start", timeout=timeout, as_json=as_json)


@app.command()
def stop(*, timeout: Timeout = TIMEOUT, as_json: Json = False) -> None:
    """Stop it; open connections are closed, nothing is lost."""
    _do("stop", timeout=timeout, as_json=as_json)


@app.command()
def status(*, as_json: Json = False) -> None:
    """Say whether it accepts connections; exit status 3 when it does not."""
    _do("status", timeout=TIMEOUT, as_json=as_json)


@app.command()
def restart(*, timeout: Timeout = TIMEOUT, as_json: Json = False) -> None:
    """Stop it, then start it."""
    _do("restart", timeout=timeout, as_json=as_json)


@app.command()
def bootstrap(*, timeout: Timeout = TIMEOUT, as_json: Json = False) -> None:
    """Set everything up, and leave the server as it was: running or not."""
    _do("bootstrap", timeout=timeout, as_json=as_json)


def _do(command: str, *, timeout: float, as_json: bool) -> None:
    status = carry_out(command, configured(), timeout=timeout, as_json=as_json)
    if status:
        raise typer.Exit(status)
