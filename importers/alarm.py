"""Files of which no record is known: their client has a format that its importer has not learned.

Such a file would otherwise look like a success: all of it read, all of it skipped by a rule.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from importers.base import Batch

__all__ = ["STRANGE", "carry", "is_unknown", "known_records", "words"]

STRANGE: Final = "strange"
"""In a checkpoint: how many records the source gave so far, while none of them was known."""

_UNKNOWN: Final = "unknown"
_ANEW: Final = frozenset({"replaced", "rewritten", "touched", "truncated"})  # read from the start


def is_unknown(rule: str) -> bool:
    """Tell whether a rule skips what no version of the client is known to write."""
    return rule.startswith(_UNKNOWN)


def known_records(batch: Batch) -> int:
    """Return how many records of a batch were of a known kind, stored or skipped."""
    return batch.imported + _known(batch.skipped)


def carry(batch: Batch, stored: Mapping[str, Any] | None) -> int:
    """Note in the batch's checkpoint whether any record of its source was known so far.

    Returns how many records there were when the source has come to its end, this batch brought
    some of them, and none was known; otherwise 0.
    """
    if stored is None or _ANEW.intersection(batch.events):
        before: int | None = 0
    else:
        before = stored.get(STRANGE)
    if before is None or known_records(batch):
        return 0
    batch.state = {**batch.state, STRANGE: before + batch.records}
    return int(batch.state[STRANGE]) if batch.finished and batch.records else 0


def words(records: int) -> str:
    """Return what is said of a source whose records are all unknown."""
    return (
        f"none of its {records:,} records is of a kind that this importer knows;"
        " the client may have a new format"
    )


def _known(skipped: Counter[str]) -> int:
    return sum(count for rule, count in skipped.items() if not is_unknown(rule))
