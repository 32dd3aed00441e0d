"""Drafts: what a writer wants appended, before the ledger has it.

Everything here is pure: no database, no clock. Identities that two writers must agree on (of a
session, of a project) are computed from names, so that neither has to ask the other.
"""

import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

from memory.workplace import Workplace

__all__ = [
    "CLIENTS",
    "HARNESS_ROLES",
    "KEYED",
    "MEMORY_CALL",
    "MEMORY_RESULT",
    "OWN_KINDS",
    "STATE_KEY",
    "Draft",
    "Kind",
    "SessionDraft",
    "canonical_client",
    "client_names",
    "content_hash",
    "project_id_of",
    "session_attribute",
    "session_id_of",
    "spelled",
]

_NAMESPACE: Final = uuid.UUID("6b2c1c1e-6f0e-5d3c-9a44-0f6b8f3f2d10")

# Each client under the short name that people type, with the names that its MCP handshake and its
# users give it (clientInfo.name was read from the clients themselves).
CLIENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "claude": ("claude", "claude-code"),
    "codex": ("codex", "codex-mcp-client"),
    "opencode": ("opencode",),
    "pi": ("pi",),
}

STATE_KEY: Final = "state"
_HASHED: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str)
_NAMES: Final = 1024  # remembered: every draft of a batch asks for the same few

MEMORY_CALL: Final = "memory_call"
MEMORY_RESULT: Final = "memory_result"
HARNESS_ROLES: Final = ("system", MEMORY_CALL, MEMORY_RESULT)
"""Roles of what neither a person nor a model said: left out unless asked for."""


class Kind(StrEnum):
    """What an entry is."""

    MESSAGE = "message"
    FACT = "fact"
    DECISION = "decision"
    PREFERENCE = "preference"
    EVENT = "event"
    PROJECT_STATE = "project_state"
    SESSION = "session"  # an attribute of a session that became known later: title, fork, model
    BINDING = "binding"  # a remote, root or directory that belongs to a project
    MACHINE = "machine"  # what people call a machine


KEYED: Final = frozenset(
    {
        Kind.FACT,
        Kind.DECISION,
        Kind.PREFERENCE,
        Kind.PROJECT_STATE,
        Kind.SESSION,
        Kind.BINDING,
        Kind.MACHINE,
    }
)

OWN_KINDS: Final = (Kind.SESSION, Kind.BINDING, Kind.MACHINE)
"""The ledger's own book-keeping: left out unless asked for."""


@lru_cache(maxsize=_NAMES)
def canonical_client(name: str) -> str:
    """Return the short name of a client: ``claude-code`` is ``claude``; others stay as they are."""
    stored = spelled(name)
    return next((short for short, names in CLIENTS.items() if stored in names), stored)


@lru_cache(maxsize=_NAMES)
def spelled(name: str) -> str:
    """Return a client's name as it is stored: those of the known clients in lower case."""
    name = name.strip()
    return name.lower() if any(name.lower() in names for names in CLIENTS.values()) else name


def client_names(name: str) -> tuple[str, ...]:
    """Return every name under which this client may have written, for filters."""
    return tuple(dict.fromkeys((*CLIENTS.get(canonical_client(name), ()), spelled(name))))


@lru_cache(maxsize=_NAMES)
def session_id_of(provider: str, source_session_id: str) -> uuid.UUID:
    """Return the ledger's id of a client's session: the same on every machine and in every ledger."""
    return uuid.uuid5(_NAMESPACE, f"session\n{canonical_client(provider)}\n{source_session_id}")


def project_id_of(name: str) -> uuid.UUID:
    """Return the ledger's id of the project with this name; letter case is ignored."""
    return uuid.uuid5(_NAMESPACE, f"project\n{name.strip().casefold()}")


def session_attribute(session_id: uuid.UUID, attribute: str) -> str:
    """Return the key under which an attribute of a session is superseded."""
    return f"{session_id}/{attribute}"


def content_hash(*parts: object) -> bytes:
    """Return the sha-256 of JSON-safe values, with object keys sorted."""
    return hashlib.sha256(_HASHED.encode(parts).encode()).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDraft:
    """A session as its client knows it.

    The project follows from ``workplace`` when ``project_id`` is not given; that is what the client
    recorded of ``directory``, its working directory, and what the disk adds. ``parent`` is the
    client's id of the session that started this one.
    """

    provider: str
    source_session_id: str
    source_client: str
    machine: str = ""
    title: str | None = None
    project_id: uuid.UUID | None = None
    directory: str | None = None
    workplace: Workplace | None = None
    parent: str | None = None
    started_at: datetime | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> uuid.UUID:
        """The ledger's id of this session."""
        return session_id_of(self.provider, self.source_session_id)

    @property
    def place(self) -> Workplace | None:
        """Where it works: ``workplace``, else the directory alone; None when neither is known."""
        if self.workplace is not None or not self.directory:
            return self.workplace
        return Workplace(directory=self.directory)

    @property
    def parent_id(self) -> uuid.UUID | None:
        """The ledger's id of the session that started this one."""
        return session_id_of(self.provider, self.parent) if self.parent else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One entry to be appended.

    ``fingerprint`` replaces the content hash where a client copies a message with other times or
    token counts, so that the copy is still known as the same.
    """

    kind: Kind
    content: str
    source_client: str
    provider: str = ""
    machine: str = ""
    session_id: uuid.UUID | None = None
    project_id: uuid.UUID | None = None
    source_id: str | None = None
    role: str | None = None
    position: int | None = None
    key: str | None = None
    payload: Mapping[str, Any] | None = None
    origin: Mapping[str, Any] | None = None
    occurred_at: datetime | None = None
    fingerprint: bytes | None = None

    @property
    def content_hash(self) -> bytes:
        """The 32 bytes that tell a repeat from a change."""
        if self.fingerprint is not None:
            return self.fingerprint
        at = self.occurred_at.astimezone(UTC).isoformat() if self.occurred_at else None
        return content_hash(self.kind, self.role, self.key, self.content, self.payload, at)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        """Hand a draft to another process as the tuple of its values: at a fifth of the price."""
        return _draft_of, _VALUES_OF(self)

    def redrafted(
        self,
        *,
        content: str,
        payload: Mapping[str, Any] | None,
        machine: str,
        fingerprint: bytes,
    ) -> "Draft":
        """Return what `dataclasses.replace` does, which every draft of an import waits for."""
        return _draft_of(
            self.kind,
            content,
            self.source_client,
            self.provider,
            machine,
            self.session_id,
            self.project_id,
            self.source_id,
            self.role,
            self.position,
            self.key,
            payload,
            self.origin,
            self.occurred_at,
            fingerprint,
        )


_FIELDS: Final = tuple(each.name for each in fields(Draft))
_VALUES_OF: Final = attrgetter(*_FIELDS)
_SETTERS: Final = tuple(getattr(Draft, name).__set__ for name in _FIELDS)


def _draft_of(*values: Any) -> Draft:
    """Return the draft of these values, in the order of its fields."""
    draft: Draft = object.__new__(Draft)
    for give, value in zip(_SETTERS, values, strict=True):
        give(draft, value)
    return draft
