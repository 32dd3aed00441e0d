"""How often the same was said before: the last part of an identity, in bounded memory.

Where a client gives no id, what repeats is told apart by its number. So every name has to be
remembered, and a turn may have a million: a checkpoint is written with each batch.
"""

import zlib
from typing import Final

__all__ = ["EXACT", "SHARED", "count_repeat"]

EXACT: Final = 4096
"""Names that are counted each by itself; nearly every turn has fewer."""

SHARED: Final = 1024
"""Counters that all further names share: a number that is not taken is skipped, none given twice."""


def count_repeat(seen: dict[str, int], name: str) -> int:
    """Return how often this name came before; ``seen``, JSON-safe, is what this noted of others.

    Beyond the first names the number may be higher than that, and is the same at each reading.
    """
    key = name
    if name not in seen and len(seen) >= EXACT:
        key = f"+{zlib.crc32(name.encode(errors='surrogatepass')) % SHARED}"
    before = seen.get(key, 0)
    seen[key] = before + 1
    return before
