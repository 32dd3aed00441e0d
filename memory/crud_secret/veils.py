"""A text as its reader sees it, and where each of its characters stands in the text as written.

A zero-width character, a colour or a full-width letter inside a token hides it from every rule;
what shows the text takes the character out again, and the token is whole.
"""

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from memory.text.cleaning import ANSI, INVISIBLE  # what `displayable` strips, and no other set

__all__ = ["Unveiled", "bare", "unveil"]

# Full-width forms and mathematical letters, which NFKC folds to one ASCII character each.
_FOLDED: Final = {
    code: plain
    for code in (*range(0xFF01, 0xFF5F), *range(0x1D400, 0x1D800))
    if len(plain := unicodedata.normalize("NFKC", chr(code))) == 1 and plain.isascii()
}
# Line ends that `displayable` makes line feeds, among the characters it would else strip.
_TABLE: Final = _FOLDED | dict.fromkeys(map(ord, "\x0b\x0c\x85\u2028\u2029"), "\n")
_VEIL: Final = re.compile(f"{INVISIBLE.pattern}|[\uff01-\uff5e\U0001d400-\U0001d7ff]")


@dataclass(frozen=True, slots=True)
class Unveiled:
    """A text without its veils; ``places`` has each character's index in the text as written."""

    text: str
    places: list[int]

    def written(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the text as written, with all that is hidden within it."""
        return self.places[start], self.places[end - 1] + 1


def unveil(text: str) -> Unveiled | None:
    """Return the text without what hides a token, or None where there is no such character."""
    # Most texts are plain ASCII, which is told many times faster than by the pattern.
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return None
    if not _VEIL.search(text):
        return None
    places = list(range(len(text)))
    before = -1
    # As in `displayable`: removing one sequence can bring two selectors together.
    while before != len(text):
        before = len(text)
        text, places = _without(ANSI, text, places)
        text, places = _without(INVISIBLE, text.translate(_TABLE), places)
    return Unveiled(text, places)


def bare(text: str) -> str:
    """Return the text alone, without what hides a token."""
    unveiled = unveil(text)
    return unveiled.text if unveiled else text


def _without(pattern: re.Pattern[str], text: str, places: list[int]) -> tuple[str, list[int]]:
    pieces: list[str] = []
    kept: list[int] = []
    end = 0
    for found in pattern.finditer(text):
        pieces.append(text[end : found.start()])
        kept += places[end : found.start()]
        end = found.end()
    if not end:
        return text, places
    return "".join([*pieces, text[end:]]), kept + places[end:]
