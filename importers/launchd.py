"""The property list by which launchd runs the importers: a user's agent, and for root a daemon.

The keys are those of launchd.plist(5), the commands those of launchctl(1).
"""

import plistlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from importers.daemon import Daemon
from importers.unit import Unit, marked

__all__ = ["LABEL", "launchd_unit"]

LABEL: Final = "shared-memory.import"

_SYSTEM: Final = Path("/Library/LaunchDaemons")
_RETRY_SECONDS: Final = 10
_NICE: Final = 10
_HEAD: Final = b'<plist version="1.0">'

# launchd reads no file of variables, so a shell does, which takes each line as it is.
_READ: Final = (
    'while IFS= read -r line; do case $line in ""|\\#*) ;; *) export "$line" ;; esac; done < "$0";'
    ' exec "$@"'
)


def launchd_unit(daemon: Daemon, home: Path, *, uid: int) -> Unit:
    """Return the agent of a user, or the daemon of the whole system for root."""
    is_root = uid == 0
    folder = _SYSTEM if is_root else home / "Library" / "LaunchAgents"
    path = folder / f"{LABEL}.plist"
    domain = "system" if is_root else f"gui/{uid}"
    service = f"{domain}/{LABEL}"
    begin = (("launchctl", "bootstrap", domain, str(path)),)
    end = (("launchctl", "bootout", service),)
    return Unit(
        manager="launchctl",
        path=path,
        text=_text(daemon, {"HOME": str(home)} if is_root else {}),
        start=begin,
        notice=(),
        restart=(*end, *begin),
        stop=end,
        forget=(),
        is_active=("launchctl", "print", service),
    )


def _text(daemon: Daemon, more: Mapping[str, str]) -> str:
    command = [*daemon.command]
    if daemon.secrets is not None:
        command = ["/bin/sh", "-c", _READ, str(daemon.secrets), *command]
    facts: dict[str, Any] = {
        "Label": LABEL,
        "ProgramArguments": command,
        "EnvironmentVariables": {**daemon.environment, **more},
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": _RETRY_SECONDS,
        "ProcessType": "Background",
        "Nice": _NICE,
        # The embedded PostgreSQL must not go when the importers stop.
        "AbandonProcessGroup": True,
    }
    written = plistlib.dumps(facts, sort_keys=True)
    return marked(written.replace(_HEAD, b"<!-- {mark} -->\n" + _HEAD, 1).decode())
