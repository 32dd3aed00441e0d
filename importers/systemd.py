"""The unit by which systemd runs the importers: a user's own, and for root the system's.

A user's units run while that user is logged in; ``loginctl enable-linger`` makes them begin with
the machine and outlast the logout (loginctl(1)). Root has no such session in many places, and its
units are the system's.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from importers.daemon import Daemon, config_home
from importers.unit import Unit, marked

__all__ = ["LINGER", "NAME", "systemd_unit"]

NAME: Final = "shared-memory-import.service"

LINGER: Final = (
    "It ends when you log out and begins when you log in. To have it run from the machine's start"
    " on: loginctl enable-linger"
)

_SYSTEM: Final = Path("/etc/systemd/system")
_BOOTED: Final = Path("/run/systemd/system")  # sd_booted(3); systemctl alone is in many images

# KillMode: the embedded PostgreSQL is started by whoever needs it first, and must not go when the
# importers stop. `exec` reports a program that is not there, which `simple` does not.
_TEXT: Final = """\
# {mark}
[Unit]
Description=Shared Memory: import what the coding clients store
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart=%COMMAND%
%ENVIRONMENT%Restart=on-failure
RestartSec=10
KillMode=process
Nice=10

[Install]
WantedBy=%TARGET%
"""


def systemd_unit(
    daemon: Daemon, environment: Mapping[str, str], home: Path, *, is_root: bool
) -> Unit:
    """Return the unit of a user, or of the whole system for root."""
    folder = _SYSTEM if is_root else config_home(environment, home) / "systemd" / "user"
    told = {**daemon.environment, **({"HOME": str(home)} if is_root else {})}
    lines = [f"Environment={_quoted(f'{name}={value}')}" for name, value in sorted(told.items())]
    if daemon.secrets is not None:
        lines.append(f"EnvironmentFile={_escaped(str(daemon.secrets))}")
    text = _TEXT.replace("%COMMAND%", " ".join(map(_argument, daemon.command)))
    text = text.replace("%ENVIRONMENT%", "".join(f"{line}\n" for line in lines))
    text = text.replace("%TARGET%", "multi-user.target" if is_root else "default.target")
    systemctl = ("systemctl",) if is_root else ("systemctl", "--user")
    begin = ((*systemctl, "daemon-reload"), (*systemctl, "enable", "--now", NAME))
    return Unit(
        manager="systemctl",
        path=folder / NAME,
        text=marked(text),
        start=begin,
        notice=begin,
        restart=((*systemctl, "restart", NAME),),
        stop=((*systemctl, "disable", "--now", NAME),),
        forget=((*systemctl, "daemon-reload"),),
        is_active=(*systemctl, "is-active", "--quiet", NAME),
        sign=_BOOTED,
        remark=_of_root(environment, home) if is_root else LINGER,
    )


def _of_root(environment: Mapping[str, str], home: Path) -> str:
    """Return what has to be said to somebody who is root for this one command."""
    user = environment.get("SUDO_USER", "")
    if user in {"", "root"}:
        return ""
    return f"It reads root's stores, in {home}; called without sudo it reads those of {user}."


def _quoted(text: str) -> str:
    """Return a text in quotes as systemd reads them (systemd.syntax(7))."""
    return '"' + _escaped(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _argument(text: str) -> str:
    """Return a word of a command line, in which ``$`` stands for variables (systemd.service(5))."""
    return _quoted(text.replace("$", "$$"))


def _escaped(text: str) -> str:
    """Return a text without specifiers, which begin with a percent sign (systemd.unit(5))."""
    return text.replace("%", "%%")
