"""Labels: what a search may filter by, written into the index beside the words.

A label is a lexeme that begins with ``=``, which no word does. So a filter is part of the index
scan: the words of a small project are found without reading those of all the others.
"""

import hashlib
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

from memory.drafts import HARNESS_ROLES, OWN_KINDS, Kind, client_names
from memory.search.request import Request
from memory.search.source import Source
from memory.text import fold

__all__ = [
    "CARRIED",
    "MARK",
    "filters",
    "hidden_kinds",
    "hidden_roles",
    "label",
    "labels",
    "speaker_of",
]

MARK: Final = "="
CARRIED: Final = ("=client/", "=kind/", "=role/", "=session/", "=speaker/")
"""Beginnings of the labels that a search also reads, for ranking; the others only filter."""

_PLAIN: Final = re.compile(r"[a-z0-9_.-]{1,64}")
_NAME: Final = re.compile(r"([^\W\d_][\w'-]{0,30}(?: [^\W\d_][\w'-]{0,30}){0,2}): ")
_PROSE: Final = frozenset({"user", "assistant"})
_DAY: Final = timedelta(days=1)
_AHEAD: Final = timedelta(days=31)  # how far a month may lie ahead of now without being FUTURE
_MAX_MONTHS: Final = 36
_FUTURE: Final = "future"


def label(name: str, value: str) -> str:
    """Return the label of a value; one that is long or has other characters is hashed."""
    if not _PLAIN.fullmatch(value):
        value = "#" + hashlib.sha256(value.encode()).hexdigest()[:40]
    return f"{MARK}{name}/{value}"


def labels(entry: Source) -> list[str]:
    """Return an entry's labels."""
    is_ahead = entry.occurred_at > entry.recorded_at + _DAY
    found = [
        label("client", entry.source_client),
        label("kind", entry.kind),
        label("month", _FUTURE if is_ahead else _month(entry.occurred_at)),
    ]
    if entry.role is not None:
        found.append(label("role", entry.role))
    if entry.project_id is not None:
        found.append(label("project", entry.project_id.hex))
    if entry.session_id is not None:
        found.append(label("session", entry.session_id.hex))
    if speaker := speaker_of(entry):
        found.append(label("speaker", speaker))
    return found


def speaker_of(entry: Source) -> str:
    """Return the name with which a message begins, in lower case, its words joined by ``-``.

    Chats between people, pasted or exported, put one and a colon before each turn. Empty for none.
    """
    if entry.kind != Kind.MESSAGE or entry.role not in _PROSE:
        return ""
    begins = _NAME.match(entry.content)
    name = begins[1] if begins else ""
    if any(word[0].islower() for word in name.split()):
        return ""
    return "-".join(fold(word) for word in name.split())


def filters(request: Request, *, now: datetime) -> list[str]:
    """Return the request's filters as conditions of a text search query, to be joined by ``&``.

    Times are bounded by whole months here; the exact bounds are the caller's to check.
    """
    found: list[str] = []
    if request.source_client is not None:
        found.append(_any("client", client_names(request.source_client)))
    if request.project_id is not None:
        found.append(_any("project", [request.project_id.hex]))
    if request.session_id is not None:
        found.append(_any("session", [request.session_id.hex]))
    if request.kinds:
        found.append(_any("kind", request.kinds))
    if request.roles:
        found.append(_any("role", request.roles))
    if hidden := hidden_kinds(request):
        found.append("!" + _any("kind", hidden))
    if hidden := hidden_roles(request):
        found.append("!" + _any("role", hidden))
    return found + _months(request, now)


def hidden_kinds(request: Request) -> tuple[str, ...]:
    """Return the kinds that do not answer this request although it names no kinds."""
    if request.include_system or request.kinds:
        return ()
    return OWN_KINDS


def hidden_roles(request: Request) -> tuple[str, ...]:
    """Return the roles that do not answer this request although it names no roles."""
    return () if request.include_system or request.roles else HARNESS_ROLES


def _months(request: Request, now: datetime) -> list[str]:
    """Return the condition on months, or nothing where it would be too long to help."""
    latest = now + _AHEAD
    if request.since is not None:
        until = min(request.until or latest, latest)
        months = _span(request.since, until)
        return [_any("month", [*months, _FUTURE])] if months else []
    if request.until is not None and request.until < latest:
        later = _span(request.until + _AHEAD, latest)
        return ["!" + _any("month", later)] if later else []
    return []


def _span(first: datetime, last: datetime) -> list[str]:
    """Return the months from one time to another, or none when there are more than _MAX_MONTHS."""
    start = first.year * 12 + first.month - 1
    end = last.year * 12 + last.month - 1
    if end - start >= _MAX_MONTHS:
        return []
    return [f"{number // 12:04d}-{number % 12 + 1:02d}" for number in range(start, end + 1)]


def _month(moment: datetime) -> str:
    at = moment.astimezone(UTC)
    return f"{at.year:04d}-{at.month:02d}"


def _any(name: str, values: Iterable[str]) -> str:
    """Return the condition that an entry has one of these labels; a label needs no escaping."""
    return "(" + "|".join(f"'{label(name, value)}'" for value in dict.fromkeys(values)) + ")"
