"""What a tool takes: one declaration gives the schema, the check and the error.

Arguments are checked here and not by the SDK, whose errors repeat what was sent (it may be a
secret) and which ignores names it does not know. Schemas stay flat, since each client drops or
refuses something else; so limits and defaults also stand in the descriptions.
"""

import difflib
import json
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from memory.errors import InvalidInput

__all__ = [
    "MAX_CONTENT_BYTES",
    "MAX_TEXT",
    "Arguments",
    "Parameter",
    "choice",
    "content",
    "count",
    "document",
    "flag",
    "identifier",
    "parse",
    "place",
    "text",
    "time",
    "whole",
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
_READABLE_NAME: Final = re.compile(r"[A-Za-z][A-Za-z_]{0,39}")
# No cursor looks like a time: its sixth and seventh characters are letters.
_LIKE_A_TIME: Final = re.compile(r"\d{4}(?:-?\d{2}-?\d{2}(?:$|[T ])|-?W\d)")
_LIKE_A_CURSOR: Final = re.compile(r"[\w-]{16,512}", re.ASCII)
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(-?)(?:[0-9a-fA-F]{4}\1){3}[0-9a-fA-F]{12}")


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of one call as values, with what has to be said about them.

    Every parameter of the tool is there; None stands for one that was left out.
    """

    values: Mapping[str, Any]
    notes: list[str] = field(default_factory=list)

    def __getitem__(self, name: str) -> Any:
        """Return the value of a parameter."""
        return self.values[name]

    def get(self, name: str) -> Any:
        """Return the value of a parameter, None also when the tool has no such parameter."""
        return self.values.get(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a tool.

    ``read`` takes the name, the JSON value and the notes of the answer; it returns the value for
    the tool or raises InvalidInput.
    """

    name: str
    json_type: str
    about: str
    read: Callable[[str, Any, list[str]], Any]
    default: Any = None
    required: bool = False
    names: tuple[str, ...] = ()

    def schema(self) -> dict[str, Any]:
        """Return the flat JSON schema of this parameter."""
        schema: dict[str, Any] = {"type": self.json_type}
        if self.names:
            schema["enum"] = list(self.names)
        return {**schema, "description": self.about} if self.about else schema


def parse(tool: str, parameters: Sequence[Parameter], given: object) -> Arguments:
    """Return the arguments of a call.

    Raises InvalidInput for a name the tool does not know, one that is missing, and a value that
    is not what it should be; no value is ever repeated.
    """
    if not isinstance(given, dict):
        raise InvalidInput(f"The arguments of {tool} are one JSON object, not {_named(given)}.")
    known = {parameter.name: parameter for parameter in parameters}
    for name in given:
        if name not in known:
            raise InvalidInput(_unknown(tool, name, list(known)))
    arguments = Arguments({})
    values: dict[str, Any] = {}
    for name, parameter in known.items():
        if given.get(name) is None:
            if parameter.required:
                raise InvalidInput(f"{tool} needs {name}. It takes {_listed(parameters)}.")
            values[name] = parameter.default
        else:
            values[name] = parameter.read(name, given[name], arguments.notes)
    return Arguments(values, arguments.notes)


def text(
    name: str,
    about: str = "",
    *,
    most: int = MAX_TEXT,
    required: bool = False,
    may_be_empty: bool = False,
) -> Parameter:
    """Declare a short text; characters are counted."""
    read = partial(_read_text, most=most, may_be_empty=may_be_empty)
    return Parameter(name=name, json_type="string", about=about, read=read, required=required)


def content(name: str, about: str = "", *, required: bool = False) -> Parameter:
    """Declare a text of at most MAX_CONTENT_BYTES."""
    return Parameter(
        name=name, json_type="string", about=about, read=_read_content, required=required
    )


def identifier(name: str, about: str = "", *, required: bool = False) -> Parameter:
    """Declare an id of the ledger."""
    return Parameter(name=name, json_type="string", about=about, read=_read_id, required=required)


def time(name: str, about: str = "", *, required: bool = False) -> Parameter:
    """Declare a time."""
    return Parameter(name=name, json_type="string", about=about, read=_read_time, required=required)


def place(name: str, about: str = "") -> Parameter:
    """Declare a place in a list: a cursor (a string) or a time (a datetime)."""
    return Parameter(name=name, json_type="string", about=about, read=_read_place)


def whole(name: str, about: str = "", *, least: int = -MAX_WHOLE) -> Parameter:
    """Declare a whole number of 64 bits."""
    return Parameter(
        name=name, json_type="integer", about=about, read=partial(_read_whole, least=least)
    )


def count(*, default: int, most: int, name: str = "limit") -> Parameter:
    """Declare how many to return; more than there can be is told and taken down."""
    return Parameter(
        name=name,
        json_type="integer",
        about=f"1 to {most}, default {default}",
        read=partial(_read_count, most=most),
        default=default,
    )


def flag(name: str, about: str = "") -> Parameter:
    """Declare a switch that is off unless said otherwise."""
    return Parameter(name=name, json_type="boolean", about=about, read=_read_flag, default=False)


def document(name: str, about: str = "", *, required: bool = False) -> Parameter:
    """Declare a JSON object."""
    return Parameter(
        name=name, json_type="object", about=about, read=_read_document, required=required
    )


def choice(name: str, about: str, names: Sequence[str], *, default: str | None = None) -> Parameter:
    """Declare one of several names."""
    return Parameter(
        name=name,
        json_type="string",
        about=about,
        read=partial(_read_choice, names=tuple(names)),
        default=default,
        names=tuple(names),
    )


def _read_text(name: str, value: Any, _notes: list[str], *, most: int, may_be_empty: bool) -> str:
    found = _string(name, value)
    if not may_be_empty and not found.strip():
        raise InvalidInput(f"{name} is empty; give it at least one character or leave it out.")
    if len(found) > most:
        raise InvalidInput(f"{name} takes at most {most} characters.", code="too_large")
    return found


def _read_content(name: str, value: Any, _notes: list[str]) -> str:
    found = _string(name, value)
    if not found.strip():
        raise InvalidInput(f"{name} is empty; there is nothing to record.")
    _check_bytes(name, found)
    return found


def _read_id(name: str, value: Any, _notes: list[str]) -> uuid.UUID:
    found = _string(name, value).strip()
    if not _UUID.fullmatch(found):
        raise InvalidInput(
            f"{name} is no id of this ledger: those have 36 characters, such as"
            " 0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b. Use one that another tool returned."
        )
    return uuid.UUID(found)


def _read_time(name: str, value: Any, notes: list[str]) -> datetime:
    found = _time(_string(name, value).strip())
    if found is None:
        raise InvalidInput(
            f"{name} takes a time in ISO 8601, such as 2026-03-01T09:30:00Z.", code="bad_timestamp"
        )
    moment, has_zone = found
    if not has_zone:
        notes.append(f"{name} has no time zone and was read as UTC.")
    return moment


def _read_place(name: str, value: Any, notes: list[str]) -> str | datetime:
    found = _string(name, value).strip()
    if _LIKE_A_TIME.match(found):
        return _read_time(name, found, notes)
    if _LIKE_A_CURSOR.fullmatch(found):
        return found
    raise InvalidInput(
        f"{name} takes next_cursor exactly as an answer gave it, or a time in ISO 8601 such as"
        " 2026-03-01T09:30:00Z.",
        code="bad_cursor",
    )


def _read_whole(name: str, value: Any, _notes: list[str], *, least: int) -> int:
    number = _number(name, value)
    if least <= number <= MAX_WHOLE:
        return number
    raise InvalidInput(f"{name} takes a whole number from {least} to {MAX_WHOLE}.")


def _read_count(name: str, value: Any, notes: list[str], *, most: int) -> int:
    number = _number(name, value)
    if number < 1:
        raise InvalidInput(f"{name} takes a whole number from 1 to {most}.")
    if number > most:
        notes.append(f"{name} was taken down to {most}, the most this tool returns at once.")
    return min(number, most)


def _read_flag(name: str, value: Any, _notes: list[str]) -> bool:
    if isinstance(value, bool):
        return value
    raise InvalidInput(f"{name} takes true or false, not {_named(value)}.")


def _read_document(name: str, value: Any, _notes: list[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInput(
            f"{name} takes a JSON object, not {_named(value)}; pass the object itself, not its text."
        )
    try:
        _check_bytes(name, json.dumps(value, ensure_ascii=False))
    except RecursionError:
        raise InvalidInput(f"{name} is nested too deeply; flatten it.", code="too_large") from None
    return value


def _read_choice(name: str, value: Any, _notes: list[str], *, names: tuple[str, ...]) -> str:
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
    raise InvalidInput(f"{name} takes a string, not {_named(value)}.")


def _number(name: str, value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise InvalidInput(f"{name} takes a whole number, not {_named(value)}.")


def _time(value: str) -> tuple[datetime, bool] | None:
    try:
        found = datetime.fromisoformat(value)
        has_zone = found.tzinfo is not None
        return (found if has_zone else found.replace(tzinfo=UTC)).astimezone(UTC), has_zone
    except (ValueError, OverflowError):
        return None


def _named(value: object) -> str:
    if isinstance(value, float) and not value.is_integer():
        return "a fraction"
    return _TYPES.get(type(value), "null")


def _unknown(tool: str, name: str, known: list[str]) -> str:
    """Name an unknown argument, unless its name looks like more than a name."""
    shown = f"no argument {name!r}" if _READABLE_NAME.fullmatch(name) else "no such argument"
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    if not known:
        return f"{tool} takes {shown}; it takes none at all."
    return f"{tool} takes {shown}.{hint} It takes {', '.join(known)}."


def _listed(parameters: Sequence[Parameter]) -> str:
    return ", ".join(each.name + ("" if each.required else "?") for each in parameters)
