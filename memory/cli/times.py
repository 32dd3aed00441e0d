"""Times as people type them: ISO 8601, or how long ago."""

from datetime import UTC, datetime

from memory.errors import InvalidInput
from memory.times import AGO, ago

__all__ = ["moment_of"]


def moment_of(name: str, text: str | None, *, now: datetime) -> datetime | None:
    """Return the time that an option holds; without zone it is UTC.

    Raises InvalidInput (``bad_timestamp``) with what the option takes.
    """
    if text is None:
        return None
    given = text.strip()
    try:
        if then := ago(given, now=now):
            return then
        moment = datetime.fromisoformat(given)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidInput(
            f"{name} takes a time such as 2026-03-01, 2026-03-01T09:30Z or {AGO}.",
            code="bad_timestamp",
        ) from None
