"""The tables, defined once; migrations build them and a test proves that both agree.

``entries`` is the ledger. ``projects`` and ``sessions`` are identity rows, inserted once.
``heads``, ``search`` with what begins with its name, and ``vectors`` are projections that can be
rebuilt.
"""

import uuid
from datetime import datetime
from typing import Any, Final

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    DateTime,
    ForeignKey,
    Identity,
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
    "REVISION",
    "VECTOR_DIMENSIONS",
    "Base",
    "Checkpoint",
    "Entry",
    "Epoch",
    "Head",
    "Project",
    "Search",
    "SearchPosting",
    "SearchProgress",
    "SearchSegment",
    "Session",
    "TransactionNumber",
    "Vector",
]

REVISION: Final = "2026_11_29_segments"  # the newest migration, which these tables equal
VECTOR_DIMENSIONS: Final = 384

_KINDS: Final = ", ".join(f"'{kind}'" for kind in Kind)
_NOW: Final = text("clock_timestamp()")
_SORTED: Final = Text(collation="C")  # the same order everywhere, so that a prefix is a range


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
    recorded_at: Mapped[datetime] = mapped_column(server_default=_NOW)


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
    recorded_at: Mapped[datetime] = mapped_column(server_default=_NOW)


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
    key: Mapped[str | None] = mapped_column(_SORTED)
    content: Mapped[str]
    payload: Mapped[dict[str, Any] | None]
    origin: Mapped[dict[str, Any] | None]
    content_hash: Mapped[bytes]
    occurred_at: Mapped[datetime]
    recorded_at: Mapped[datetime] = mapped_column(server_default=_NOW)
    supersedes: Mapped[uuid.UUID | None] = mapped_column(ForeignKey("entries.id"))
    epoch: Mapped[int] = mapped_column(Integer, server_default=text("1"))
    xid: Mapped[int] = mapped_column(TransactionNumber, server_default=text("pg_current_xact_id()"))
    seq: Mapped[int] = mapped_column(BigInteger, server_default=text("nextval('entries_seq')"))


class Epoch(Base):
    """One server that this ledger has lived on; a restore into another one begins an epoch."""

    __tablename__ = "epochs"

    epoch: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    system_identifier: Mapped[int] = mapped_column(BigInteger)
    recorded_at: Mapped[datetime] = mapped_column(server_default=_NOW)


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
    key: Mapped[str] = mapped_column(_SORTED)
    version: Mapped[int] = mapped_column(Integer)


class Checkpoint(Base):
    """How far an importer has read one file or database of a client on one machine."""

    __tablename__ = "checkpoints"

    provider: Mapped[str] = mapped_column(primary_key=True)
    machine: Mapped[str] = mapped_column(primary_key=True)
    path: Mapped[str] = mapped_column(primary_key=True)
    state: Mapped[dict[str, Any]]
    recorded_at: Mapped[datetime] = mapped_column(server_default=_NOW)


class Search(Base):
    """Projection: an entry's number in the index, and where its words stand."""

    __tablename__ = "search"
    __table_args__ = (UniqueConstraint("generation", "entry_id"),)

    generation: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    ordinal: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    entry_id: Mapped[uuid.UUID] = mapped_column()
    length: Mapped[int] = mapped_column(Integer)
    labels: Mapped[str] = mapped_column(Text)
    lexemes: Mapped[str] = mapped_column(Text)
    ends: Mapped[bytes] = mapped_column(LargeBinary)
    positions: Mapped[bytes] = mapped_column(LargeBinary)


class SearchProgress(Base):
    """Projection: a generation of the index, its place in the feed, and its totals.

    The ``live`` one answers; one that is ``building`` takes its place when it has caught up; what
    is ``retired`` is on its way out.
    """

    __tablename__ = "search_progress"
    __table_args__ = (
        CheckConstraint("state IN ('live', 'building', 'retired')", name="state"),
        Index(
            "uq_search_progress_live",
            "state",
            unique=True,
            postgresql_where=text("state <> 'retired'"),
        ),
    )

    generation: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    state: Mapped[str] = mapped_column(Text)
    changed_at: Mapped[datetime] = mapped_column(server_default=_NOW)
    epoch: Mapped[int] = mapped_column(Integer)
    xid: Mapped[int] = mapped_column(TransactionNumber)
    seq: Mapped[int] = mapped_column(BigInteger)
    entries: Mapped[int] = mapped_column(BigInteger)
    total_length: Mapped[int] = mapped_column(BigInteger)
    rules: Mapped[int] = mapped_column(Integer)


class SearchSegment(Base):
    """Projection: a run of the index's entries; its columns are arrays of numbers.

    ``stamp`` tells a segment from every other, so that a program may remember its columns.
    """

    __tablename__ = "search_segments"

    id: Mapped[int] = mapped_column(Integer, Identity(always=True), primary_key=True)
    generation: Mapped[int] = mapped_column(Integer)
    first: Mapped[int] = mapped_column(Integer)
    entries: Mapped[int] = mapped_column(Integer)
    stamp: Mapped[uuid.UUID] = mapped_column(server_default=text("gen_random_uuid()"))
    lengths: Mapped[bytes] = mapped_column(LargeBinary)
    weights: Mapped[bytes] = mapped_column(LargeBinary)
    times: Mapped[bytes] = mapped_column(LargeBinary)
    sessions: Mapped[bytes] = mapped_column(LargeBinary)


class SearchPosting(Base):
    """Projection: the entries of one segment that hold a term."""

    __tablename__ = "search_postings"

    term: Mapped[str] = mapped_column(_SORTED, primary_key=True)
    segment: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False, index=True)
    places: Mapped[bytes] = mapped_column(LargeBinary)
    counts: Mapped[bytes] = mapped_column(LargeBinary)


class Vector(Base):
    """Projection: the meaning of an entry, one vector a model."""

    __tablename__ = "vectors"
    __table_args__ = (
        Index(
            "ix_vectors_embedding",
            "embedding",
            postgresql_using="hnsw",
            postgresql_ops={"embedding": "halfvec_cosine_ops"},
        ),
    )

    entry_id: Mapped[uuid.UUID] = mapped_column(primary_key=True)
    model: Mapped[str] = mapped_column(primary_key=True)
    embedding: Mapped[Any] = mapped_column(HALFVEC(VECTOR_DIMENSIONS), nullable=False)
