"""PostgreSQL's programs, run as the server's account in a bare environment."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypedDict

from memory.errors import ServerFailure
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
# Its output goes to the log alone: a pipe that it kept open would hold up whoever reads it.
_DETACH: Final = '"$@" >&2 & echo $!'


class _Identity(TypedDict, total=False):
    user: int
    group: int
    extra_groups: list[int]


def run(
    arguments: Sequence[str | Path],
    home: Home,
    account: Account,
    *,
    timeout: float,
    text: str = "",
    environment: Mapping[str, str] | None = None,
) -> tuple[int, str]:
    """Run a program that leaves nothing running; return its exit status and its output.

    ``text`` is its standard input. Raises subprocess.TimeoutExpired after ``timeout`` seconds.
    """
    done = subprocess.run(  # noqa: S603 - our own command lines, no shell
        [os.fspath(argument) for argument in arguments],
        input=text,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        cwd=home.path,
        env={**_environment(), **(environment or {})},
        umask=_PRIVATE_UMASK,
        timeout=timeout,
        check=False,
        **_identity(account),
    )
    return done.returncode, done.stdout


def detach(
    arguments: Sequence[str | Path],
    home: Home,
    account: Account,
    *,
    environment: Mapping[str, str],
) -> int:
    """Start a program in a session of its own, its output appended to server.log.

    Returns its process id. It is adopted by the system, so it survives this process, its process
    group and its terminal. Raises ServerFailure when the system starts no more processes.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    with os.fdopen(os.open(home.server_log, flags, 0o600), "ab") as output:
        if account.drop:
            os.fchown(output.fileno(), account.uid, account.gid)
        done = subprocess.run(  # noqa: S603 - our own command lines; the script takes them as "$@"
            [_SHELL, "-c", _DETACH, _SHELL, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=output,
            cwd=home.path,
            env={**_environment(), **environment},
            umask=_PRIVATE_UMASK,
            start_new_session=True,
            timeout=_SHELL_TIMEOUT,
            check=False,
            **_identity(account),
        )
    if done.returncode != 0:
        raise ServerFailure(
            f"The system started no process for PostgreSQL; {home.server_log} may say why. Often "
            "the account's limit of processes is reached (ulimit -u)."
        )
    return int(done.stdout)


def may_enter(folder: Path, account: Account) -> bool:
    """Ask the kernel, as the account, so that access lists and mounts count too.

    Raises ServerFailure when this process may not change to the account at all.
    """
    try:
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
    except PermissionError as error:
        raise ServerFailure(
            f"PostgreSQL cannot run as root, and this root may not change to the account "
            f"{account.name} (it lacks CAP_SETUID or CAP_SETGID). Grant that, start as another "
            "account, or set DATABASE_URL to a PostgreSQL 16 or newer with pgvector.",
            code="no_account",
        ) from error
    return done.returncode == 0


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, "LC_ALL": "C", "TZ": "UTC"}


def _identity(account: Account) -> _Identity:
    if not account.drop:
        return {}
    return {"user": account.uid, "group": account.gid, "extra_groups": []}
