"""The doctor: each line is something that was really looked at, or tried."""

import asyncio
import platform
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import EntryPoint
from typing import Any, Final

import typer
from rich.text import Text

from memory import postgres
from memory.cli import plugins
from memory.cli.checks import Check
from memory.cli.client_checks import client_checks
from memory.cli.ledger import configured, read
from memory.cli.output import Json, console, one_line, print_json
from memory.cli.skew import skew_checks
from memory.cli.status import version_text
from memory.crud.guard import engine, try_to_change, unguarded_tables
from memory.database import application_address
from memory.database.schema import SchemaStatus, schema_status
from memory.errors import LedgerError
from memory.program import typed
from memory.settings import Settings
from memory.tools.indexing import unindexed

__all__ = ["doctor"]

_OLDEST_PYTHON: Final = (3, 11)
_OLDEST_SERVER: Final = 160_000  # as server_version_num; what is tested begins at 16
_OLDEST_VECTOR: Final = (0, 8)  # hnsw.iterative_scan, without which filtered searches miss rows
_LITTLE_SPACE: Final = 1024**3  # bytes
_MUCH_LAG: Final = 10_000  # entries; more are not searched directly in a moment
_NO_RIGHT: Final = "42501"  # insufficient_privilege


def doctor(*, as_json: Json = False) -> None:
    """Check everything, and say what mends what is broken."""
    checks: list[Check] = []
    for check in _checks(configured()):
        checks.append(check)
        if not as_json:
            _show(check)
    broken = [check for check in checks if not check.ok]
    if as_json:
        print_json({"ok": not broken, "checks": [_facts(check) for check in checks]})
    else:
        said = f"{len(broken)} of {len(checks)} checks failed." if broken else "All is well."
        console().print(Text(said, style="bold red" if broken else "bold green"))
    if broken:
        raise typer.Exit(1)


def _checks(settings: Settings) -> Iterator[Check]:
    yield _python(settings)
    yield _disk(settings)
    for name, look in _IN_ORDER.items():
        check = _attempted(name, look, settings)
        yield check
        if not check.ok and name in _NEEDED:
            break  # nothing that follows could be looked at
    yield from client_checks(settings)
    yield from skew_checks(settings)
    for name, entry_point in plugins.points(plugins.CHECKS).items():
        yield from _added(name, entry_point, settings)


def _attempted(name: str, look: Callable[[Settings], Check], settings: Settings) -> Check:
    """Return the check, or what kept it from being made."""
    try:
        return look(settings)
    except LedgerError as error:
        return Check(name, ok=False, detail=f"failed: {error.code}", remedy=str(error))


def _added(name: str, entry_point: EntryPoint, settings: Settings) -> Iterator[Check]:
    try:
        yield from plugins.named(entry_point)(settings)
    except Exception as error:  # noqa: BLE001 - other packages' code: what it raises is a finding
        detail = f"failed: {getattr(error, 'code', type(error).__name__)}"
        yield Check(name, ok=False, detail=detail, remedy=str(error))


def _python(_settings: Settings) -> Check:
    return Check(
        "python",
        sys.version_info >= _OLDEST_PYTHON,
        f"{platform.python_version()} in {sys.prefix}",
        "Install Python 3.11 or newer, remove .venv and run scripts/up.",
    )


def _disk(settings: Settings) -> Check:
    place = settings.home
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    return Check(
        "disk",
        free >= _LITTLE_SPACE,
        f"{free / 1024**3:.1f} GiB free for {settings.home}",
        "Free some space, or set MEMORY_HOME to a folder on another disk.",
    )


def _database(settings: Settings) -> Check:
    if settings.database_url:
        where = str(application_address(settings))
    else:
        server = postgres.state(settings)
        if server is None:
            detail = f"the embedded server of {settings.home} is not running"
            return Check("database", ok=False, detail=detail, remedy="memory pg start")
        where = f"embedded on {server.host}:{server.port}, process {server.pid}"
    found = read(engine, settings=settings, ensure_schema=False)
    return Check(
        "database",
        found.version >= _OLDEST_SERVER,
        f"{where}, PostgreSQL {version_text(found.version)}, role {found.role}",
        "Use a PostgreSQL 16 or newer, or unset DATABASE_URL for the embedded one.",
    )


def _vector(settings: Settings) -> Check:
    version = read(engine, settings=settings, ensure_schema=False).vector
    numbers = tuple(int(part) for part in (version or "0").split(".")[:2])
    return Check(
        "pgvector",
        numbers >= _OLDEST_VECTOR,
        version or "the extension vector is not there",
        "As a superuser, in this database: CREATE EXTENSION IF NOT EXISTS vector;"
        " ALTER EXTENSION vector UPDATE;",
    )


def _schema(settings: Settings) -> Check:
    found = asyncio.run(schema_status(settings))
    remedy = "memory upgrade" if found is SchemaStatus.OLDER else "memory setup --no-import"
    if found is SchemaStatus.NEWER:
        remedy = "A newer version wrote this ledger: update the program."
    return Check("schema", found is SchemaStatus.CURRENT, f"{settings.ledger}: {found}", remedy)


def _triggers(settings: Settings) -> Check:
    bare = read(unguarded_tables, settings=settings, ensure_schema=False)
    return Check(
        "append-only",
        not bare,
        f"no trigger that fires always on {', '.join(bare)}" if bare else "triggers fire always",
        "Find out who switched them off; then, as the owner: ALTER TABLE … ENABLE ALWAYS TRIGGER"
        " append_only_rows; and the same for append_only_table.",
    )


def _rights(settings: Settings) -> Check:
    answers = read(try_to_change, settings=settings, ensure_schema=False)
    allowed = [name for name, state in answers.items() if not state]
    by_right = all(state == _NO_RIGHT for state in answers.values())
    refused = "this role has no right to" if by_right else "refused by the trigger alone"
    return Check(
        "rights",
        not allowed,
        f"{' and '.join(allowed)} went through" if allowed else f"UPDATE, DELETE: {refused}",
        "Connect as a role that owns nothing (README, Security), and mend the triggers.",
    )


def _index(settings: Settings) -> Check:
    waiting = read(unindexed, settings=settings, ensure_schema=False)
    return Check(
        "index",
        waiting <= _MUCH_LAG,
        f"{waiting:,} entries not indexed yet" if waiting else "every entry is indexed",
        "memory import",
    )


def _show(check: Check) -> None:
    mark = ("✓", "bold green") if check.ok else ("✗", "bold red")
    screen = console()
    screen.print(Text.assemble(mark, f" {check.name:<12} {one_line(check.detail)}"))
    if not check.ok and check.remedy:
        screen.print(Text.assemble(("  → ", "bold"), one_line(typed(check.remedy))))


def _facts(check: Check) -> dict[str, Any]:
    remedy = "" if check.ok else typed(check.remedy)
    return {"name": check.name, "ok": check.ok, "detail": check.detail, "remedy": remedy}


_IN_ORDER: Final[Mapping[str, Callable[[Settings], Check]]] = {
    "database": _database,
    "schema": _schema,
    "pgvector": _vector,
    "append-only": _triggers,
    "rights": _rights,
    "index": _index,
}
_NEEDED: Final = frozenset({"database", "schema"})
