"""JSON-RPC messages: lines become messages, or the error that the sender is told.

Standard library alone. The SDK drops what it cannot read in silence; a client would wait for
ever, so here every malformed line is answered.
"""

import json
import re
from typing import Any, Final

__all__ = [
    "INVALID_REQUEST",
    "Malformed",
    "Message",
    "RequestId",
    "failure",
    "parse",
    "request_id",
]

Message = dict[str, Any]
RequestId = int | str

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600

# Where clients put a request's id, for lines that cannot be read as a whole.
_ID_FIRST: Final = re.compile(rb'\{"jsonrpc":"2\.0","id":(\d{1,15}|"[\w-]{1,64}"),')
_ID_LAST: Final = re.compile(rb'[,{]"id":(\d{1,15}|"[\w-]{1,64}")\}\s*$')


class Malformed(Exception):
    """A line is no JSON-RPC message; ``answer`` is what the sender is told."""

    def __init__(self, code: int, message: str, found: RequestId | None = None) -> None:
        """Keep the answer."""
        super().__init__(message)
        self.answer = failure(code, message, found)


def failure(code: int, message: str, found: RequestId | None) -> Message:
    """Return a JSON-RPC error."""
    return {"jsonrpc": "2.0", "id": found, "error": {"code": code, "message": message}}


def parse(line: bytes, *, cut: bool = False) -> Message:
    """Return the message in a line. Raises Malformed.

    Bytes that are no UTF-8 are replaced; lone surrogates are left to whoever stores the text.
    """
    if cut:
        raise Malformed(INVALID_REQUEST, "This line is too long to be read.", _recover(line))
    try:
        message = json.loads(line.decode("utf-8", "replace").removeprefix("\ufeff"))
    except RecursionError:
        raise Malformed(
            INVALID_REQUEST, "This JSON is nested too deeply.", _recover(line)
        ) from None
    except ValueError:  # no JSON, or a number of thousands of digits
        raise Malformed(PARSE_ERROR, "This line is no JSON.", _recover(line)) from None
    if isinstance(message, list):
        raise Malformed(INVALID_REQUEST, "Batches are not supported; send one message a line.")
    if not isinstance(message, dict):
        raise Malformed(INVALID_REQUEST, "A message is a JSON object.")
    _check(message)
    return message


def request_id(message: Message) -> RequestId | None:
    """Return the id of a request or an answer; None for a notification."""
    found = message.get("id")
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None


def _check(message: Message) -> None:
    found = request_id(message)
    if isinstance(found, str) and not _is_text(found):
        found = message["id"] = None
    if message.get("jsonrpc") != "2.0":
        raise Malformed(INVALID_REQUEST, 'A message has "jsonrpc": "2.0".', found)
    if "id" in message and found is None:
        raise Malformed(INVALID_REQUEST, "The id of a request is a string or a whole number.")
    if "method" not in message and ("result" in message or "error" in message):
        return
    if not isinstance(message.get("method"), str) or not _is_text(message["method"]):
        raise Malformed(INVALID_REQUEST, "The method of a request is a string.", found)
    if not isinstance(message.get("params", {}), dict):
        raise Malformed(INVALID_REQUEST, "The params of a request are a JSON object.", found)


def _is_text(value: str) -> bool:
    """Tell whether a string can be sent back, that is, has no lone surrogate."""
    return value.isascii() or not re.search("[\ud800-\udfff]", value)


def _recover(line: bytes) -> RequestId | None:
    found = _ID_FIRST.match(line[:256]) or _ID_LAST.search(line[-256:])
    if found is None:
        return None
    recovered: RequestId = json.loads(found[1])
    return recovered
