"""One line of a client's file, decoded as leniently as the clients themselves write it."""

import json
from typing import Any

import msgspec

from importers.lines import MAX_LINE_BYTES

__all__ = ["Malformed", "decode"]


class Malformed(ValueError):
    """A record is JSON but not what its client writes; the message says what is wrong."""


def decode(raw: bytes | None) -> dict[str, Any]:
    """Return the object that a line holds. Raises Malformed."""
    if raw is None:
        raise Malformed(f"longer than {MAX_LINE_BYTES} bytes")
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        value = _decoded_leniently(raw)
    if not isinstance(value, dict):
        raise Malformed("JSON, but not an object")
    return value


def _decoded_leniently(raw: bytes) -> Any:
    """Decode what JavaScript writes and strict JSON refuses: halves of a surrogate pair, NaN."""
    try:
        return json.loads(raw.decode())
    except UnicodeDecodeError as error:
        raise Malformed(f"bad UTF-8 at byte {error.start} of the line") from None
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            raise Malformed(f"two records on one line, at character {error.pos}") from None
        raise Malformed(f"no JSON: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise Malformed("nested too deeply") from None
    except ValueError:
        raise Malformed("a number with too many digits") from None
