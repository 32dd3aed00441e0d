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

__all__ = ["give", "make_folder", "prepare", "write"]

_FOLDER_MODE: Final = 0o700
_FILE_MODE: Final = 0o600
_PARENT_MODE: Final = 0o755  # root's umask may be tighter, and the account must pass


def prepare(home: Home, account: Account) -> None:
    """Create the server's folder, mode 0700, and check that the account reaches and owns it.

    What existed before is left as it is, but for an empty folder of root's under our own names,
    which becomes the account's. Raises ServerFailure that names the folder at fault.
    """
    parent = home.path.parent
    if parent.exists():
        _adopt(parent, account)
    if account.drop:
        _check_reachable(parent, account)
    _make_parents(parent, account)
    make_folder(parent, account)
    make_folder(home.path, account)
    _adopt(home.path, account)
    entry = home.path.stat()
    if entry.st_uid != account.uid:
        raise home.refused(PermissionError(0, "it belongs to another account", str(home.path)))
    if not home.lock.exists() and any(home.path.iterdir()):
        raise ServerFailure(
            f"{home.path} holds things that are not this program's (there is no "
            f"{home.lock.name}). Set MEMORY_HOME to another folder.",
            code="not_writable",
            details={"path": str(home.path)},
        )
    if entry.st_mode & 0o077:
        home.path.chmod(_FOLDER_MODE)


def make_folder(path: Path, account: Account) -> None:
    """Create a folder of the account's own, mode 0700, unless it exists."""
    try:
        path.mkdir(mode=_FOLDER_MODE)
    except FileExistsError:
        return
    if account.drop:
        os.chown(path, account.uid, account.gid, follow_symlinks=False)


def write(path: Path, text: str, account: Account) -> None:
    """Write a whole file of the account's own, mode 0600, or leave the old one as it was.

    A new file is renamed over the old one: a reader never sees half, and a link planted under the
    name is replaced, not followed.
    """
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(draft, flags, _FILE_MODE), "w", encoding="utf-8") as file:
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


def give(tree: Path, account: Account) -> None:
    """Make the account the owner of a folder that we have just made, and of all in it."""
    if not account.drop:
        return
    for folder, _, files in os.walk(tree):
        for path in (Path(folder), *(Path(folder, file) for file in files)):
            os.chown(path, account.uid, account.gid, follow_symlinks=False)


def _make_parents(path: Path, account: Account) -> None:
    missing = [folder for folder in path.parents if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(exist_ok=True)
        if account.drop:
            folder.chmod(_PARENT_MODE)


def _adopt(path: Path, account: Account) -> None:
    """Give the account a folder that root made for it, or whose maker was killed before."""
    if account.drop and path.stat().st_uid == 0 and not any(path.iterdir()):
        os.chown(path, account.uid, account.gid)


def _check_reachable(path: Path, account: Account) -> None:
    """Raise ServerFailure with the topmost existing folder that the account cannot pass."""
    existing = [folder for folder in (*reversed(path.parents), path) if folder.exists()]
    if command.may_enter(existing[-1], account):
        return
    for folder in existing:
        if not command.may_enter(folder, account):
            raise ServerFailure(
                f"PostgreSQL cannot run as root and runs as the account {account.name}, which may "
                f"not enter {folder}. Set MEMORY_HOME to a folder it can reach, for example "
                f"/var/lib/{SERVICE_ACCOUNT}.",
                code="not_reachable",
                details={"path": str(folder), "account": account.name},
            )
