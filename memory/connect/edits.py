"""Changes to a text of JSON that leave the rest of it as it is, comments and spaces included."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from memory.connect.jsonc import Node, NotJson, parse, skip

__all__ = ["Path", "Text", "append_item", "remove_value", "set_value"]

Path = Sequence[str | int]
"""The way to a value: names of members and numbers of items."""

_UNIT: Final = "  "  # what the three clients write themselves
_SPACE: Final = " \t\n"


@dataclass(frozen=True, slots=True)
class Text:
    """A text with LF for newlines, and whether it may hold comments and trailing commas."""

    text: str
    comments: bool

    def root(self) -> Node:
        """Return the value that the text holds. Raises NotJson."""
        return _parsed(self.text, self.comments)

    def at(self, path: Path) -> Node | None:
        """Return the value at a path, None where there is none. Raises NotJson."""
        found: Node | None = self.root()
        for step in path:
            found = _inner(found, step) if found else None
        return found

    def put(self, start: int, end: int, words: str) -> "Text":
        """Return the text with other words in a place."""
        return Text(self.text[:start] + words + self.text[end:], self.comments)


def set_value(text: Text, path: Path, value: Any) -> Text:
    """Return the text with a value at a path; members that lack on the way there are made.

    Raises NotJson when something else than an object stands on the way.
    """
    node = text.root()
    for depth, step in enumerate(path):
        found = _inner(node, step)
        if found is None:
            if not isinstance(node.value, dict):
                raise NotJson(f"{_named(path[:depth])} is no object")
            for missing in reversed(path[depth + 1 :]):
                value = {missing: value}
            return _inserted(text, node, f"{json.dumps(step, ensure_ascii=False)}: ", value)
        node = found
    is_flat = bool(node.members or node.items) and "\n" not in text.text[node.start : node.end]
    return text.put(node.start, node.end, _written(text, node.start, value, is_flat=is_flat))


def append_item(text: Text, path: Path, value: Any) -> Text:
    """Return the text with one more item at the end of the array at a path, made when missing.

    Raises NotJson when something else stands there.
    """
    node = text.at(path)
    if node is None:
        return set_value(text, path, [value])
    if not isinstance(node.value, list):
        raise NotJson(f"{_named(path)} is no array")
    return _inserted(text, node, "", value)


def remove_value(text: Text, path: Path) -> Text:
    """Return the text without the member or the item at a path. Raises KeyError without one."""
    parent, step = text.at(path[:-1]), path[-1]
    if parent is None or _inner(parent, step) is None:
        raise KeyError(*path)
    if isinstance(step, int):
        return _removed(text, parent, [(each.start, each.end) for each in parent.items], step)
    names = [each.name for each in parent.members]
    places = [(each.start, each.node.end) for each in parent.members]
    return _removed(text, parent, places, len(names) - 1 - names[::-1].index(step))


@lru_cache(maxsize=4)  # what one edit goes back to: the text before it, after it, and between
def _parsed(text: str, comments: bool) -> Node:
    """Return the value of a text, which nobody changes: each edit asks for it several times."""
    return parse(text, comments=comments)


def _inner(node: Node, step: str | int) -> Node | None:
    if isinstance(step, int):
        return node.items[step] if step < len(node.items) else None
    member = node.member(step)
    return member.node if member else None


def _named(path: Path) -> str:
    return ".".join(map(str, path)) or "the whole"


def _inserted(text: Text, parent: Node, head: str, value: Any) -> Text:
    """Add ``head`` and a value at the end of an object or an array."""
    raw, closing = text.text, parent.end - 1
    starts = [each.start for each in parent.members] or [each.start for each in parent.items]
    ends = [each.node.end for each in parent.members] or [each.end for each in parent.items]
    end = len(raw[:closing].rstrip(_SPACE))  # after comments, too
    if not starts:
        outer = _indent(raw, parent.start)
        inner = outer + _unit(text)
        return text.put(end, closing, f"\n{inner}{head}{_dumped(value, inner, text)}\n{outer}")
    is_flat = "\n" not in raw[parent.start : closing]
    between = " " if is_flat else "\n" + _indent(raw, starts[-1])
    has_comma = _comma(text, ends[-1], closing) >= 0
    written = between + head + _written(text, starts[-1], value, is_flat=is_flat)
    after = text.put(end, end, written + "," if has_comma else written)
    return after if has_comma else after.put(ends[-1], ends[-1], ",")


def _removed(text: Text, parent: Node, places: list[tuple[int, int]], index: int) -> Text:
    """Take out a part with its comma, and the white space that was put before it."""
    raw, (start, end), closing = text.text, places[index], parent.end - 1
    if len(places) == 1 and not (raw[parent.start + 1 : start] + raw[end:closing]).strip(" \t\n,"):
        return text.put(parent.start + 1, closing, "")
    begin = len(raw[:start].rstrip(_SPACE))
    after = _comma(text, end, closing)
    before = _comma(text, places[index - 1][1], start) if index and after < 0 else -1
    rest = raw[end:closing] if after < 0 else raw[end:after] + raw[after + 1 : closing]
    if begin == start:
        rest = rest.lstrip(" \t")
    if "\n" in raw[begin:start] and not rest.startswith("\n"):
        rest = "\n" + rest  # what stands before it may be a comment, which ends with its line
    kept = text.put(begin, closing, rest)
    return kept.put(before, before + 1, "") if before >= 0 else kept


def _comma(text: Text, start: int, end: int) -> int:
    """Return where a comma stands between two places, outside of comments; -1 for none."""
    place = skip(text.text, start, comments=text.comments)
    return place if place < end and text.text[place] == "," else -1


def _indent(raw: str, place: int) -> str:
    """Return the white space that the line of a place begins with."""
    line = raw[raw.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: Text) -> str:
    """Return one step of indentation, as the text has it."""
    root = text.root()
    starts = [each.start for each in root.members]
    return next(filter(None, (_indent(text.text, each) for each in starts)), _UNIT)


def _written(text: Text, place: int, value: Any, *, is_flat: bool) -> str:
    if not is_flat:
        return _dumped(value, _indent(text.text, place), text)
    return json.dumps(value, ensure_ascii=False)


def _dumped(value: Any, indent: str, text: Text) -> str:
    """Return a value over several lines, whose first begins at this indentation."""
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text)).split("\n")
    return "\n".join([lines[0], *(indent + line for line in lines[1:])])
