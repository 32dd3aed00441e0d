"""JSON with comments, edited as text: what is not edited keeps every byte.

Read as Microsoft's jsonc-parser reads it, which OpenCode uses: ``//`` and ``/* */`` comments, and a
comma after the last member. A value of Python's own json module comes beside the place of each node.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["Member", "Node", "NotJson", "parse", "skip"]

_SPACE: Final = " \t\r\n"
_DEEPEST: Final = 200  # brackets inside brackets; no settings file has as many


def _refuse(name: str) -> Any:
    raise ValueError(name)


_SCALAR: Final = json.JSONDecoder(parse_constant=_refuse)  # NaN and Infinity are not JSON


class NotJson(ValueError):
    """The text is not JSON; the message says where and why."""


@dataclass(slots=True, kw_only=True)
class Node:
    """One value: ``text[start:end]``. ``members`` belong to objects, ``items`` to arrays."""

    start: int
    end: int
    value: Any
    members: "list[Member]" = field(default_factory=list)
    items: "list[Node]" = field(default_factory=list)

    def member(self, name: str) -> "Member | None":
        """Return the member that counts: of two with one name every reader takes the last."""
        return next((each for each in reversed(self.members) if each.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A name and a value in an object; ``start`` is where the name's first quote stands."""

    name: str
    start: int
    node: Node


def parse(text: str, *, comments: bool) -> Node:
    """Return the one value of a text. Raises NotJson.

    Without ``comments`` the text must be JSON as the standard has it.
    """
    reader = _Reader(text, comments=comments)
    place = reader.skip(0)
    node = reader.value(place, depth=0)
    rest = reader.skip(node.end)
    if rest != len(text):
        raise reader.wrong(rest, "something stands after the end")
    return node


def skip(text: str, place: int, *, comments: bool) -> int:
    """Return where the next thing begins that is neither space nor comment, -1 in an open comment."""
    while True:
        while place < len(text) and text[place] in _SPACE:
            place += 1
        if not (comments and text.startswith(("//", "/*"), place)):
            return place
        ending = "\n" if text[place + 1] == "/" else "*/"
        found = text.find(ending, place + 2)
        if found < 0 and ending == "*/":
            return -1
        place = len(text) if found < 0 else found + len(ending)


class _Reader:
    def __init__(self, text: str, *, comments: bool) -> None:
        self.text = text
        self.comments = comments

    def wrong(self, place: int, words: str) -> NotJson:
        line = self.text.count("\n", 0, place) + 1
        column = place - (self.text.rfind("\n", 0, place) + 1) + 1
        return NotJson(f"line {line}, column {column}: {words}")

    def skip(self, place: int) -> int:
        found = skip(self.text, place, comments=self.comments)
        if found < 0:
            raise self.wrong(place, "a comment does not end")
        return found

    def value(self, place: int, *, depth: int) -> Node:
        if depth > _DEEPEST:
            raise self.wrong(place, "too many brackets inside brackets")
        sign = self.text[place : place + 1]
        if sign == "{":
            return self._object(place, depth=depth)
        if sign == "[":
            return self._array(place, depth=depth)
        try:
            found, end = _SCALAR.raw_decode(self.text, place)
        except (ValueError, RecursionError):
            raise self.wrong(place, "a value was expected") from None
        return Node(start=place, end=end, value=found)

    def _object(self, start: int, *, depth: int) -> Node:
        node = Node(start=start, end=start, value={})
        for place in self._separated(node, "}"):
            if self.text[place] != '"':
                raise self.wrong(place, "a name in quotes was expected")
            name = self.value(place, depth=depth)
            colon = self.skip(name.end)
            if self.text[colon : colon + 1] != ":":
                raise self.wrong(colon, "a colon was expected")
            inner = self.value(self.skip(colon + 1), depth=depth + 1)
            node.members.append(Member(name=name.value, start=place, node=inner))
            node.value[name.value] = inner.value
            node.end = inner.end
        return node

    def _array(self, start: int, *, depth: int) -> Node:
        node = Node(start=start, end=start, value=[])
        for place in self._separated(node, "]"):
            inner = self.value(place, depth=depth + 1)
            node.items.append(inner)
            node.value.append(inner.value)
            node.end = inner.end
        return node

    def _separated(self, node: Node, closing: str) -> Iterator[int]:
        """Yield where each part begins; the reader moves ``node.end`` behind it meanwhile."""
        place = self.skip(node.start + 1)
        while self.text[place : place + 1] != closing:
            if place >= len(self.text):
                raise self.wrong(place, f"a {closing} is missing")
            yield place
            place = self.skip(node.end)
            if self.text[place : place + 1] == ",":
                comma, place = place, self.skip(place + 1)
                if self.text[place : place + 1] == closing and not self.comments:
                    raise self.wrong(comma, f"a comma stands before the {closing}")
            elif self.text[place : place + 1] != closing:
                raise self.wrong(place, f"a comma or a {closing} was expected")
        node.end = place + 1
