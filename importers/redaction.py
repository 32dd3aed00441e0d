"""Credentials leave a transcript before anything of it is stored, indexed or embedded."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from memory.crud_secret import redact, redact_json
from memory.drafts import Draft, SessionDraft
from memory.errors import InvalidInput

__all__ = ["redacted", "redacted_session"]


def redacted(draft: Draft, *, machine: str) -> tuple[Draft, Counter[str]]:
    """Return a machine's draft with each credential replaced, and how many there were, by kind.

    The fingerprint stays that of what the client wrote, so that better rules never make a known
    message look changed.
    """
    content, kinds = redact(draft.content)
    payload, in_payload = _payload(draft.payload)
    if in_payload:
        kinds.update(in_payload)
    changed = draft.redrafted(
        content=content, payload=payload, machine=machine, fingerprint=draft.content_hash
    )
    return changed, kinds


def redacted_session(draft: SessionDraft) -> SessionDraft:
    """Return the session with each credential in its title and its facts replaced.

    Its directory stays: it is where the session's project is found.
    """
    title = redact(draft.title)[0] if draft.title else draft.title
    payload, kinds = _payload(draft.payload)
    if title == draft.title and not kinds:
        return draft
    return replace(draft, title=title, payload=payload or {})


def _payload(payload: Mapping[str, Any] | None) -> tuple[Mapping[str, Any] | None, Counter[str]]:
    if payload is None:
        return None, Counter()
    try:
        return redact_json(dict(payload))
    except InvalidInput as error:
        # Too deep to be looked through, so it must not be stored; the text beside it is.
        return {"omitted": str(error)}, Counter()
