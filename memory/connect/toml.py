"""Where things stand in a text of TOML, so that it can be edited with every other byte kept.

tomlkit alone will not do for a whole file: 0.15.2 moves a key of the top into another table where
dotted keys come before it, and refuses tables beside inline ones. Here the standard library's parser
is the judge: a line is a header where what stands before it is whole.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import tomlkit

__all__ = ["Section", "assignment", "end_of_top", "literal", "sections"]

_HEADER: Final = re.compile(r"^[ \t]*\[", re.MULTILINE)
_SIGNS: Final = re.compile(r"[]\"'\w}]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A table's lines, ``text[start:end]``: from its header to its last value.

    ``path`` is empty for the top, which has no header. Comments above a header are the header's and
    stand between two sections.
    """

    path: tuple[str, ...]
    start: int
    end: int


def sections(text: str) -> list[Section]:
    """Return the tables of a text in their order, the top first. Raises ValueError."""
    tomllib.loads(text)
    starts = list(_starts(text))
    found = []
    for start, following in zip(starts, [*starts[1:], len(text)], strict=True):
        path = _path(text, start) if start or _HEADER.match(text) else ()
        found.append(Section(path=path, start=start, end=_trimmed(text, start, following)))
    return found if found[0].path == () else [Section(path=(), start=0, end=0), *found]


def end_of_top(text: str) -> int:
    """Return where a further assignment at the top is put: after the last one. Raises ValueError."""
    return sections(text)[0].end


def assignment(text: str, name: str) -> tuple[int, int] | None:
    """Return where an assignment at the top stands, without its comment; None for none.

    Raises ValueError.
    """
    top = sections(text)[0]
    for found in re.finditer(rf"^[ \t]*\"?{re.escape(name)}\"?[ \t]*=", text, re.MULTILINE):
        start = found.start()
        if start >= top.end or not _is_whole(text[top.start : start]):
            continue
        for sign in _SIGNS.finditer(text, found.end(), top.end):
            value = text[start : sign.end()]
            rest = text[sign.end() : top.end].partition("\n")[0].strip()
            if _is_whole(value) and (not rest or rest.startswith("#")):
                return start, sign.end()
    return None


def literal(value: Any) -> str:
    """Return a value as TOML writes it."""
    return str(tomlkit.item(value).as_string())


def _starts(text: str) -> Iterator[int]:
    """Yield where the top and each table begin."""
    begin = 0
    yield begin
    for found in _HEADER.finditer(text):
        if found.start() > begin and _is_whole(text[begin : found.start()]):
            begin = found.start()
            yield begin


def _path(text: str, start: int) -> tuple[str, ...]:
    """Return the names in a header."""
    value: Any = tomllib.loads(text[start:].partition("\n")[0])
    path = []
    while value:
        name, value = next(iter(value.items()))
        path.append(name)
        value = value[0] if isinstance(value, list) else value
    return tuple(path)


def _trimmed(text: str, start: int, end: int) -> int:
    """Return the end of a section without the blank lines and comments that follow its values."""
    lines = text[start:end].splitlines(keepends=True)
    kept = len(lines)
    while kept and (not lines[kept - 1].strip() or _is_comment(lines, kept - 1)):
        kept -= 1
    return start + sum(map(len, lines[:kept]))


def _is_comment(lines: list[str], index: int) -> bool:
    """Return whether a line is a comment, and no part of a text or an array over several lines."""
    return lines[index].lstrip().startswith("#") and _is_whole("".join(lines[:index]))


def _is_whole(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True
