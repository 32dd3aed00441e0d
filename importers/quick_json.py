"""JSON for a program that somebody waits for: the parts of ``json`` in C, without the package.

Importing the package loads ``re`` and ``enum``, which takes longer than all that a hook does.
"""

from _json import encode_basestring_ascii, make_scanner

TYPE_CHECKING = False  # typing's own costs an import; checkers know this name
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


__all__ = ["dumps", "loads"]

_SPACE = " \t\n\r"


class _Rules:
    """What a scanner asks of a decoder; see ``json.decoder.JSONDecoder``."""

    strict = True
    object_hook = object_pairs_hook = array_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


_rules: "Any" = _Rules  # typeshed calls for a decoder, whose class would have to be imported
_scan = make_scanner(_rules)


def loads(text: str | bytes | bytearray) -> object:
    """Return the value that a text holds. Raises ValueError, and RecursionError as ``json`` does."""
    if not isinstance(text, str):
        text = text.decode("utf-8", "surrogatepass").removeprefix("\ufeff")
    start = len(text) - len(text.lstrip(_SPACE))
    try:
        value, end = _scan(text, start)
    except StopIteration:
        raise ValueError("no JSON") from None
    if text[end:].strip(_SPACE):
        raise ValueError("more than one value")
    return value


def dumps(values: "Mapping[str, str | float]") -> str:
    """Return an object of texts and finite numbers as JSON."""
    pairs = (
        f"{encode_basestring_ascii(name)}: "
        + (encode_basestring_ascii(value) if isinstance(value, str) else repr(value))
        for name, value in values.items()
    )
    return "{" + ", ".join(pairs) + "}"
