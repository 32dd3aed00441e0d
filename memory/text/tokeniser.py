"""The tokens of a text, for the search index."""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from memory.text.cleaning import displayable
from memory.text.folding import normalised
from memory.text.words import analyse, runs

__all__ = ["MAX_CHARS", "MAX_TOKENS", "Tokens", "prepared", "tokens", "without_data"]

MAX_CHARS: Final = 500_000
"""Characters of one text that are indexed; the text is stored whole."""
MAX_TOKENS: Final = 50_000
"""Tokens of one text that are indexed."""

# An image in a data URL is no words.
_BLOB: Final = re.compile(r"(?<=base64,)[A-Za-z0-9+/=\\]{64,}")
# "…failed\nTraceback": a line end that is written as an escape belongs to neither word. In a
# Windows path or in LaTeX a backslash follows a separator or stands in a text with a drive.
_ESCAPED_END: Final = re.compile(r"(?<=[\w.,:;!?)\]}>\"'`-])(?:\\+[nrt])+")
_DRIVE: Final = re.compile(r"\b[A-Za-z]:\\", re.ASCII)


@dataclass(frozen=True, slots=True)
class Tokens:
    """The lexemes of a text with their positions: numbers of words, from 0, in order."""

    positions: Mapping[str, list[int]]
    length: int
    """Words of the text, stop words included."""
    truncated: bool
    """Some of the text was left out."""


def tokens(text: str) -> Tokens:
    """Cut a text into the tokens under which it is found.

    Never raises; at most about MAX_TOKENS tokens from the first MAX_CHARS characters.
    """
    text, truncated = prepared(text)
    positions: defaultdict[str, list[int]] = defaultdict(list)
    position = count = 0
    for run in runs(text):
        lexemes, span = analyse(run)
        for lexeme, offset, _ in lexemes:
            positions[lexeme].append(position + offset)
        position += span
        count += len(lexemes)
        if count > MAX_TOKENS:
            truncated = True
            break
    return Tokens(positions, position, truncated)


def prepared(text: str) -> tuple[str, bool]:
    """Normalise the part of a text that is indexed, and say whether there is more.

    What no reader would see is no part of any word.
    """
    truncated = len(text) > MAX_CHARS
    # NFKC can make a text eighteen times as long.
    text = normalised(displayable(text[:MAX_CHARS]))[: 2 * MAX_CHARS]
    return without_data(text), truncated


def without_data(text: str) -> str:
    """Blank what is no words, character for character: images in base64, escaped line ends."""
    if "base64," in text:
        text = _BLOB.sub(_blanks, text)
    if "\\" in text and not _DRIVE.search(text):
        text = _ESCAPED_END.sub(_blanks, text)
    return text


def _blanks(found: re.Match[str]) -> str:
    return " " * len(found[0])
