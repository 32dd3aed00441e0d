"""What connecting changes in one file of a client, and how that is taken back."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from memory.connect import edits
from memory.connect.edits import Text
from memory.connect.jsonc import NotJson
from memory.connect.server import KNOWN, is_server

__all__ = ["Item", "JsonPart", "Part", "Taken", "merged"]


class Taken(ValueError):
    """An entry with our server's name starts something else; the message is its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(ABC):
    """One file of a client; texts have LF for newlines, and are empty where there is no file."""

    path: Path
    about: str

    @abstractmethod
    def connected(self, text: str) -> str:
        """Return the text with this ledger in it. Raises ValueError for one that cannot be edited.

        Raises Taken when an entry of somebody else's has our server's name.
        """

    @abstractmethod
    def disconnected(self, text: str, original: str | None) -> str:
        """Return the text without it; what ``original``, the first content, had stays."""

    @abstractmethod
    def rest(self, text: str) -> Any:
        """Return everything in a text that is not this program's, to see that an edit kept it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """An item of an array that is this program's: ``wanted`` is put where ``is_ours`` finds one.

    None is put nowhere. ``is_gone`` takes out what is there; disconnecting always does. ``renewed``
    makes of the one that is there what takes its place, where that is not just ``wanted``.
    """

    path: tuple[str, ...]
    wanted: Any
    is_ours: Callable[[Any], bool]
    is_gone: bool = False
    renewed: Callable[[Any], Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonPart(Part):
    """A file of JSON: members at fixed paths, and items of arrays.

    ``blank`` is what a new file begins with. An item may also stand inside of an item, as a hook
    in a group of hooks does: ``inside`` is the name of that inner array, empty for none.
    """

    members: Mapping[tuple[str, ...], Mapping[str, Any]] = field(default_factory=dict)
    items: Sequence[Item] = ()
    comments: bool = False
    blank: str = "{}\n"
    inside: str = ""

    def connected(self, text: str) -> str:
        """Return the text with the members and the items in it."""
        found = self._text(text)
        for path, wanted in self.members.items():
            _check_once(found, path)
            node = found.at(path)
            if node and not is_server(node.value):
                raise Taken(".".join(path))
            value = merged(node.value if node else {}, wanted)
            if node is None or node.value != value:
                found = edits.set_value(found, path, value)
        for item in self.items:
            _check_once(found, item.path)
            if item.is_gone:
                found = self._empty(found, item, None)
            elif item.wanted is not None:
                found = self._with(found, item)
        return found.text

    def disconnected(self, text: str, original: str | None) -> str:
        """Return the text without them, and without what was made to hold them."""
        if not text.strip():
            return text
        found = self._text(text)
        before = self._text(original) if original is not None else None
        for name in self.members:
            while (node := found.at(name)) and is_server(node.value):
                found = self._without(found, name, before)
        for item in self.items:
            found = self._empty(found, item, before)
        return found.text

    def rest(self, text: str) -> Any:
        """Return the value without the members and the items, and without empty holders."""
        value = self._text(text).root().value
        for path in self.members:
            value = _kept(value, path, lambda entry: None if is_server(entry) else entry)
        for item in self.items:
            value = _kept(value, item.path, partial(self._others, item))
        return value

    def _others(self, item: Item, listed: Any) -> Any:
        """Return an array without this program's items, and without groups that held only those."""
        if not isinstance(listed, list):
            return listed
        if not self.inside:
            return [each for each in listed if not item.is_ours(each)]
        groups = []
        for group in listed:
            inner = group.get(self.inside) if isinstance(group, dict) else None
            if not isinstance(inner, list):
                groups.append(group)
            elif others := [each for each in inner if not item.is_ours(each)]:
                groups.append({**group, self.inside: others})
        return groups

    def _text(self, text: str) -> Text:
        found = Text(text if text.strip() else self.blank, self.comments)
        if not isinstance(found.root().value, dict):
            raise NotJson("the whole is no object")
        return found

    def _with(self, text: Text, item: Item) -> Text:
        places = list(self._places(text, item))
        if not places:
            wanted = {self.inside: [item.wanted]} if self.inside else item.wanted
            return edits.append_item(text, item.path, wanted)
        for path in places:
            node = text.at(path)
            if node is None:
                continue
            wanted = item.renewed(node.value) if item.renewed else item.wanted
            if node.value != wanted:
                text = edits.set_value(text, path, wanted)
        return text

    def _empty(self, text: Text, item: Item, before: Text | None) -> Text:
        for place in reversed(list(self._places(text, item))):
            text = self._without(text, place, before)
        return text

    def _places(self, text: Text, item: Item) -> Iterator[tuple[str | int, ...]]:
        node = text.at(item.path)
        for index, outer in enumerate(node.items if node else []):
            path: tuple[str | int, ...] = (*item.path, index)
            if not self.inside and item.is_ours(outer.value):
                yield path
            member = outer.member(self.inside) if self.inside else None
            for number, inner in enumerate(member.node.items if member else []):
                if item.is_ours(inner.value):
                    yield (*path, self.inside, number)

    def _without(self, text: Text, path: edits.Path, before: Text | None) -> Text:
        """Take a value out, and each holder around it that is empty now and was not there before."""
        text = edits.remove_value(text, path)
        for depth in range(len(path) - 1, 0, -1):
            holder = text.at(path[:depth])
            if holder is None or not self._is_spent(holder.value, path[depth - 1]):
                break
            if before is not None and _is_fixed(path[:depth]) and before.at(path[:depth]):
                break
            text = edits.remove_value(text, path[:depth])
        return text

    def _is_spent(self, value: Any, step: str | int) -> bool:
        """Return whether a holder holds nothing; a group of hooks without hooks says nothing."""
        return not value or (isinstance(step, int) and self.inside not in value)


def merged(found: Any, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is wanted with what the user has added to it.

    Of the environment that a client gives a server, the variables that this program knows are the
    wanted ones alone: one left over from another ledger would lead there.
    """
    value = {**found, **wanted} if isinstance(found, dict) else dict(wanted)
    for name, inner in wanted.items():
        before = found.get(name) if isinstance(found, dict) else None
        if isinstance(inner, dict) and isinstance(before, dict):
            added = {key: each for key, each in before.items() if key not in KNOWN}
            value[name] = {**added, **inner}
    return value


def _kept(value: Any, path: Sequence[str], keep: Callable[[Any], Any]) -> Any:
    """Return a value with what ``keep`` makes of the one at a path, and without empty holders."""
    if not path:
        return keep(value)
    if not isinstance(value, dict) or path[0] not in value:
        return value
    others = {name: each for name, each in value.items() if name != path[0]}
    inner = _kept(value[path[0]], path[1:], keep)
    return {**others, path[0]: inner} if inner else others


def _check_once(text: Text, path: Sequence[str]) -> None:
    """See that no name on a path stands there twice. Raises NotJson.

    Readers take the last, and taking that out would bring back the first.
    """
    node = text.root()
    for step in path:
        if sum(each.name == step for each in node.members) > 1:
            raise NotJson(f"{step} stands there twice")
        member = node.member(step)
        if member is None:
            return
        node = member.node


def _is_fixed(path: edits.Path) -> bool:
    return not any(isinstance(step, int) for step in path)
