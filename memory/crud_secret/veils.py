"""A text as its reader sees it, and where each of its characters stands in the text as written.

A zero-width character, a colour or a full-width letter inside a token hides it from every rule;
what shows the text takes the character out again, and the token is whole.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from memory.crud_secret.anchors import encoded
from memory.text.cleaning import ANSI, HIDDEN, INVISIBLE

__all__ = ["Unveiled", "bare", "unveil"]

# Full-width forms and mathematical letters, which NFKC folds to one ASCII character each.
_FOLDED: Final = {
    code: plain
    for code in (*range(0xFF01, 0xFF5F), *range(0x1D400, 0x1D800))
    if len(plain := unicodedata.normalize("NFKC", chr(code))) == 1 and plain.isascii()
}
# What is taken out is what `displayable` strips; these line ends it makes line feeds.
_TABLE: Final = _FOLDED | dict.fromkeys(map(ord, "\x0b\x0c\x85\u2028\u2029"), "\n")
_REPLACED: Final = re.compile("[\x0b\x0c\x85\u2028\u2029\uff01-\uff5e\U0001d400-\U0001d7ff]")
_VEIL: Final = re.compile(f"[{HIDDEN}\uff01-\uff5e\U0001d400-\U0001d7ff]")
_TWO_SELECTORS: Final = re.compile("[\ufe0e\ufe0f]{2}")
_NO_VEIL: Final = bytes([*b"\t\n\v\f\r", *range(0x20, 0x7F)])  # in UTF-8

# What each pattern begins with: a class alone is searched for many times faster than a choice.
_FIRST: Final = {
    ANSI: re.compile("[\x1b\x90\x98\x9b\x9d-\x9f]"),
    INVISIBLE: re.compile(f"[{HIDDEN}\ufe0e\ufe0f]"),
}


@dataclass(frozen=True, slots=True)
class Unveiled:
    """A text without its veils, in pieces that stand whole in the text as written.

    ``starts`` has each piece's first index in ``text``, ``places`` that in the text as written.
    """

    text: str
    starts: list[int]
    places: list[int]

    def written(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the text as written, with all that is hidden within it."""
        return self._place(start), self._place(end - 1) + 1

    def shown(self, place: int) -> int:
        """Return the index of the first character that is written at this place or behind it."""
        number = bisect_right(self.places, place) - 1
        if number < 0:
            return 0
        following = self.starts[number + 1] if number + 1 < len(self.starts) else len(self.text)
        return min(self.starts[number] + place - self.places[number], following)

    def _place(self, index: int) -> int:
        number = bisect_right(self.starts, index) - 1
        return self.places[number] + index - self.starts[number]

    def without(self, pattern: re.Pattern[str]) -> "Unveiled":
        """Return it without what one of the patterns finds in it."""
        ends = [0, *chain.from_iterable(_spans(pattern, self.text))]
        if len(ends) == 1:
            return self
        pieces: list[str] = []
        starts: list[int] = []
        places: list[int] = []
        length = 0
        for start, end in zip(ends[::2], [*ends[1::2], len(self.text)], strict=True):
            if start == end:
                continue
            number = bisect_right(self.starts, start)
            starts.append(length)
            places.append(self._place(start))
            while number < len(self.starts) and self.starts[number] < end:
                starts.append(length + self.starts[number] - start)
                places.append(self.places[number])
                number += 1
            pieces.append(self.text[start:end])
            length += end - start
        return Unveiled("".join(pieces), starts, places)


def unveil(text: str, written: bytes) -> Unveiled | None:
    """Return the text without what hides a token, or None where there is no such character.

    ``written`` is the text as UTF-8.
    """
    # What is left of most texts is nothing, or little, and the pattern is slow.
    rest = written.translate(None, _NO_VEIL).decode("utf-8", "surrogatepass")
    if not rest:
        return None
    if not _VEIL.search(rest) and not (_TWO_SELECTORS.search(rest) and _TWO_SELECTORS.search(text)):
        return None
    shown = Unveiled(text, [0], [0])
    before = -1
    # As in `displayable`: removing one sequence can bring two selectors together.
    while before != len(shown.text):
        before = len(shown.text)
        shown = shown.without(ANSI)
        shown = replace(shown, text=_REPLACED.sub(_replacement, shown.text)).without(INVISIBLE)
    return shown


def bare(text: str) -> str:
    """Return the text alone, without what hides a token."""
    unveiled = unveil(text, encoded(text))
    return unveiled.text if unveiled else text


def _spans(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    first = _FIRST[pattern]
    start = 0
    while head := first.search(text, start):
        found = pattern.match(text, head.start())
        if found:
            yield found.span()
        start = (found or head).end()


def _replacement(found: re.Match[str]) -> str:
    return _TABLE.get(ord(found[0]), found[0])
