"""The cluster: made whole by one rename, or not there."""

import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from memory.errors import ServerFailure
from memory.postgres import command, private
from memory.postgres.account import Account
from memory.postgres.binaries import Binaries
from memory.postgres.failure import diagnose
from memory.postgres.home import APPLICATION, OWNER, Home
from memory.postgres.scram import verifier

__all__ = ["create", "major_version", "make_password", "replace_owner_password"]

_PASSWORD_BYTES: Final = 24
_SHELL_SIGNS: Final = ('"', "$", "`", "\\", "\n")  # initdb quotes with these unescaped
# Case and order rules come from PostgreSQL itself, so no index breaks when the system's C library
# changes; the character class is the first of these that the system has.
_CHARACTER_CLASSES: Final = ("C.UTF-8", "en_US.UTF-8", "UTF-8", "C")
_SETTINGS: Final[Mapping[str, str]] = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_permissions": "0700",
    "password_encryption": "scram-sha-256",
    "max_connections": "100",
    "shared_buffers": "128MB",
    "dynamic_shared_memory_type": "mmap",  # containers have a small or unwritable /dev/shm
    "jit": "off",
    "idle_in_transaction_session_timeout": "5min",
    "client_connection_check_interval": "10s",  # a killed client's long search ends too
    # One file an hour of the week, emptied when its hour comes again: the log stays bounded.
    "logging_collector": "on",
    "log_directory": "log",
    "log_filename": "postgresql-%a-%H.log",
    "log_rotation_age": "1h",
    "log_rotation_size": "0",
    "log_truncate_on_rotation": "on",
    "log_checkpoints": "off",
    # What people wrote stays out of the log: no statements, and no details with a row's values.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}


def major_version(home: Home) -> int | None:
    """Return the major version of the data, or None when there are none yet."""
    try:
        return int((home.data / "PG_VERSION").read_text("ascii").split(".")[0])
    except (FileNotFoundError, NotADirectoryError):
        return None


def create(
    home: Home, account: Account, binaries: Binaries, *, deadline: float, sync: bool
) -> None:
    """Make the passwords and an empty cluster; the caller holds the lock.

    What a killed initdb left is removed. Raises ServerFailure with what initdb said.
    """
    if any(sign in str(home.path) for sign in _SHELL_SIGNS):
        raise ServerFailure(
            f"PostgreSQL cannot be set up in {home.path}: initdb hands the path to a shell. Set"
            f" MEMORY_HOME to a folder without {' '.join(_SHELL_SIGNS[:-1])} and line breaks.",
            code="bad_home",
        )
    for leftover in home.path.glob("data.init-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    if home.data.exists():
        raise ServerFailure(
            f"{home.data} exists and is no PostgreSQL cluster. Move it away, or set MEMORY_HOME "
            "to another folder.",
            code="server_failed",
        )
    for role in (OWNER, APPLICATION):
        make_password(home, account, role)
    draft = home.path / f"data.init-{secrets.token_hex(4)}"
    try:
        _initdb(draft, home, account, binaries, deadline=deadline, sync=sync)
        lines = [f"{name} = '{value}'\n" for name, value in _SETTINGS.items()]
        with (draft / "postgresql.auto.conf").open("a", encoding="utf-8") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        draft.rename(home.data)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)  # on a full disk this also gives room back
        raise


def make_password(home: Home, account: Account, role: str) -> None:
    """Make a role's password unless it has one."""
    if not home.password_file(role).exists():
        private.write(home.password_file(role), secrets.token_urlsafe(_PASSWORD_BYTES), account)


def replace_owner_password(
    home: Home,
    account: Account,
    binaries: Binaries,
    *,
    environment: Mapping[str, str],
    deadline: float,
) -> None:
    """Give the owner a new password, without knowing the old one, and keep it in its file.

    PostgreSQL's single-user mode asks for none. No server may run meanwhile, and the caller holds
    the lock. Raises ServerFailure with what PostgreSQL said.
    """
    password = secrets.token_urlsafe(_PASSWORD_BYTES)
    code, said = _run(
        [binaries.bin / "postgres", "--single", "-D", home.data, "postgres"],
        home,
        account,
        text=f"ALTER ROLE {OWNER} PASSWORD '{verifier(password)}'\n",
        environment=environment,
        deadline=deadline,
    )
    if code != 0 or "ERROR:" in said:
        raise diagnose(said, home)
    private.write(home.password_file(OWNER), password, account)


def _initdb(
    draft: Path,
    home: Home,
    account: Account,
    binaries: Binaries,
    *,
    deadline: float,
    sync: bool,
) -> None:
    said = ""
    for arguments in _initdb_arguments(draft, home, major=binaries.version[0], sync=sync):
        code, said = _run([binaries.bin / "initdb", *arguments], home, account, deadline=deadline)
        if code == 0:
            return
        if "invalid locale name" not in said:
            break
    raise diagnose(said, home)


def _run(
    arguments: Sequence[str | Path],
    home: Home,
    account: Account,
    *,
    deadline: float,
    text: str = "",
    environment: Mapping[str, str] | None = None,
) -> tuple[int, str]:
    try:
        return command.run(
            arguments,
            home,
            account,
            timeout=max(1.0, deadline - time.monotonic()),
            text=text,
            environment=environment,
        )
    except subprocess.TimeoutExpired as error:
        raise ServerFailure(
            f"PostgreSQL's {Path(arguments[0]).name} did not end in time; the machine may be busy. "
            "Nothing is lost: try again.",
            code="still_starting",
        ) from error


def _initdb_arguments(draft: Path, home: Home, *, major: int, sync: bool) -> Iterator[list[str]]:
    builtin = ("--locale-provider=builtin", "--builtin-locale=C.UTF-8") if major >= 17 else ()
    for character_class in _CHARACTER_CLASSES:
        yield [
            f"--pgdata={draft}",
            f"--username={OWNER}",
            "--encoding=UTF8",
            *builtin,
            "--lc-collate=C",
            f"--lc-ctype={character_class}",
            "--lc-messages=C",
            "--lc-monetary=C",
            "--lc-numeric=C",
            "--lc-time=C",
            "--auth-host=scram-sha-256",
            "--auth-local=scram-sha-256",
            f"--pwfile={home.password_file(OWNER)}",
            "--no-instructions",
            *(() if sync else ("--no-sync",)),
        ]
