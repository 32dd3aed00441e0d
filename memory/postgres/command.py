"""PostgreSQL's programs, run as the server's account in a bare environment."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypedDict

from memory.postgres.account import Account
from memory.postgres.home import Home

__all__ = ["detach", "may_enter", "run"]

# The server outlives whoever starts it: it must not carry that process's keys and URLs about,
# nor a PG* or LC_* variable that would change what initdb and postgres do.
_KEPT: Final = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")
_PRIVATE_UMASK: Final = 0o077
_SHELL: Final = "/bin/sh"
_SHELL_TIMEOUT: Final = 30.0
# The shell ends at once, so the server is nobody's child and leaves no zombie in this process.
_DETACH: Final = 'log=$1; shift; "$@" </dev/null >>"$log" 2>&1 & echo $!'


class _Identity(TypedDict, total=False):
    user: int
    group: int
    extra_groups: list[int]


def run(
    arguments: Sequence[str | Path], home: Home, account: Account, *, timeout: float
) -> tuple[int, str]:
    """Run a program to its end and return its exit status and its output.

    The output goes through a file: whatever inherits a pipe and lives on keeps its reader waiting.
    Raises subprocess.TimeoutExpired after ``timeout`` seconds.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    with os.fdopen(os.open(home.command_log, flags, 0o600), "r+b") as output:
        if account.drop:
            os.fchown(output.fileno(), account.uid, account.gid)
        done = subprocess.run(  # noqa: S603 - our own command lines, no shell
            [os.fspath(argument) for argument in arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=home.path,
            env=_environment(),
            umask=_PRIVATE_UMASK,
            timeout=timeout,
            check=False,
            **_identity(account),
        )
        output.seek(0)
        return done.returncode, output.read().decode("utf-8", "replace")


def detach(
    arguments: Sequence[str | Path],
    home: Home,
    account: Account,
    *,
    environment: Mapping[str, str],
) -> int:
    """Start a program in a session of its own, its output appended to server.log.

    Returns its process id. It is adopted by the system, so it survives this process, its process
    group and its terminal.
    """
    done = subprocess.run(  # noqa: S603 - our own command lines; the script takes them as "$@"
        [_SHELL, "-c", _DETACH, _SHELL, home.server_log, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=home.path,
        env={**_environment(), **environment},
        umask=_PRIVATE_UMASK,
        start_new_session=True,
        timeout=_SHELL_TIMEOUT,
        check=True,
        **_identity(account),
    )
    return int(done.stdout)


def may_enter(folder: Path, account: Account) -> bool:
    """Ask the kernel, as the account, so that access lists and mounts count too."""
    done = subprocess.run(  # noqa: S603 - a fixed script; the folder is an argument
        [_SHELL, "-c", 'cd -- "$1"', _SHELL, folder],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env=_environment(),
        timeout=_SHELL_TIMEOUT,
        check=False,
        **_identity(account),
    )
    return done.returncode == 0


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, "LC_ALL": "C", "TZ": "UTC"}


def _identity(account: Account) -> _Identity:
    if not account.drop:
        return {}
    return {"user": account.uid, "group": account.gid, "extra_groups": []}
