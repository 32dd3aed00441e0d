"""The tables, defined once; migrations build them and a test proves that both agree.

``entries`` is the ledger. ``projects`` and ``sessions`` are identity rows, inserted once.
``heads`` is a projection that can be rebuilt; those of search stand in `memory.projections`.
"""

import uuid
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.dialects.postgresql.base import ischema_names
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.types import UserDefinedType

from memory.drafts import Kind

__all__ = [
    "NOW",
    "REVISION",
    "SORTED",
    "Base",
    "Checkpoint",
    "Entry",
    "Epoch",
    "Head",
    "Project",
    "Session",
    "TransactionNumber",
]

REVISION: Final = "2026_11_30_term_pages"  # the newest migration, which these tables equal

_KINDS: Final = ", ".join(f"'{kind}'" for kind in Kind)
NOW: Final = text("clock_timestamp()")
SORTED: Final = Text(collation="C")  # the same order everywhere, so that a prefix is a range


class TransactionNumber(UserDefinedType[int]):
    """PostgreSQL's 64-bit transaction number, which never wraps."""

    cache_ok = True
    render_bind_cast = True  # so that a comparison with a whole number finds its operator

    def get_col_spec(self, **_options: object) -> str:
        """Return the type's name in SQL."""
        return "xid8"


ischema_names["xid8"] = (
    TransactionNumber  # so that reflection, and with it `alembic check`, knows the type
)


class Base(DeclarativeBase):
    """The tables of one ledger, that is of one PostgreSQL schema."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy reads this class attribute itself
        str: Text,
        bytes: LargeBinary,
        datetime: DateTime(timezone=True),
        dict[str, Any]: JSONB(none_as_null=True),
        uuid.UUID: Uuid,
    }


class Project(Base):
    """A named body of work; inserted once."""

    __tablename__ = "projects"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    description: Mapped[str | None]
    source_client: Mapped[str]
    recorded_at: Mapped[datetime] = mapped_column(server_default=NOW)


class Session(Base):
    """A client's session; inserted once, later attributes are entries of kind ``session``."""

    __tablename__ = "sessions"
    __table_args__ = (
        UniqueConstraint("provider", "source_session_id"),
        Index(None, "project_id"),
        Index(None, "parent_id"),
    )

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    provider: Mapped[str]
    source_session_id: Mapped[str]
    source_client: Mapped[str]
    machine: Mapped[str]
    project_id: Mapped[uuid.UUID | None] = mapped_column(ForeignKey("projects.id"))
    parent_id: Mapped[uuid.UUID | None]
    title: Mapped[str | None]
    directory: Mapped[str | None]
    payload: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'::jsonb"))
    started_at: Mapped[datetime | None]
    recorded_at: Mapped[datetime] = mapped_column(server_default=NOW)


class Entry(Base):
    """One entry of the ledger; never changed, never removed."""

    __tablename__ = "entries"
    __table_args__ = (
        CheckConstraint(f"kind IN ({_KINDS})", name="kind"),
        CheckConstraint("octet_length(source_id) <= 512", name="source_id"),
        CheckConstraint("octet_length(key) <= 1024", name="key"),
        CheckConstraint("octet_length(content_hash) = 32", name="content_hash"),
        CheckConstraint("isfinite(occurred_at)", name="occurred_at"),
        UniqueConstraint("session_id", "source_id", "version"),
        UniqueConstraint("supersedes"),
        Index(
            "uq_entries_key",
            "project_id",
            "kind",
            "key",
            "version",
            unique=True,
            postgresql_nulls_not_distinct=True,
            postgresql_where=text("key IS NOT NULL"),
        ),
        Index(None, "provider", "source_id"),
        Index(None, "session_id", "position", "occurred_at", "seq"),
        Index(None, "epoch", "xid", "seq"),
        Index(None, "source_client", "epoch", "xid", "seq"),
        Index(None, "project_id", "kind", "recorded_at"),
        Index(None, "recorded_at"),
    )

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    kind: Mapped[str]
    project_id: Mapped[uuid.UUID | None] = mapped_column(ForeignKey("projects.id"))
    session_id: Mapped[uuid.UUID | None] = mapped_column(ForeignKey("sessions.id"))
    source_client: Mapped[str]
    provider: Mapped[str]
    machine: Mapped[str]
    source_id: Mapped[str | None]
    version: Mapped[int] = mapped_column(Integer, server_default=text("1"))
    role: Mapped[str | None]
    position: Mapped[int | None] = mapped_column(BigInteger)
    key: Mapped[str | None] = mapped_column(SORTED)
    content: Mapped[str]
    payload: Mapped[dict[str, Any] | None]
    origin: Mapped[dict[str, Any] | None]
    content_hash: Mapped[bytes]
    occurred_at: Mapped[datetime]
    recorded_at: Mapped[datetime] = mapped_column(server_default=NOW)
    supersedes: Mapped[uuid.UUID | None] = mapped_column(ForeignKey("entries.id"))
    epoch: Mapped[int] = mapped_column(Integer, server_default=text("1"))
    xid: Mapped[int] = mapped_column(TransactionNumber, server_default=text("pg_current_xact_id()"))
    seq: Mapped[int] = mapped_column(BigInteger, server_default=text("nextval('entries_seq')"))


class Epoch(Base):
    """One server that this ledger has lived on; a restore into another one begins an epoch."""

    __tablename__ = "epochs"

    epoch: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    system_identifier: Mapped[int] = mapped_column(BigInteger)
    recorded_at: Mapped[datetime] = mapped_column(server_default=NOW)


class Head(Base):
    """Projection: the newest entry of each (project, kind, key)."""

    __tablename__ = "heads"
    __table_args__ = (
        Index(
            "uq_heads_key",
            "project_id",
            "kind",
            "key",
            unique=True,
            postgresql_nulls_not_distinct=True,
        ),
    )

    entry_id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    project_id: Mapped[uuid.UUID | None]
    kind: Mapped[str]
    key: Mapped[str] = mapped_column(SORTED)
    version: Mapped[int] = mapped_column(Integer)


class Checkpoint(Base):
    """How far an importer has read one file or database of a client on one machine."""

    __tablename__ = "checkpoints"

    provider: Mapped[str] = mapped_column(primary_key=True)
    machine: Mapped[str] = mapped_column(primary_key=True)
    path: Mapped[str] = mapped_column(primary_key=True)
    state: Mapped[dict[str, Any]]
    recorded_at: Mapped[datetime] = mapped_column(server_default=NOW)
