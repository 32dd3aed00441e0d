"""Files that nobody understands: their client has a format that its importer has not learned.

Such a file would otherwise look like a success: all of it read, all of it skipped by a rule.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from importers.base import Batch

__all__ = ["STRANGE", "carry", "is_strange", "is_unknown", "unknown_records", "words"]

STRANGE: Final = "strange"
"""In a checkpoint: how many records of known and unknown kinds a source gave, without an entry."""

_UNKNOWN: Final = "unknown"
_ANEW: Final = frozenset({"replaced", "rewritten", "touched", "truncated"})  # read from the start


def is_unknown(rule: str) -> bool:
    """Tell whether a rule skips what no version of the client is known to write."""
    return rule.startswith(_UNKNOWN)


def is_strange(*, records: int, unknown: int) -> bool:
    """Tell whether a source that gave no entry is an alarm.

    One new kind among the records that a client writes before the first message is none.
    """
    return unknown > records - unknown


def unknown_records(skipped: Counter[str], unreadable: int) -> int:
    """Return how many records were of no known kind, or could not be read at all."""
    return unreadable + sum(count for rule, count in skipped.items() if is_unknown(rule))


def carry(batch: Batch, stored: Mapping[str, Any] | None) -> tuple[int, int]:
    """Note in the batch's checkpoint that its source gave no entry so far, if that is so.

    Returns (records, unknown ones) when the source has come to its end with this batch's records
    and is an alarm; otherwise (0, 0).
    """
    is_anew = stored is None or bool(_ANEW.intersection(batch.events))
    before = [0, 0] if is_anew or stored is None else stored.get(STRANGE)
    if before is None or batch.drafts:
        return 0, 0
    records = before[0] + batch.records
    unknown = before[1] + unknown_records(batch.skipped, len(batch.unreadable))
    batch.state = {**batch.state, STRANGE: [records, unknown]}
    if not (batch.finished and batch.records and is_strange(records=records, unknown=unknown)):
        return 0, 0
    return records, unknown


def words(records: int, unknown: int) -> str:
    """Return what is said of such a source."""
    return (
        f"it gave no entry: {unknown:,} of its {records:,} records are of no kind that this"
        " importer knows; the client may have a new format"
    )
