"""What is asked of a search, and what of it is refused."""

import uuid
from dataclasses import KW_ONLY, dataclass, replace
from datetime import UTC, datetime
from typing import Final

from memory.drafts import Kind
from memory.errors import InvalidInput

__all__ = ["MAX_LIMIT", "Request", "checked", "is_filtered"]

MAX_LIMIT: Final = 100


@dataclass(frozen=True, slots=True)
class Request:
    """One search: the words, how many hits, and which entries may answer.

    ``source_client`` also finds the client's other names. ``since`` and ``until`` bound the time
    at which something happened, both included. Entries of role ``system`` and the ledger's own
    kinds (session, binding, machine) answer only when asked for, by name or by ``include_system``.
    ``cursor`` goes on behind a hit of an answer to the same query, see `memory.search.paging`.
    """

    query: str
    _: KW_ONLY
    limit: int = 10
    source_client: str | None = None
    project_id: uuid.UUID | None = None
    session_id: uuid.UUID | None = None
    kinds: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    include_system: bool = False
    cursor: str | None = None


def checked(request: Request) -> Request:
    """Return the request with its times in UTC.

    Raises InvalidInput for a limit out of range, an unknown kind, a time without zone
    (``bad_timestamp``) or an empty span of time.
    """
    if not 1 <= request.limit <= MAX_LIMIT:
        raise InvalidInput(f"limit takes a whole number from 1 to {MAX_LIMIT}.")
    unknown = sorted(set(request.kinds) - set(Kind))
    if unknown:
        known = ", ".join(Kind)
        raise InvalidInput(f"There is no kind {unknown[0][:40]!r}; the kinds are {known}.")
    since, until = _utc("since", request.since), _utc("until", request.until)
    if since is not None and until is not None and until < since:
        raise InvalidInput("until lies before since, so nothing can match; swap them.")
    return replace(request, since=since, until=until)


def _utc(name: str, moment: datetime | None) -> datetime | None:
    if moment is None:
        return None
    if moment.tzinfo is None:
        raise InvalidInput(
            f"{name} needs a time zone, for example 2026-09-27T12:00:00Z.", code="bad_timestamp"
        )
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(f"{name} lies outside of all time.", code="bad_timestamp") from None


def is_filtered(request: Request) -> bool:
    """Tell whether the request leaves entries out by anything but its words."""
    return replace(request, limit=1, cursor=None) != Request(
        request.query, limit=1, include_system=request.include_system
    )
