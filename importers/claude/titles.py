"""Titles: rows without a uuid that name a session, sometimes another one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from importers.attributes import attribute, count_value
from importers.base import moment
from importers.claude.head import peek
from importers.claude.place import Place, last_uuids, transcripts
from importers.claude.recent import count_from, floor, keep_counts, meet
from importers.claude.sessions import PROVIDER, Owner, session_draft
from importers.regular import opened
from importers.tail import Normalised, Record, decode
from memory.drafts import Draft

__all__ = ["TITLES", "normalise_title", "waiting_title"]

TITLES: Final[Mapping[str, str]] = {
    "summary": "summary",
    "ai-title": "aiTitle",
    "custom-title": "customTitle",
}
"""The types of rows that hold a title, and the field it stands in."""

MAX_TITLE: Final = 500


def normalise_title(record: Record, context: dict[str, Any], place: Place) -> Normalised:
    """Return the title that a row gives to a session.

    A title that the user chose is not replaced by one that the client made up. For a title that
    stands before the session's first message, its place is kept until `waiting_title` fetches it.
    """
    row = record.value
    kind = str(row["type"])
    title = _text(row)
    if not title:
        return Normalised(skipped="title: empty")
    if place.agent is not None:
        return Normalised(skipped="title: in a sub-agent's file")
    if kind == "summary":
        return _summary(record, title, context, place)
    session = str(row.get("sessionId") or place.session)
    custom: list[str] = context.setdefault("named", [])
    if kind == "custom-title" or session in custom:
        meet(custom, session)
    if kind == "ai-title" and session in custom:
        return Normalised(skipped="title: the user chose one")
    if session not in context.get("sessions", ()):
        context["title_at"] = record.offset
        return Normalised(skipped="title: waits for the first message")
    return _titled(session, title, context, record.origin)


def waiting_title(session: str, context: dict[str, Any], place: Place) -> list[Draft]:
    """Return the title that stood before the session's first message, once.

    Raises OSError and Malformed.
    """
    if "title_at" not in context:
        return []
    offset = context.pop("title_at")
    with opened(place.path) as file:
        file.seek(offset)
        raw = file.readline().rstrip(b"\n")
    record = Record(value=decode(raw), raw=raw, path=str(place.path), offset=offset)
    return _titled(session, _text(record.value), context, record.origin).drafts


def _summary(record: Record, title: str, context: dict[str, Any], place: Place) -> Normalised:
    """Give a summary to the session whose last row it names, which is often another one's."""
    leaf = str(record.value.get("leafUuid"))
    for path, _ in transcripts(place.project):
        if leaf not in last_uuids(Path(path)):
            continue
        head = peek(Path(path))
        if head is None:
            break
        owner = Owner(source_session_id=head.session, session=head.session)
        given = _titled(head.session, title, context, record.origin)
        if given.drafts:
            given.sessions.append(session_draft(head.row, owner, place=None))
        return given
    return Normalised(skipped="title: of a session that is not here")


def _titled(
    session: str, title: str, context: dict[str, Any], origin: Mapping[str, Any]
) -> Normalised:
    known: dict[str, dict[str, Any]] = context.setdefault("titles", {})
    for forgotten in meet(context.setdefault("titled", []), session):
        of = known.pop(forgotten)
        count_from(context, of["floor"] + max(of["counts"].values(), default=0))
    seen = known.setdefault(session, {})
    begin = seen.setdefault("floor", floor(context))
    count = count_value(seen, title)
    if count is None:
        return Normalised(skipped="title: repeated")
    nth = begin + count
    seen["floor"] = begin + keep_counts(seen["counts"])
    at = moment(context.get("at"))
    found: dict[str, Any] = {"nth": nth, "occurred_at": at, "origin": origin}
    return Normalised(drafts=[attribute(PROVIDER, session, "title", title, **found)])


def _text(row: Mapping[str, Any]) -> str:
    return str(row.get(TITLES[str(row["type"])]) or "").strip()[:MAX_TITLE]
