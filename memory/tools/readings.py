"""Reading one JSON value of an argument: what it has to be, and what is wrong with it.

No error repeats the value, which may be a secret.
"""

import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from memory.crud.prefix import MIN_DIGITS
from memory.crud.prepare import EARLIEST, LATEST, is_usable
from memory.errors import InvalidInput
from memory.text import clean
from memory.times import AGO, ago

__all__ = [
    "MAX_CONTENT_BYTES",
    "MAX_TEXT",
    "MAX_WHOLE",
    "Beginning",
    "ProjectName",
    "named",
    "read_bounded",
    "read_choice",
    "read_content",
    "read_count",
    "read_document",
    "read_flag",
    "read_id",
    "read_place",
    "read_project",
    "read_text",
    "read_time",
    "read_whole",
]

MAX_CONTENT_BYTES: Final = 16 * 1024 * 1024
"""Bytes of UTF-8 that one content, value or JSON object may have."""
MAX_TEXT: Final = 500
"""Characters of a short text such as a name, unless a parameter says otherwise."""
MAX_WHOLE: Final = 2**63 - 1

_TYPES: Final[Mapping[type, str]] = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "an object",
}
# No cursor looks like a time: its sixth and seventh characters are letters.
_LIKE_A_TIME: Final = re.compile(r"\d{4}(?:-?\d{2}-?\d{2}(?:$|[T ])|-?W\d)")
_LIKE_A_CURSOR: Final = re.compile(r"[\w-]{16,512}", re.ASCII)
_BEGINNING: Final = re.compile(rf"[0-9a-fA-F]{{{MIN_DIGITS}}}[0-9a-fA-F-]{{0,27}}")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(-?)(?:[0-9a-fA-F]{4}\1){3}[0-9a-fA-F]{12}")


@dataclass(frozen=True, slots=True)
class ProjectName:
    """A project by its name; letter case is ignored."""

    text: str


@dataclass(frozen=True, slots=True)
class Beginning:
    """An entry or a session by the first digits of its id."""

    text: str


def read_text(name: str, value: Any, notes: list[str], *, most: int, may_be_empty: bool) -> str:
    """Return a short text of at most so many characters."""
    found = _cleaned(name, value, notes)
    if not may_be_empty and not found.strip():
        raise InvalidInput(f"{name} is empty; give it at least one character or leave it out.")
    if len(found) > most:
        raise InvalidInput(f"{name} takes at most {most} characters.", code="too_large")
    return found


def read_bounded(name: str, value: Any, _notes: list[str], *, most: int) -> str:
    """Return a short text of at most so many bytes of UTF-8, as the ledger counts them."""
    found = _string(name, value)
    if not found.strip():
        raise InvalidInput(f"{name} is empty; give it at least one character or leave it out.")
    if len(found.encode("utf-8", "surrogatepass")) > most:
        raise InvalidInput(f"{name} takes at most {most} bytes of UTF-8.", code="too_large")
    return found


def read_content(name: str, value: Any, _notes: list[str]) -> str:
    """Return a text that says something, of at most MAX_CONTENT_BYTES."""
    found = _string(name, value)
    if not found.strip():
        raise InvalidInput(f"{name} is empty; there is nothing to record.")
    _check_bytes(name, found)
    return found


def read_id(name: str, value: Any, _notes: list[str]) -> uuid.UUID | Beginning:
    """Return an id of the ledger, or the beginning of one."""
    found = _string(name, value).strip()
    if _UUID.fullmatch(found):
        return uuid.UUID(found)
    if _BEGINNING.fullmatch(found):
        return Beginning(found)
    raise InvalidInput(
        f"{name} is no id of this ledger: those have 36 characters, such as"
        f" 0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b, and the first {MIN_DIGITS} or more will do. Use one"
        " that another tool returned."
    )


def read_project(name: str, value: Any, notes: list[str]) -> uuid.UUID | ProjectName:
    """Return a project's id or name."""
    found = _cleaned(name, value, notes).strip()
    if not found:
        raise InvalidInput(f"{name} is empty; give a project's id or name, or leave it out.")
    if len(found) > MAX_TEXT:
        raise InvalidInput(f"{name} takes at most {MAX_TEXT} characters.", code="too_large")
    return uuid.UUID(found) if _UUID.fullmatch(found) else ProjectName(found)


def read_time(name: str, value: Any, notes: list[str], *, may_be_ago: bool = False) -> datetime:
    """Return a time in UTC; how another way of writing it was read is noted.

    ``may_be_ago`` allows how long ago it was; what is to be recorded needs a time that stays.
    """
    given = _string(name, value).strip()
    if may_be_ago and (then := _ago(given)):
        notes.append(f"{name} was read as {then:%Y-%m-%dT%H:%M:%SZ}.")
        return then
    found = _time(given)
    if found is None:
        also = f", or {AGO}" if may_be_ago else ""
        raise InvalidInput(
            f"{name} takes a time in ISO 8601, such as 2026-03-01T09:30:00Z{also}.",
            code="bad_timestamp",
        )
    moment, has_zone = found
    if not is_usable(moment):
        raise InvalidInput(
            f"{name} takes a time of the years {EARLIEST.year} to {LATEST.year - 1}.",
            code="bad_timestamp",
        )
    if not has_zone:
        notes.append(f"{name} has no time zone and was read as UTC.")
    return moment


def read_place(name: str, value: Any, notes: list[str]) -> str | datetime:
    """Return a cursor as it is, or a time."""
    found = _string(name, value).strip()
    if _LIKE_A_TIME.match(found) or _ago(found):
        return read_time(name, found, notes, may_be_ago=True)
    if _LIKE_A_CURSOR.fullmatch(found):
        return found
    raise InvalidInput(
        f"{name} takes next_cursor exactly as an answer gave it, or a time in ISO 8601 such as"
        f" 2026-03-01T09:30:00Z, or {AGO}.",
        code="bad_cursor",
    )


def read_whole(name: str, value: Any, _notes: list[str], *, least: int) -> int:
    """Return a whole number of 64 bits."""
    number = _number(name, value)
    if least <= number <= MAX_WHOLE:
        return number
    raise InvalidInput(f"{name} takes a whole number from {least} to {MAX_WHOLE}.")


def read_count(name: str, value: Any, notes: list[str], *, most: int) -> int:
    """Return how many are wanted; more than the most is taken down, and that is noted."""
    number = _number(name, value)
    if number < 1:
        raise InvalidInput(f"{name} takes a whole number from 1 to {most}.")
    if number > most:
        notes.append(f"{name} was taken down to {most}, the most this tool returns at once.")
    return min(number, most)


def read_flag(name: str, value: Any, _notes: list[str]) -> bool:
    """Return true or false."""
    if isinstance(value, bool):
        return value
    raise InvalidInput(f"{name} takes true or false, not {named(value)}.")


def read_document(name: str, value: Any, _notes: list[str]) -> dict[str, Any]:
    """Return a JSON object of at most MAX_CONTENT_BYTES."""
    if not isinstance(value, dict):
        raise InvalidInput(
            f"{name} takes a JSON object, not {named(value)}; pass the object itself, not its text."
        )
    try:
        _check_bytes(name, json.dumps(value, ensure_ascii=False))
    except RecursionError:
        raise InvalidInput(f"{name} is nested too deeply; flatten it.", code="too_large") from None
    return value


def read_choice(name: str, value: Any, _notes: list[str], *, names: tuple[str, ...]) -> str:
    """Return one of the names."""
    found = _string(name, value)
    if found in names:
        return found
    raise InvalidInput(f"{name} takes one of these: {', '.join(names)}.")


def _check_bytes(name: str, value: str) -> None:
    if len(value) > MAX_CONTENT_BYTES or (
        len(value) > MAX_CONTENT_BYTES // 4
        and len(value.encode("utf-8", "surrogatepass")) > MAX_CONTENT_BYTES
    ):
        most = MAX_CONTENT_BYTES // (1024 * 1024)
        raise InvalidInput(f"{name} takes at most {most} MiB; send it in parts.", code="too_large")


def _string(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    raise InvalidInput(f"{name} takes a string, not {named(value)}.")


def _cleaned(name: str, value: Any, notes: list[str]) -> str:
    """Return a string as it would be stored, so that it can be compared and encoded."""
    found, replaced = clean(_string(name, value))
    if replaced:
        notes.append(f"{name} was taken with {replaced} characters replaced that no text may hold.")
    return found


def _number(name: str, value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise InvalidInput(f"{name} takes a whole number, not {named(value)}.")


def _ago(value: str) -> datetime | None:
    try:
        found = ago(value, now=datetime.now(UTC))
    except OverflowError:
        return None
    return found if found and is_usable(found) else None


def _time(value: str) -> tuple[datetime, bool] | None:
    try:
        found = datetime.fromisoformat(value)
        has_zone = found.tzinfo is not None
        return (found if has_zone else found.replace(tzinfo=UTC)).astimezone(UTC), has_zone
    except (ValueError, OverflowError):
        return None


def named(value: object) -> str:
    """Return what kind of JSON value this is, in words, and nothing of the value itself."""
    if isinstance(value, float) and not value.is_integer():
        return "a fraction"
    return _TYPES.get(type(value), "null")
