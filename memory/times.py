"""Times that are told by how long ago they were."""

import re
from datetime import datetime, timedelta
from typing import Final

__all__ = ["AGO", "ago"]

AGO: Final = "2h, 3d, 1w (ago)"
"""How such a time is written, as examples."""

_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_PATTERN: Final = re.compile(r"(\d{1,6})\s*([mhdw])")


def ago(text: str, *, now: datetime) -> datetime | None:
    """Return the time that was so long before now, or None when the text says no such thing.

    Raises OverflowError for a time before the year 1.
    """
    found = _PATTERN.fullmatch(text.strip())
    return now - timedelta(**{_UNITS[found[2]]: int(found[1])}) if found else None
