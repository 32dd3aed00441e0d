"""What becomes known of a session later, as drafts: its title, its model, where it came from."""

import hashlib
import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from memory.drafts import Draft, Kind, content_hash, session_attribute, session_id_of

__all__ = ["attribute", "count_value", "digest", "edge", "forked_from"]

_DIGITS: Final = 32


def attribute(
    provider: str,
    session: str,
    name: str,
    value: str,
    *,
    nth: int = 1,
    source_id: str | None = None,
    occurred_at: datetime | None = None,
    payload: Mapping[str, Any] | None = None,
    origin: Mapping[str, Any] | None = None,
) -> Draft:
    """Return the draft of an attribute of the session that the client knows by this id.

    It is identified by its value and by ``nth``, which tells a value that returns from one that
    is read again (see `count_value`); or by ``source_id``, where the client's records have an
    identity that their copies keep.
    """
    return _draft(
        session_id_of(provider, session),
        name,
        value,
        source_client=provider,
        provider=provider,
        source_id=source_id or f"{name}/{session}/{digest(value)}/{nth}",
        occurred_at=occurred_at,
        payload=payload,
        origin=origin,
    )


def edge(name: str, copy: uuid.UUID, owner: uuid.UUID, of: Draft, *, machine: str) -> Draft:
    """Return the edge from a session to the one whose entry it holds a copy of.

    ``of`` is that entry as the copy has it. `forked_from` gives the same where a client's record
    says it.
    """
    return _draft(
        copy,
        name,
        str(owner),
        source_client=of.source_client,
        provider=of.provider,
        machine=machine,
        source_id=_edge_id(name, copy, owner),
        occurred_at=of.occurred_at,
        origin=of.origin,
    )


def forked_from(
    provider: str,
    session: str,
    source: str,
    *,
    occurred_at: datetime | None = None,
    origin: Mapping[str, Any] | None = None,
) -> Draft:
    """Return the edge to the session that this one was forked from, as a record says it."""
    copy, owner = session_id_of(provider, session), session_id_of(provider, source)
    return attribute(
        provider,
        session,
        "forked_from",
        str(owner),
        source_id=_edge_id("forked_from", copy, owner),
        occurred_at=occurred_at,
        origin=origin,
    )


def _draft(session_id: uuid.UUID, name: str, value: str, **fields: Any) -> Draft:
    return Draft(
        kind=Kind.SESSION,
        content=value,
        session_id=session_id,
        key=session_attribute(session_id, name),
        fingerprint=content_hash(name, value),
        **fields,
    )


def _edge_id(name: str, copy: uuid.UUID, owner: uuid.UUID) -> str:
    return f"{name}/{copy}/{owner}"


def count_value(seen: dict[str, Any], value: str) -> int | None:
    """Return how often a value was taken on, this time included; None when it stands already.

    ``seen`` is what this noted before, JSON-safe: hashes alone, for a title may hold a secret.
    """
    now = digest(value)
    if seen.get("last") == now:
        return None
    counts: dict[str, int] = seen.setdefault("counts", {})
    nth = counts[now] = counts.get(now, 0) + 1
    seen["last"] = now
    return nth


def digest(text: str) -> str:
    """Return the 32 hexadecimal digits that stand for a text in an identity or a checkpoint."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:_DIGITS]
