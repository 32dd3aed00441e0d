"""Files and folders that only the server's account may use."""

import contextlib
import os
import secrets
from pathlib import Path
from typing import Final

from memory.errors import ServerFailure
from memory.postgres import command
from memory.postgres.account import Account
from memory.postgres.home import Home
from memory.settings import SERVICE_ACCOUNT

__all__ = ["make_folder", "prepare", "write"]

_FOLDER_MODE: Final = 0o700
_FILE_MODE: Final = 0o600


def prepare(home: Home, account: Account) -> None:
    """Create the server's folder, mode 0700, and check that the account reaches and owns it.

    Raises ServerFailure that names the folder at fault and proposes MEMORY_HOME; changes nothing
    that existed before, but for an empty folder of root's, which becomes the account's.
    """
    parent = home.path.parent
    _make_parents(parent.parent)
    if make_folder(parent, account) or (account.drop and _is_empty_of_root(parent)):
        os.chown(parent, account.uid, account.gid)
    if account.drop:
        _check_reachable(parent, account)
    make_folder(home.path, account)
    entry = home.path.stat()
    if entry.st_uid == 0 and account.drop and not any(home.path.iterdir()):
        os.chown(home.path, account.uid, account.gid)  # a start was killed right after mkdir
        entry = home.path.stat()
    if entry.st_uid != account.uid:
        raise home.refused(PermissionError(0, "owned by another account", str(home.path)))
    if entry.st_mode & 0o077:
        home.path.chmod(_FOLDER_MODE)


def make_folder(path: Path, account: Account) -> bool:
    """Create a folder of the account's own, mode 0700; False when it exists."""
    try:
        path.mkdir(mode=_FOLDER_MODE)
    except FileExistsError:
        return False
    if account.drop:
        os.chown(path, account.uid, account.gid, follow_symlinks=False)
    return True


def write(path: Path, text: str, account: Account) -> None:
    """Write a whole file of the account's own, mode 0600, or leave the old one as it was.

    A new file is renamed over the old one: a reader never sees half, and a link planted under the
    name is replaced, not followed.
    """
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        with open(os.open(draft, flags, _FILE_MODE), "w", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor
            if account.drop:
                os.fchown(file.fileno(), account.uid, account.gid)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            draft.unlink()
        raise


def _make_parents(path: Path) -> None:
    path.mkdir(parents=True, exist_ok=True)


def _is_empty_of_root(path: Path) -> bool:
    return path.stat().st_uid == 0 and not any(path.iterdir())


def _check_reachable(path: Path, account: Account) -> None:
    """Ask the kernel, as the account, so that access lists and mounts count too."""
    if command.may_enter(path, account):
        return
    for folder in (*reversed(path.parents), path):
        if not command.may_enter(folder, account):
            raise ServerFailure(
                f"PostgreSQL cannot run as root and runs as the account {account.name}, which may "
                f"not enter {folder}. Set MEMORY_HOME to a folder it can reach, for example "
                f"/var/lib/{SERVICE_ACCOUNT}.",
                code="not_reachable",
                details={"path": str(folder), "account": account.name},
            )
