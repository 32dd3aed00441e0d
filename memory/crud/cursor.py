"""Cursors: where a reader stopped, as opaque text."""

import base64
import binascii
import zlib
from datetime import datetime
from typing import Any, Final

import msgspec

from memory.errors import InvalidInput

__all__ = ["decode", "encode"]

_MAX_LENGTH: Final = 512


def encode(kind: str, *place: Any) -> str:
    """Return a cursor of this kind for a place (JSON-safe values and times)."""
    body = msgspec.json.encode([kind, *place])
    check = zlib.crc32(body).to_bytes(4, "big")
    return base64.urlsafe_b64encode(check + body).decode().rstrip("=")


def decode(kind: str, cursor: str) -> list[Any]:
    """Return the place that a cursor of this kind holds.

    Raises InvalidInput (``bad_cursor``) for anything that `encode` did not give.
    """
    error = InvalidInput(
        "This is no cursor of this call; pass next_cursor exactly as it came, or leave it out.",
        code="bad_cursor",
    )
    if not cursor.isascii() or len(cursor) > _MAX_LENGTH:
        raise error
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        check, body = raw[:4], raw[4:]
        if zlib.crc32(body).to_bytes(4, "big") != check:
            raise error
        found, *place = msgspec.json.decode(body, type=list[Any])
    except (binascii.Error, ValueError, TypeError, msgspec.MsgspecError):
        raise error from None
    if found != kind:
        raise error
    return place


def time(value: str) -> datetime:
    """Return the time that a cursor holds as text."""
    return datetime.fromisoformat(value)
