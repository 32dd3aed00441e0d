"""A dump of the ledger, taken before its schema is changed.

By PostgreSQL's own pg_dump, in its custom format, with the extension, so that `pg_restore` builds
the ledger again in an empty database.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sqlalchemy import text

from memory.database.address import Address, owner_address
from memory.database.schema import owner_engine
from memory.database.sqlstate import translated
from memory.errors import LedgerError
from memory.postgres import binaries
from memory.settings import Settings

__all__ = ["FOLDER", "take_dump"]

FOLDER: Final = "dumps"  # in MEMORY_HOME

_VERSION_SECONDS: Final = 30
_INSTEAD: Final = (
    "Nothing was changed. Install PostgreSQL's client programs, or, if you have a backup, run"
    " `memory upgrade --no-dump`."
)


def take_dump(settings: Settings, *, revision: str) -> Path:
    """Write a dump of the ledger into MEMORY_HOME and return its path; readable for this user alone.

    ``revision`` is the schema's and part of the name. Raises LedgerError (``no_dump``) when there
    is no pg_dump as new as the server, or when it fails; then no file is left.
    """
    address = owner_address(settings)
    program = _program(settings, _server_major(settings))
    folder = settings.home / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    target = folder / f"{settings.ledger}-{revision}-{moment}.dump"
    draft = target.with_suffix(".tmp")
    try:
        draft.touch(mode=0o600, exist_ok=False)
        _run(
            [
                program,
                "--format=custom",
                f"--file={draft}",
                f"--schema={settings.ledger}",
                "--extension=vector",
                "--no-password",
                *_target(address),
            ],
            _environment(address),
        )
        _run([program.with_name("pg_restore"), "--list", str(draft)], _environment(address))
        draft.rename(target)
    finally:
        draft.unlink(missing_ok=True)
    return target


def _server_major(settings: Settings) -> int:
    with translated(settings, is_owner=True), owner_engine(settings).connect() as connection:
        number = connection.scalar(text("SELECT current_setting('server_version_num')::int"))
    return int(number or 0) // 10_000


def _program(settings: Settings, major: int) -> Path:
    """Return the first pg_dump, with a pg_restore beside it, that is as new as the server."""
    seen: list[str] = []
    for folder in _folders(settings):
        found = [folder / name for name in ("pg_dump", "pg_restore")]
        if not all(os.access(each, os.X_OK) for each in found):
            continue
        version = _major_of(found[0])
        if version >= major:
            return found[0]
        seen.append(f"{found[0]} is of {version}")
    said = f"; {', '.join(seen)}" if seen else ""
    raise LedgerError(
        f"No dump can be taken: there is no pg_dump for PostgreSQL {major}{said}. {_INSTEAD}",
        code="no_dump",
    )


def _folders(settings: Settings) -> Iterator[Path]:
    """Yield where pg_dump is looked for: the embedded server's own, or the one on PATH, first."""
    if settings.pg_bin:
        yield Path(settings.pg_bin).expanduser()
    packaged = binaries.package_folder()
    on_path = [Path(found).parent] if (found := shutil.which("pg_dump")) else []
    own = [packaged] if packaged else []
    yield from [*on_path, *own] if settings.database_url else [*own, *on_path]


def _major_of(program: Path) -> int:
    try:
        said = subprocess.run(  # noqa: S603 - the program that the user or the package names
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_VERSION_SECONDS,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return 0
    number = re.search(r"\d+", said.partition("(PostgreSQL)")[2])
    return int(number[0]) if number else 0


def _run(program: list[str | Path], environment: Mapping[str, str]) -> None:
    """Run a program; raises LedgerError with the last line of its complaint."""
    try:
        done = subprocess.run(  # noqa: S603 - found by _program
            program,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            env=dict(environment),
            check=False,
        )
    except OSError as error:
        said = str(error)
    else:
        if done.returncode == 0:
            return
        said = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
    raise LedgerError(f"No dump was taken: {said}. {_INSTEAD}", code="no_dump")


def _target(address: Address) -> list[str]:
    url = address.url
    host = address.socket_folder or url.host or "localhost"
    return [
        f"--host={host}",
        f"--port={url.port or 5432}",
        *([f"--username={url.username}"] if url.username else []),
        f"--dbname={url.database or url.username or 'postgres'}",
    ]


def _environment(address: Address) -> dict[str, str]:
    """Return what pg_dump is told; the password stands in no list of processes."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    told = {
        "PGPASSWORD": str(address.url.password or ""),
        "PGSSLMODE": address.ssl_mode,
        "PGSSLROOTCERT": address.ssl_root,
        "PGAPPNAME": "shared-memory dump",
    }
    return kept | {name: value for name, value in told.items() if value}
