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
    # Pairs, since a checkpoint does not keep the order of keys.
    seen: list[list[Any]] = context.setdefault("counted", [])
    output = counts.get("output_tokens", 0)
    known = next((pair for pair in seen if pair[0] == name), None)
    if known is None:
        seen.append([name, output])
        del seen[:-_OPEN_MESSAGES]
        return {key: count for key, count in counts.items() if count}
    more = output - int(known[1])
    if more <= 0:
        return {}
    known[1] = output
    return {"output_tokens": more}
