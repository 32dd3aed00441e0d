"""One word in the forms under which it is found: case, width, accents and endings folded."""

import re
import unicodedata
from typing import Final

import Stemmer

__all__ = [
    "MAX_MARKS",
    "MAX_TOKEN_BYTES",
    "MAX_TOKEN_CHARS",
    "cut",
    "fold",
    "normalised",
    "stem",
    "word_forms",
]

MAX_TOKEN_CHARS: Final = 64
MAX_TOKEN_BYTES: Final = 200
"""A longer token is cut and ends in "…", which no token holds otherwise."""
MAX_MARKS: Final = 30
"""Combining marks on one letter, as Unicode's stream-safe texts have (UAX #15); others are left out.

Putting n of them in order takes n² steps.
"""
CUT: Final = "\N{HORIZONTAL ELLIPSIS}"

_CYRILLIC: Final = re.compile("[\u0400-\u04ff]+")
_PILED: Final = re.compile(rf"[^\w\s\x00-\x7f]{{{MAX_MARKS + 1},}}")
_ACCENT: Final = re.compile("[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]+")
# Letters that no decomposition takes apart.
_STROKES: Final = str.maketrans({"\u00f8": "o", "\u0142": "l", "\u0111": "d", "\u0131": "i"})

# Without its cache: a stem costs less than looking it up there (measured: 0.8 against 3.4 µs).
_english: Final = Stemmer.Stemmer("english", 0)
_russian: Final = Stemmer.Stemmer("russian", 0)


def normalised(text: str) -> str:
    """Return a text in Unicode's form NFKC, with at most MAX_MARKS marks on one letter."""
    return text if text.isascii() else unicodedata.normalize("NFKC", _PILED.sub(_fewer, text))


def _fewer(piled: re.Match[str]) -> str:
    kept: list[str] = []
    marks = 0
    for each in piled[0]:
        marks = marks + 1 if unicodedata.combining(each) else 0
        if marks <= MAX_MARKS:
            kept.append(each)
    return "".join(kept)


def fold(text: str) -> str:
    """Fold case and width (NFKC and case folding)."""
    return text.lower() if text.isascii() else normalised(text.casefold())


def stem(word: str) -> str:
    """Return the English stem of a folded word; what is not plain ASCII letters stays."""
    return _english.stemWord(word) if word.isascii() and word.isalpha() else word


def word_forms(folded: str) -> list[str]:
    """Return a folded word's lexemes: its stem, or with and without accents; none for accents."""
    if folded.isascii():
        return [cut(stem(folded))]
    if _CYRILLIC.fullmatch(folded):
        return [cut(_russian.stemWord(folded))]
    plain = _ACCENT.sub("", unicodedata.normalize("NFD", folded)).translate(_STROKES)
    plain = unicodedata.normalize("NFC", plain)
    return [cut(folded), cut(stem(plain))] if plain else []


def cut(token: str) -> str:
    """Cut a token that is too long, and mark it."""
    if len(token) <= MAX_TOKEN_CHARS and len(token.encode()) <= MAX_TOKEN_BYTES:
        return token
    kept = token[: MAX_TOKEN_CHARS - 1].encode()[: MAX_TOKEN_BYTES - len(CUT.encode())]
    return kept.decode(errors="ignore") + CUT
