"""Times as people type them: ISO 8601, or how long ago."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from memory.errors import InvalidInput

__all__ = ["moment_of"]

_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_AGO: Final = re.compile(r"(\d{1,6})\s*([mhdw])")


def moment_of(name: str, text: str | None, *, now: datetime) -> datetime | None:
    """Return the time that an option holds; without zone it is UTC.

    Raises InvalidInput (``bad_timestamp``) with what the option takes.
    """
    if text is None:
        return None
    given = text.strip()
    try:
        if ago := _AGO.fullmatch(given):
            return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        moment = datetime.fromisoformat(given)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidInput(
            f"{name} takes a time such as 2026-03-01, 2026-03-01T09:30Z or 2h, 3d, 1w (ago).",
            code="bad_timestamp",
        ) from None
