"""The embedded PostgreSQL: start, stop, status, restart."""

from typing import Final

import typer

from memory import postgres
from memory.cli.output import Json, print_json, say
from memory.postgres import Server
from memory.settings import Settings

__all__ = ["app"]

_NOT_RUNNING: Final = 3  # as systemctl and pg_ctl say it

app = typer.Typer(
    help="Start, stop and watch the embedded PostgreSQL.",
    add_completion=False,
    rich_markup_mode=None,
)


@app.command()
def start(*, as_json: Json = False) -> None:
    """Start it, setting it up the first time; ends when it accepts connections."""
    _report(postgres.ensure(Settings.from_environment()), "accepts connections", as_json=as_json)


@app.command()
def stop(*, as_json: Json = False) -> None:
    """Stop it; open connections are closed, nothing is lost."""
    was_running = postgres.stop(Settings.from_environment())
    _report(None, "stopped" if was_running else "was not running", as_json=as_json)


@app.command()
def status(*, as_json: Json = False) -> None:
    """Say whether it accepts connections; exit status 3 when it does not."""
    server = postgres.state(Settings.from_environment())
    _report(server, "accepts connections" if server else "is not running", as_json=as_json)
    if server is None:
        raise typer.Exit(_NOT_RUNNING)


@app.command()
def restart(*, as_json: Json = False) -> None:
    """Stop it, then start it."""
    settings = Settings.from_environment()
    postgres.stop(settings)
    _report(postgres.ensure(settings), "accepts connections", as_json=as_json)


def _report(server: Server | None, said: str, *, as_json: bool) -> None:
    if as_json:
        print_json(_facts(server))
    elif server is None:
        say(f"PostgreSQL {said}.")
    else:
        where = f"{server.host}:{server.port} (process {server.pid}, {server.home})"
        say(f"PostgreSQL {said} on {where}.")


def _facts(server: Server | None) -> dict[str, object]:
    if server is None:
        return {"running": False}
    return {
        "running": True,
        "host": server.host,
        "port": server.port,
        "pid": server.pid,
        "home": str(server.home),
    }
