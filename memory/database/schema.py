"""The schema's life: what stands in the database, and bringing it up."""

import asyncio
import threading
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.pool import NullPool

from memory import log
from memory.database.address import owner_address, search_path
from memory.database.sqlstate import translated
from memory.errors import SchemaMismatch
from memory.settings import Settings

__all__ = [
    "Plan",
    "SchemaStatus",
    "Step",
    "alembic_config",
    "init_schema",
    "owner_engine",
    "schema_status",
    "upgrade_plan",
]

_PACKAGE = Path(__file__).resolve().parent.parent
_PACKAGED = _PACKAGE / "migrations"  # setup.py puts them there
_SOURCE = _PACKAGE.parent / "alembic"
_USUAL_LEDGER = "public"  # PostgreSQL makes this schema itself
_MIGRATING = threading.Lock()  # Alembic keeps what it runs in globals of the whole process
_log = log.get(__name__)


class SchemaStatus(StrEnum):
    """How the database's schema compares with this program's."""

    CURRENT = "current"
    EMPTY = "empty"
    OLDER = "older"
    NEWER = "newer"


def alembic_config(settings: Settings) -> Config:
    """Return Alembic's configuration with our settings in it."""
    config = Config()  # alembic.ini is for its own program, and not installed
    folder = _PACKAGED if _PACKAGED.is_dir() else _SOURCE
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["settings"] = settings
    return config


def _revision(settings: Settings) -> str | None:
    with translated(settings, is_owner=True), owner_engine(settings).connect() as connection:
        table = f'"{settings.ledger}".alembic_version'
        found = connection.scalar(text("SELECT to_regclass(:name)::text"), {"name": table})
        if not found:
            return None
        revision: str | None = connection.scalar(text(f"SELECT version_num FROM {table}"))  # noqa: S608 - a checked schema name
    return revision


def _compared(settings: Settings, revision: str | None) -> SchemaStatus:
    if revision is None:
        return SchemaStatus.EMPTY
    script = ScriptDirectory.from_config(alembic_config(settings))
    known = {each.revision for each in script.walk_revisions()}
    if revision not in known:
        return SchemaStatus.NEWER
    return SchemaStatus.CURRENT if revision in script.get_heads() else SchemaStatus.OLDER


def _status(settings: Settings) -> SchemaStatus:
    return _compared(settings, _revision(settings))


async def schema_status(settings: Settings) -> SchemaStatus:
    """Return how the database's schema compares with this program's."""
    return await asyncio.to_thread(_status, settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One migration of a plan: the revision that it leads to, and what it does."""

    revision: str
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What an upgrade would do; ``revision`` is where the ledger stands, empty without schema."""

    status: SchemaStatus
    revision: str
    steps: tuple[Step, ...]


async def upgrade_plan(settings: Settings) -> Plan:
    """Return how the schema stands, and the migrations that lead to this program's, in order."""
    return await asyncio.to_thread(_plan, settings)


def _plan(settings: Settings) -> Plan:
    revision = _revision(settings)
    status = _compared(settings, revision)
    steps: list[Step] = []
    if status in {SchemaStatus.EMPTY, SchemaStatus.OLDER}:
        script = ScriptDirectory.from_config(alembic_config(settings))
        for each in script.iterate_revisions("head", revision or "base"):
            about = (each.doc or "").strip().partition("\n")[0]
            steps.insert(0, Step(revision=each.revision, about=about))
    return Plan(status=status, revision=revision or "", steps=tuple(steps))


async def init_schema(settings: Settings, *, upgrade: bool = False) -> SchemaStatus:
    """Build the schema in an empty database; return what stood there before.

    Does nothing when the schema is current. Many processes may call it at once: the migrations
    run under a lock. A ledger that was restored into another server begins a new epoch here.
    Raises SchemaMismatch (``schema_outdated``, ``schema_newer``) when an older ledger is met
    without ``upgrade``, or a newer one.
    """
    return await asyncio.to_thread(_init_schema, settings, upgrade=upgrade)


def _init_schema(settings: Settings, *, upgrade: bool) -> SchemaStatus:
    status = _status(settings)
    if status is SchemaStatus.NEWER:
        raise SchemaMismatch(
            "This ledger was written by a newer version of Shared Memory; update the program.",
            code="schema_newer",
        )
    if status is SchemaStatus.OLDER and not upgrade:
        raise SchemaMismatch(
            "This ledger has an older schema, which is not changed in passing: run `memory upgrade`,"
            " which shows what it does and takes a dump first. Other windows go on afterwards.",
            code="schema_outdated",
        )
    with translated(settings, is_owner=True):
        if status is not SchemaStatus.CURRENT:
            with _MIGRATING:
                command.upgrade(alembic_config(settings), "head")
            if status is SchemaStatus.EMPTY and settings.ledger != _USUAL_LEDGER:
                _log.warning(
                    "There was no ledger %r, so a new one was made; is MEMORY_LEDGER right?",
                    settings.ledger,
                )
        _begin_epoch(settings)
    return status


def _begin_epoch(settings: Settings) -> None:
    """Begin a new epoch when the ledger was restored into a server with numbers of its own."""
    with owner_engine(settings).begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtextextended('epoch', 0))"))
        here = connection.scalar(text("SELECT system_identifier FROM pg_control_system()"))
        newest = connection.execute(
            text("SELECT epoch, system_identifier FROM epochs ORDER BY epoch DESC LIMIT 1")
        ).one()
        if newest.system_identifier == here:
            return
        epoch = newest.epoch + 1
        connection.execute(
            text("INSERT INTO epochs (epoch, system_identifier) VALUES (:epoch, :here)"),
            {"epoch": epoch, "here": here},
        )
        connection.execute(text(f"ALTER TABLE entries ALTER COLUMN epoch SET DEFAULT {epoch:d}"))


def owner_engine(settings: Settings) -> Engine:
    """Return an engine for the role that may change the schema, with the ledger's search path."""
    url, arguments = owner_address(settings).pg8000
    engine = create_engine(url, poolclass=NullPool, connect_args=arguments)

    @event.listens_for(engine, "connect")
    def choose_ledger(connection: Any, _record: object) -> None:
        cursor = connection.cursor()
        cursor.execute(f"SET search_path TO {search_path(settings)}")
        connection.commit()

    return engine
