"""Drafts made fit for the database: cleaned, bounded, and refused when they hold a credential."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, Final

from memory import crud_secret, text
from memory.drafts import Draft, spelled
from memory.errors import InvalidInput

__all__ = [
    "EARLIEST",
    "LATEST",
    "MAX_KEY_BYTES",
    "MAX_SOURCE_ID_BYTES",
    "Prepared",
    "clean_name",
    "is_usable",
    "prepare",
]

MAX_SOURCE_ID_BYTES: Final = 512
MAX_KEY_BYTES: Final = 1024
EARLIEST: Final = datetime(1970, 1, 1, tzinfo=UTC)
LATEST: Final = datetime(9000, 1, 1, tzinfo=UTC)
"""Times outside are a client's way to say "none" (year 1, year 9999), and near infinity."""

_NAMES: Final = ("source_client", "provider")
_SHORT_FIELDS: Final = (*_NAMES, "machine", "source_id", "role", "key")
_SHORT_VALUES: Final = attrgetter(*_SHORT_FIELDS)


@dataclass(slots=True)
class Prepared:
    """A draft that the database will take; ``project_id`` may come from its session."""

    draft: Draft
    content_hash: bytes
    occurred_at: datetime
    project_id: uuid.UUID | None

    @property
    def head_key(self) -> tuple[uuid.UUID | None, str, str] | None:
        """What the draft is a version of, or None for kinds that have no head."""
        draft = self.draft
        return (self.project_id, str(draft.kind), draft.key) if draft.key is not None else None


def prepare(drafts: Sequence[Draft], *, imported: bool) -> list[Prepared]:
    """Return the drafts as they will be stored.

    NUL and lone surrogates are replaced visibly and counted in ``payload["replaced_characters"]``.
    Raises Credential (not for imported drafts, which were redacted) and InvalidInput.
    """
    now = datetime.now(UTC)
    return [_prepare(draft, now, imported=imported) for draft in drafts]


def is_usable(moment: datetime) -> bool:
    """Tell whether a time can be stored; one without a zone cannot."""
    return moment.tzinfo is not None and EARLIEST <= moment < LATEST


def clean_name(value: str, *, where: str, most: int) -> str:
    """Return a name, cleaned and stripped.

    Raises Credential, and InvalidInput when it is empty or longer than ``most`` characters.
    """
    name = text.clean(value)[0].strip()
    if not name:
        raise InvalidInput(f"{where} is empty; give it at least one character.")
    if len(name) > most:
        raise InvalidInput(f"{where} takes at most {most} characters.", code="too_large")
    crud_secret.refuse(name, where=where)
    return name


def _prepare(draft: Draft, now: datetime, *, imported: bool) -> Prepared:
    fingerprint = draft.content_hash  # of what the writer gave, so that a repeat is known
    cleaned = _clean(draft)
    _check_bytes("source id", cleaned.source_id, MAX_SOURCE_ID_BYTES)
    _check_bytes("key", cleaned.key, MAX_KEY_BYTES)
    if not imported:
        crud_secret.refuse(cleaned.content, where="content")
        if cleaned.key is not None:  # a key such as DB_PASSWORD makes a secret of its value
            crud_secret.refuse({cleaned.key: cleaned.content}, where="value")
        crud_secret.refuse(cleaned.payload, where="payload")
        for name in _SHORT_FIELDS:
            crud_secret.refuse(getattr(cleaned, name), where=name)
    occurred_at = cleaned.occurred_at
    if occurred_at is not None and not is_usable(occurred_at):
        if not imported:
            raise InvalidInput(
                "This time lies outside the years 1970 to 8999; leave it out if it is unknown.",
                code="bad_timestamp",
            )
        payload = {**(cleaned.payload or {}), "unusable_time": str(occurred_at)}
        cleaned, occurred_at = replace(cleaned, payload=payload), None
    return Prepared(cleaned, fingerprint, occurred_at or now, cleaned.project_id)


def _clean(draft: Draft) -> Draft:
    """Return the draft itself when there is nothing to replace, which is nearly always so."""
    short = _SHORT_VALUES(draft)
    if text.is_storable(draft.content, draft.payload, draft.origin, *short) and all(
        spelled(name) == name for name in short[: len(_NAMES)]
    ):
        return draft
    changes: dict[str, Any] = {}
    content, replaced = text.clean(draft.content)
    payload, in_payload = text.clean_json(draft.payload)
    origin, in_origin = text.clean_json(draft.origin)
    for name in _SHORT_FIELDS:
        value = getattr(draft, name)
        if value is None:
            continue
        cleaned, _ = text.clean(value)
        cleaned = spelled(cleaned) if name in _NAMES else cleaned
        if cleaned != value:
            changes[name] = cleaned
    if replaced + in_payload:
        payload = {**(payload or {}), "replaced_characters": replaced + in_payload}
    if changes or replaced + in_payload + in_origin:
        return replace(draft, content=content, payload=payload, origin=origin, **changes)
    return draft


def _check_bytes(what: str, value: str | None, most: int) -> None:
    if value is not None and len(value.encode()) > most:
        raise InvalidInput(f"The {what} takes at most {most} bytes.", code="too_large")
