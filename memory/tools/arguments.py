"""What a tool takes: one declaration gives the schema, the check and the error.

Arguments are checked here and not by the SDK, whose errors repeat what was sent (it may be a
secret) and which ignores names it does not know. Schemas stay flat, since each client drops or
refuses something else; so limits and defaults also stand in the descriptions.
"""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from memory.errors import InvalidInput
from memory.tools.readings import (
    MAX_TEXT,
    MAX_WHOLE,
    named,
    read_bounded,
    read_choice,
    read_content,
    read_count,
    read_document,
    read_flag,
    read_id,
    read_place,
    read_project,
    read_text,
    read_time,
    read_whole,
)

__all__ = [
    "Arguments",
    "Parameter",
    "bounded",
    "choice",
    "content",
    "count",
    "document",
    "flag",
    "identifier",
    "parse",
    "place",
    "project",
    "text",
    "time",
    "whole",
]

_READABLE_NAME: Final = re.compile(r"[A-Za-z][A-Za-z_]{0,39}")


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
        raise InvalidInput(f"The arguments of {tool} are one JSON object, not {named(given)}.")
    known = {parameter.name: parameter for parameter in parameters}
    for name in given:
        if name not in known:
            raise InvalidInput(_unknown(tool, name, list(known)))
    notes: list[str] = []
    values: dict[str, Any] = {}
    for name, parameter in known.items():
        if given.get(name) is None:
            if parameter.required:
                raise InvalidInput(f"{tool} needs {name}. It takes {_listed(parameters)}.")
            values[name] = parameter.default
        else:
            values[name] = parameter.read(name, given[name], notes)
    return Arguments(values, notes)


def text(
    name: str,
    about: str = "",
    *,
    most: int = MAX_TEXT,
    required: bool = False,
    may_be_empty: bool = False,
) -> Parameter:
    """Declare a short text; characters are counted."""
    read = partial(read_text, most=most, may_be_empty=may_be_empty)
    return Parameter(name=name, json_type="string", about=about, read=read, required=required)


def bounded(name: str, about: str = "", *, most: int, required: bool = False) -> Parameter:
    """Declare a short text that the ledger bounds by its bytes."""
    read = partial(read_bounded, most=most)
    return Parameter(name=name, json_type="string", about=about, read=read, required=required)


def content(name: str, about: str = "", *, required: bool = False) -> Parameter:
    """Declare a text of at most MAX_CONTENT_BYTES."""
    return Parameter(
        name=name, json_type="string", about=about, read=read_content, required=required
    )


def identifier(name: str, about: str = "", *, required: bool = False) -> Parameter:
    """Declare an id of the ledger, whose first digits will do."""
    return Parameter(name=name, json_type="string", about=about, read=read_id, required=required)


def project(about: str = "id or name", *, required: bool = False) -> Parameter:
    """Declare the project: ``project_id``, which takes its name as well."""
    return Parameter(
        name="project_id", json_type="string", about=about, read=read_project, required=required
    )


def time(
    name: str, about: str = "", *, required: bool = False, may_be_ago: bool = False
) -> Parameter:
    """Declare a time; ``may_be_ago`` allows how long ago it was."""
    read = partial(read_time, may_be_ago=may_be_ago)
    return Parameter(name=name, json_type="string", about=about, read=read, required=required)


def place(name: str, about: str = "") -> Parameter:
    """Declare a place in a list: a cursor (a string) or a time (a datetime)."""
    return Parameter(name=name, json_type="string", about=about, read=read_place)


def whole(name: str, about: str = "", *, least: int = -MAX_WHOLE) -> Parameter:
    """Declare a whole number of 64 bits."""
    return Parameter(
        name=name, json_type="integer", about=about, read=partial(read_whole, least=least)
    )


def count(*, default: int, most: int, name: str = "limit") -> Parameter:
    """Declare how many to return; more than there can be is told and taken down."""
    return Parameter(
        name=name,
        json_type="integer",
        about=f"1 to {most}, default {default}",
        read=partial(read_count, most=most),
        default=default,
    )


def flag(name: str, about: str = "") -> Parameter:
    """Declare a switch that is off unless said otherwise."""
    return Parameter(name=name, json_type="boolean", about=about, read=read_flag, default=False)


def document(name: str, about: str = "", *, required: bool = False) -> Parameter:
    """Declare a JSON object."""
    return Parameter(
        name=name, json_type="object", about=about, read=read_document, required=required
    )


def choice(name: str, about: str, names: Sequence[str], *, default: str | None = None) -> Parameter:
    """Declare one of several names."""
    return Parameter(
        name=name,
        json_type="string",
        about=about,
        read=partial(read_choice, names=tuple(names)),
        default=default,
        names=tuple(names),
    )


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
