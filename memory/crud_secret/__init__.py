"""Credentials in text: found, redacted in place, or refused.

A credential is known by its issuer's prefix (``ghp_…``), by its shape (key blocks, JWTs,
Authorization headers, passwords in URLs) or by the name it is assigned to (``DB_PASSWORD=…``).
Ordinary text stays: words, names in code, placeholders, documentation's example keys, hashes,
UUIDs, images.

A token with hidden or full-width characters in it is found as what its reader sees. Out of scope:
secrets broken by a line wrap. A refused text is not stored at all, which leaves a gap where it would have stood;
importers therefore redact and keep the turn.
"""

from memory.crud_secret.scan import (
    RULES_VERSION,
    Finding,
    find,
    redact,
    redact_json,
    refuse,
)

__all__ = ["RULES_VERSION", "Finding", "find", "redact", "redact_json", "refuse"]
