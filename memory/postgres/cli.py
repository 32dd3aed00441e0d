"""The command line of the embedded server: start, stop, status, restart, bootstrap."""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Final

from memory import log, postgres
from memory.errors import LedgerError
from memory.postgres.server import Server
from memory.program import typed
from memory.settings import Settings

__all__ = ["TIMEOUT", "carry_out", "main"]

TIMEOUT: Final = 60.0
"""Seconds that a command waits at most unless it is told otherwise."""

_FAILED: Final = 1
_NOT_RUNNING: Final = 3  # as systemctl and pg_ctl say it
_DESCRIPTION: Final = """\
The embedded PostgreSQL.

  start      start it, setting it up at the first time; ends when it accepts connections
  stop       stop it; open connections are closed, nothing is lost
  restart    stop, then start
  status     say whether it accepts connections (exit status 3: it does not)
  bootstrap  set everything up, and leave the server as it was: running or not
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says and return the exit status: 0 done, 1 failed, 3 not running."""
    options = _parser().parse_args(arguments)
    try:
        settings = Settings.from_environment()
        log.configure(settings.log_level)
        return carry_out(options.command, settings, timeout=options.timeout, as_json=options.json)
    except LedgerError as error:
        _report_failure(error, as_json=options.json)
        return _FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m memory.postgres",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=["start", "stop", "status", "restart", "bootstrap"])
    parser.add_argument("--json", action="store_true", help="answer with one JSON object")
    parser.add_argument(
        "--timeout", type=float, default=TIMEOUT, metavar="SECONDS", help="how long to wait (60)"
    )
    return parser


def carry_out(command: str, settings: Settings, *, timeout: float, as_json: bool) -> int:
    """Carry out a command, print its answer, and return its exit status: 0 done, 3 not running.

    Raises ServerFailure and the errors of a refused setting.
    """
    if command == "status":
        server = postgres.state(settings)
        was_stopped = not server and postgres.was_stopped(settings)
        said = "was stopped; start it with `memory pg start`" if was_stopped else "is not running"
        _report(server, typed(said), settings, as_json=as_json)
        return 0 if server else _NOT_RUNNING
    if command == "stop":
        stopped = postgres.stop(settings, timeout=timeout, is_lasting=True)
        said = "stopped" if stopped else "was not running"
        _report(None, said, settings, as_json=as_json)
        return 0
    was_running = postgres.state(settings) is not None
    if command == "restart":
        postgres.stop(settings, timeout=timeout)
    server = postgres.ensure(settings, timeout=timeout)
    if command == "bootstrap" and not was_running:
        postgres.stop(settings, timeout=timeout)
        said = typed("is set up; start it with `memory pg start`")
        _report(None, said, settings, as_json=as_json)
        return 0
    _report(server, "", settings, as_json=as_json)
    return 0


def _report(server: Server | None, said: str, settings: Settings, *, as_json: bool) -> None:
    """Print where the server is; or, when there is none, what is said of it."""
    if as_json:
        text = json.dumps({"is_error": False, **_facts(server)})
    elif server is None:
        text = f"PostgreSQL {said}."
    else:
        moved = server.port != settings.port
        where = f"{server.host}:{server.port}" + (f", not on port {settings.port}" if moved else "")
        text = f"PostgreSQL accepts connections on {where} (process {server.pid})."
    print(text)  # noqa: T201 - the answer


def _facts(server: Server | None) -> dict[str, object]:
    if server is None:
        return {"running": False}
    return {
        "running": True,
        "host": server.host,
        "port": server.port,
        "pid": server.pid,
        "home": str(server.home),
        "socket_dir": str(server.socket_dir) if server.socket_dir else None,
    }


def _report_failure(error: LedgerError, *, as_json: bool) -> None:
    if as_json:
        facts = {"is_error": True, "code": error.code, "error": str(error)}
        print(json.dumps({**facts, "details": dict(error.details)}))  # noqa: T201 - the answer
        return
    print(f"{error.code}: {error}", file=sys.stderr)  # noqa: T201 - for people
    lines = error.details.get("log")
    for line in lines if isinstance(lines, list) else []:
        print(f"  {line}", file=sys.stderr)  # noqa: T201 - for people
