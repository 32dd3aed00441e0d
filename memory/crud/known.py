"""What the ledger already has of a batch, and how its new entries continue that."""

import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Final, cast

from sqlalchemy import Table, select
from sqlalchemy.ext.asyncio import AsyncSession
from uuid_utils.compat import uuid7

from memory.crud.belonging import belong, sessions_of
from memory.crud.heads import HeadKey, of_keys
from memory.crud.prepare import Prepared
from memory.database.statements import rows_of, to_json
from memory.drafts import canonical_client, client_names
from memory.models import Entry, Head

__all__ = ["LOOKUPS", "Known", "KnownEntries"]

# Each pair is looked up by itself: of two lists the planner would take the session alone and read
# all of it. The order keeps it to the index that ends with the version also while there is so
# little that any would do, because it stays with a plan for long.
_PAIRS: Final = """
    SELECT found.*
    FROM unnest($1::{type}[], $2::text[]) AS wanted (scope, source_id)
    CROSS JOIN LATERAL (
        SELECT id, session_id, version, content_hash, source_client, provider, source_id
        FROM entries
        WHERE entries.{scope} = wanted.scope AND entries.source_id = wanted.source_id
        ORDER BY version
    ) AS found
"""
_IN_SESSION: Final = _PAIRS.format(type="uuid", scope="session_id")
_IN_PROVIDER: Final = _PAIRS.format(type="text", scope="provider")
_WITH_SESSIONS: Final = """
    SELECT found.*, sessions.id AS its_id, sessions.project_id AS its_project,
        sessions.provider AS its_provider
    FROM unnest($1::uuid[], $2::text[]) AS wanted (session_id, source_id)
    JOIN sessions ON sessions.id = wanted.session_id
    LEFT JOIN LATERAL (
        SELECT id, session_id, version, content_hash, source_client, provider, source_id
        FROM entries
        WHERE entries.session_id = wanted.session_id AND entries.source_id = wanted.source_id
        ORDER BY version
    ) AS found ON true
"""

LOOKUPS: Final = (
    (_IN_SESSION, "uq_entries_session_id_source_id_version"),
    (_WITH_SESSIONS, "uq_entries_session_id_source_id_version"),
    (_IN_PROVIDER, "ix_entries_provider_source_id"),
)
"""What is asked for every batch, and the index that has to answer it."""

# The tables themselves: the ORM's bookkeeping would cost more than the query.
_ENTRIES: Final = cast("Table", Entry.__table__)
_HEADS: Final = cast("Table", Head.__table__)

Identity = tuple[uuid.UUID | str | None, str]  # session or provider, and the source id


@dataclass(frozen=True, slots=True)
class Known:
    """An entry that is in the ledger, or will be by the end of this batch."""

    id: uuid.UUID
    session_id: uuid.UUID | None
    version: int
    content_hash: bytes
    source_client: str


@dataclass(slots=True)
class KnownEntries:
    """Every version of the batch's identities, oldest first, and the heads of its keys."""

    imported: bool
    versions: dict[Identity, list[Known]] = field(default_factory=lambda: defaultdict(list))
    heads: dict[HeadKey, Known] = field(default_factory=dict)

    @classmethod
    async def read(
        cls, session: AsyncSession, batch: Sequence[Prepared], *, imported: bool
    ) -> "KnownEntries":
        """Look up the identities and keys of a batch, one statement each."""
        known = cls(imported=imported)
        await known._read_versions(session, batch)
        await known._read_heads(session, batch)
        return known

    @classmethod
    async def read_with_sessions(
        cls, session: AsyncSession, batch: Sequence[Prepared]
    ) -> "KnownEntries":
        """Look up what a tool's drafts without keys are versions of, and their sessions with it.

        One statement; each draft has its session's project and provider then (see `complete`).
        Raises NotFound for an unknown session.
        """
        known = cls(imported=False)
        rows: Sequence[Any] = []
        if sessions_of(batch):
            rows = await rows_of(session, _WITH_SESSIONS, *_pairs(batch))
        belong(batch, {row["its_id"]: (row["its_project"], row["its_provider"]) for row in rows})
        known._keep({row["id"]: row for row in rows if row["id"]}, batch)
        return known

    def find(self, each: Prepared) -> Known | None:
        """Return the entry that already says what this draft says."""
        identity = self._identity(each)
        if identity is not None:
            for version in self.versions.get(identity, ()):
                if version.content_hash == each.content_hash:
                    return version
        head = self.heads.get(each.head_key) if each.head_key else None
        if head is not None and head.content_hash == each.content_hash:
            same_writer = head.source_client == each.draft.source_client
            return head if self.imported or same_writer else None
        return None

    def newest(self, each: Prepared) -> Known | None:
        """Return the version that a new entry for this draft would supersede."""
        if each.head_key is not None:
            return self.heads.get(each.head_key)
        identity = self._identity(each)
        versions = self.versions.get(identity) if identity is not None else None
        return versions[-1] if versions else None

    def add(self, each: Prepared) -> dict[str, Any]:
        """Return the row of a new entry, and know it from now on."""
        draft, previous = each.draft, self.newest(each)
        row: dict[str, Any] = {
            "id": uuid7(),
            "kind": str(draft.kind),
            "project_id": each.project_id,
            "session_id": draft.session_id,
            "source_client": draft.source_client,
            "provider": draft.provider or draft.source_client,
            "machine": draft.machine,
            "source_id": draft.source_id,
            "version": previous.version + 1 if previous else 1,
            "role": draft.role,
            "position": draft.position,
            "key": draft.key,
            "content": draft.content,
            "payload": None if draft.payload is None else to_json(draft.payload),
            "origin": None if draft.origin is None else to_json(draft.origin),
            "content_hash": each.content_hash,
            "occurred_at": each.occurred_at,
            "supersedes": previous.id if previous else None,
        }
        known = Known(
            row["id"], draft.session_id, row["version"], each.content_hash, draft.source_client
        )
        identity = self._identity(each)
        if identity is not None:
            self.versions[identity].append(known)
        if each.head_key is not None:
            self.heads[each.head_key] = known
        return row

    def _identity(self, each: Prepared) -> Identity | None:
        source_id = each.draft.source_id
        return None if source_id is None else (self._scope(each), source_id)

    def _scope(self, each: Prepared) -> uuid.UUID | str | None:
        return canonical_client(each.draft.provider) if self.imported else each.draft.session_id

    async def _read_versions(self, session: AsyncSession, batch: Sequence[Prepared]) -> None:
        """Read what stands under the batch's source ids.

        An imported message may stand in another session, under its provider, or in its own, put
        there by a tool that named another provider.
        """
        wanted = [each for each in batch if each.draft.source_id is not None]
        if not wanted:
            return
        rows = {row["id"]: row for row in await rows_of(session, _IN_SESSION, *_pairs(wanted))}
        if self.imported:
            pairs = {
                (name, each.draft.source_id)
                for each in wanted
                for name in client_names(each.draft.provider)
            }
            elsewhere = await rows_of(session, _IN_PROVIDER, *map(list, zip(*pairs, strict=True)))
            rows |= {row["id"]: row for row in elsewhere}
        self._keep(rows, wanted)

    def _keep(self, rows: Mapping[uuid.UUID, Any], wanted: Sequence[Prepared]) -> None:
        """Remember what was found for these drafts, oldest versions first."""
        scopes = {each.draft.session_id: self._scope(each) for each in wanted}
        for row in sorted(rows.values(), key=itemgetter("version")):
            scope = scopes.get(row["session_id"]) or canonical_client(row["provider"])
            self.versions[scope, row["source_id"]].append(Known(*row[:5]))

    async def _read_heads(self, session: AsyncSession, batch: Sequence[Prepared]) -> None:
        keys = {each.head_key for each in batch if each.head_key is not None}
        if not keys:
            return
        rows = await session.execute(
            select(
                _ENTRIES.c.id,
                _ENTRIES.c.session_id,
                _ENTRIES.c.version,
                _ENTRIES.c.content_hash,
                _ENTRIES.c.source_client,
                _HEADS.c.project_id,
                _HEADS.c.kind,
                _HEADS.c.key,
            )
            .join_from(_HEADS, _ENTRIES, _ENTRIES.c.id == _HEADS.c.entry_id)
            .where(of_keys(keys))
        )
        for row in rows:
            self.heads[row.project_id, row.kind, row.key] = Known(*row[:5])


def _pairs(drafts: Sequence[Prepared]) -> tuple[list[uuid.UUID | None], list[str | None]]:
    return [each.draft.session_id for each in drafts], [each.draft.source_id for each in drafts]
