"""Tokens, counted once a message although every row of it repeats them."""

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["usage_of"]

_COUNTS: Final = (
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
)
_OPEN_MESSAGES: Final = 32


def usage_of(message: Mapping[str, Any], context: dict[str, Any]) -> dict[str, int]:
    """Return the tokens that this row adds to what earlier rows of the same message had.

    Old versions write each row as its block closes, with the count so far: the first row brings
    the counts, a later one the output tokens that came on top. So sums over rows are right.
    """
    usage, name = message.get("usage"), message.get("id")
    if not isinstance(usage, dict) or not isinstance(name, str):
        return {}
    counts = {key: usage[key] for key in _COUNTS if isinstance(usage.get(key), int)}
    seen: dict[str, int] = context.setdefault("usage", {})
    output = counts.get("output_tokens", 0)
    if name not in seen:
        seen[name] = output
        while len(seen) > _OPEN_MESSAGES:
            del seen[next(iter(seen))]
        return {key: count for key, count in counts.items() if count}
    more = output - seen[name]
    if more <= 0:
        return {}
    seen[name] = output
    return {"output_tokens": more}
