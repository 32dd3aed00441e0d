"""The tables of search, all of which can be rebuilt from the entries."""

import uuid
from datetime import datetime
from typing import Any, Final

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import (
    ARRAY,
    BigInteger,
    CheckConstraint,
    Identity,
    Index,
    Integer,
    LargeBinary,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from memory.models import NOW, SORTED, Base, TransactionNumber

__all__ = [
    "VECTOR_DIMENSIONS",
    "Search",
    "SearchPosting",
    "SearchProgress",
    "SearchSegment",
    "Vector",
]

VECTOR_DIMENSIONS: Final = 384


class Search(Base):
    """Projection: an entry's number in the index, and what a search reads of it first."""

    __tablename__ = "search"
    __table_args__ = (UniqueConstraint("generation", "entry_id"),)

    generation: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    ordinal: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    entry_id: Mapped[uuid.UUID] = mapped_column()
    occurred_at: Mapped[datetime] = mapped_column()
    said: Mapped[int] = mapped_column(BigInteger)
    length: Mapped[int] = mapped_column(Integer)
    labels: Mapped[str] = mapped_column(Text)


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
    changed_at: Mapped[datetime] = mapped_column(server_default=NOW)
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
    spoken: Mapped[bytes] = mapped_column(LargeBinary)


class SearchPosting(Base):
    """Projection: some terms of one segment with their postings; see `memory.search.pages`."""

    __tablename__ = "search_postings"

    segment: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    first: Mapped[str] = mapped_column(SORTED, primary_key=True)
    terms: Mapped[str] = mapped_column(Text)
    sizes: Mapped[list[int]] = mapped_column(ARRAY(Integer))
    places: Mapped[bytes] = mapped_column(LargeBinary)
    counts: Mapped[bytes] = mapped_column(LargeBinary)
    positions: Mapped[bytes] = mapped_column(LargeBinary)


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
