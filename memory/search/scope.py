"""The entries that may answer a request, as conditions on the ledger."""

from sqlalchemy import ColumnElement, or_

from memory.drafts import client_names
from memory.models import Entry
from memory.search.labels import hidden_kinds, hidden_roles
from memory.search.request import Request

__all__ = ["named", "scope", "times"]


def scope(request: Request) -> list[ColumnElement[bool]]:
    """Return every condition of a request."""
    found = named(request)
    if kinds := hidden_kinds(request):
        found.append(Entry.kind.not_in(kinds))
    if roles := hidden_roles(request):
        found.append(or_(Entry.role.is_(None), Entry.role.not_in(roles)))
    return found


def named(request: Request) -> list[ColumnElement[bool]]:
    """Return the conditions that the request names, without those for everyday answers."""
    found = times(request)
    if request.source_client is not None:
        found.append(Entry.source_client.in_(client_names(request.source_client)))
    if request.project_id is not None:
        found.append(Entry.project_id == request.project_id)
    if request.session_id is not None:
        found.append(Entry.session_id == request.session_id)
    if request.kinds:
        found.append(Entry.kind.in_(request.kinds))
    if request.roles:
        found.append(Entry.role.in_(request.roles))
    return found


def times(request: Request) -> list[ColumnElement[bool]]:
    """Return the conditions on the time at which something happened."""
    found: list[ColumnElement[bool]] = []
    if request.since is not None:
        found.append(Entry.occurred_at >= request.since)
    if request.until is not None:
        found.append(Entry.occurred_at <= request.until)
    return found
