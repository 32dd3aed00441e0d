"""One chunk of text taken apart: a word, an identifier, a path, a version, a hash, CJK.

A chunk keeps its whole form and gives its parts too, so that ``getUserById``, ``get_user_by_id``
and "user by id" find one another. Parts stand at consecutive positions, a whole form at the
position of its first part.
"""

import re
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from memory.text.folding import MAX_TOKEN_CHARS, cut, fold, stem, word_forms
from memory.text.stopwords import STOP_WORDS

__all__ = [
    "LONGEST_CHUNK",
    "Analysis",
    "Kind",
    "analyse",
    "chunk_pattern",
    "run_pattern",
    "runs",
]

LONGEST_CHUNK: Final = 256
"""A longer chunk is data rather than a name: only its first pieces are indexed."""
PIECES_OF_LONG_CHUNK: Final = 64
MOST_PARTS: Final = 12
"""A word that changes case or falls into digits more often is random, and has no parts."""

CACHED_RUNS: Final = 32_768
"""Runs whose analysis is kept; source code repeats itself over this distance."""

HASH_PREFIX: Final = 7
"""Git abbreviates a commit's hash to this many digits."""

Kind: TypeAlias = Literal["word", "exact", "gram"]
"""A stemmed word or part; a whole identifier; two neighbours (or one) of a run of CJK."""


# A plain tuple: the garbage collector leaves those alone, and the cache holds many.
Analysis: TypeAlias = tuple[tuple[tuple[str, int, Kind], ...], int]
"""What a run gives: lexemes with offset and kind, and how many positions it takes."""

# Combining marks are no word characters for Python, but part of words in these scripts.
_MARKS: Final = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u0900-\u0963\u0966-\u0dff\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ebc"
    "\u0ec8-\u0ecd\u102b-\u103e\u17b4-\u17d3"
)
# Scripts written without spaces between words: Han, kana, bopomofo, Hangul; Thai, Lao, Burmese,
# Khmer.
_HAN: Final = "\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_UNSPACED: Final = (
    _HAN + "\u3040-\u30ff\u3100-\u312f\u31a0-\u31bf\u1100-\u11ff\uac00-\ud7af"
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
)


def _chunk(word: str, flags: re.RegexFlag) -> re.Pattern[str]:
    return re.compile(rf"(?:--)?{word}+(?:(?:/\.?|[-.@]|::){word}+)*(?:\+\+|\#)?", flags)


_ASCII_CHUNK: Final = _chunk(r"\w", re.ASCII)
_ANY_CHUNK: Final = _chunk(rf"[\w{_MARKS}]", re.UNICODE)
# A run holds whole chunks and what may join them; cutting into runs first is twice as fast, since
# the same runs come again and again.
_ASCII_RUN: Final = re.compile(r"[\w./@:+#-]+", re.ASCII)
_ANY_RUN: Final = re.compile(rf"[\w{_MARKS}./@:+#-]+")

_DIGIT: Final = re.compile(r"[0-9]")
_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_HASH: Final = re.compile(r"(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{7,64}")
_VERSION: Final = re.compile(r"v?([0-9]+(?:\.[0-9]+)+)(?:[-.]?(\w.*))?", re.ASCII)
_MOMENT: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})t[0-9]{2,6}z?")
# A name and its version: numpy-1.26.4-cp311.
_RELEASE: Final = re.compile(r"([^/]*[^/-])-(v?[0-9]+\.[0-9][^/]*)", re.ASCII)
_EXTENSION: Final = re.compile(r"(.+)\.[A-Za-z][A-Za-z0-9]{0,7}", re.ASCII)
_HIDDEN: Final = re.compile(r"(?<=/)\.+")
# The coarsest separator first: each piece is taken apart by the next.
_SEPARATORS: Final = ("/", "@", "::", ".", "-", "_")

_CASE_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[A-Z]")
_SCRIPT_PARTS: Final = re.compile(rf"(?P<unspaced>[{_UNSPACED}]+)|[0-9]+|[^0-9{_UNSPACED}]+")
_HAN_CHAR: Final = re.compile(rf"[{_HAN}]")
_PIECE: Final = re.compile(r"\w+")


def chunk_pattern(text: str) -> re.Pattern[str]:
    """Return the pattern of one word, identifier or path in this text."""
    return _ASCII_CHUNK if text.isascii() else _ANY_CHUNK


def run_pattern(text: str) -> re.Pattern[str]:
    """Return the pattern of what holds words, identifiers and paths whole in this text."""
    return _ASCII_RUN if text.isascii() else _ANY_RUN


def runs(text: str) -> list[str]:
    """Cut a text (in NFKC) where no word, identifier or path goes on."""
    return run_pattern(text).findall(text)


def analyse(run: str) -> Analysis:
    """Take one run, as ``runs`` cuts it, apart."""
    # A longer one is hardly ever repeated, and not worth keeping.
    return _analyse(run) if len(run) <= LONGEST_CHUNK else _analyse.__wrapped__(run)


@lru_cache(maxsize=CACHED_RUNS)
def _analyse(run: str) -> Analysis:
    core = run.strip("./:-")
    if core.isascii() and core.isalpha() and len(core) <= MAX_TOKEN_CHARS and run[:2] != "--":
        lowered = core.lower()
        if lowered in STOP_WORDS:
            return (), 1
        if len(core) == 1 or core[1:].islower():
            return ((stem(lowered), 0, "word"),), 1
    parts = _Parts()
    for chunk in chunk_pattern(run).findall(run):
        parts.take(chunk)
    return parts.distinct(), parts.offset


class _Parts:
    """The lexemes of one chunk as they are found, and the next part's offset."""

    def __init__(self) -> None:
        self.found: list[tuple[str, int, Kind]] = []
        self.offset = 0

    def distinct(self) -> tuple[tuple[str, int, Kind], ...]:
        """Return each lexeme once a position, in the first kind it was found in."""
        seen: dict[tuple[str, int], Kind] = {}
        for text, offset, kind in self.found:
            seen.setdefault((text, offset), kind)
        return tuple((text, offset, kind) for (text, offset), kind in seen.items())

    def take(self, chunk: str) -> None:
        start = self.offset
        bare = chunk.rstrip("+#")
        if bare != chunk and len(bare) == 1:
            self.exact(chunk)  # C++, C#
        if bare.startswith("--"):
            self.exact(bare)
            bare = bare[2:]
        if len(bare) > LONGEST_CHUNK:
            self.exact(bare)
            for piece in _PIECE.findall(bare[: LONGEST_CHUNK * 16])[:PIECES_OF_LONG_CHUNK]:
                self.name(piece)
        else:
            self.compound(_HIDDEN.sub("", bare), 0)
        self.offset = max(self.offset, start + 1)

    def special(self, chunk: str) -> bool:
        """Take what has a form of its own and no meaningful parts."""
        if not _DIGIT.search(chunk):
            return False
        folded = fold(chunk)
        rest = ""
        if _UUID.fullmatch(folded):
            self.exact(folded)
            self.exact(folded[:8])
        elif _HASH.fullmatch(folded):
            self.exact(folded)
            self.exact(folded[:HASH_PREFIX])
        elif moment := _MOMENT.fullmatch(folded):
            self.exact(folded)
            rest = moment[1]
        elif version := _VERSION.fullmatch(folded):
            self.exact(folded)
            self.exact(version[1])
            rest = version[2] or ""
            self.offset += bool(rest)
        elif release := _RELEASE.fullmatch(chunk):
            self.exact(folded)
            self.compound(release[1], 0)
            rest = release[2]
        else:
            return False
        if rest:
            self.compound(rest, 0)
        else:
            self.offset += 1
        return True

    def compound(self, chunk: str, level: int) -> None:
        """Take a name with separators: whole, without extension, its last two pieces, each piece.

        Pieces fall apart at the next finer separator.
        """
        if self.special(chunk):
            return
        while level < len(_SEPARATORS) and _SEPARATORS[level] not in chunk:
            level += 1
        if level == len(_SEPARATORS):
            self.name(chunk)
            return
        separator = _SEPARATORS[level]
        pieces = [piece for piece in chunk.split(separator) if piece]
        if pieces:
            self.exact(chunk)
        shorter = _EXTENSION.fullmatch(chunk) if separator in "/." else None
        # A plain word comes by itself, as its stem.
        if shorter and not shorter[1].isalpha():
            self.exact(shorter[1])
        if separator in "/." and len(pieces) > 2:
            for piece in pieces[:-2]:
                self.compound(piece, level + 1)
            self.compound(separator.join(pieces[-2:]), level)
            return
        for piece in pieces:
            self.compound(piece, level + 1)

    def name(self, name: str) -> None:
        """Take letters and digits without separator: whole, and by case, digits and script."""
        if len(name) > MAX_TOKEN_CHARS:
            self.exact(name)
            self.offset += 1
            return
        if not name.isascii():
            self.scripts(name)
            return
        pieces = _CASE_PARTS.findall(name)
        if len(pieces) > MOST_PARTS:
            pieces = [name]
        if len(pieces) > 1 or (name.isupper() and len(name) > 1):
            self.exact(name)
        if len(pieces) > 1 and name.isalpha():
            # Who asks for "getusers" in lower case asks for what looks like a plain word.
            self.found.append((stem(name.lower()), self.offset, "word"))
        for piece in pieces:
            self.word(piece)
            self.offset += 1

    def scripts(self, name: str) -> None:
        """Take a word that is not all ASCII."""
        for piece in _SCRIPT_PARTS.finditer(name):
            if piece["unspaced"]:
                self.grams(piece[0])
            else:
                self.word(piece[0])
                self.offset += 1

    def word(self, word: str) -> None:
        """Add a word's stem, and a form without accents if it has any."""
        folded = fold(word)
        # A letter beside other parts says nothing; alone it may be a name.
        if folded in STOP_WORDS or (len(folded) == 1 and folded.isalpha() and self.found):
            return
        for form in word_forms(folded):
            self.found.append((form, self.offset, "word"))

    def grams(self, run: str) -> None:
        """Add each two neighbours, and each Han character, which may be a word by itself."""
        run = fold(run)
        for index, char in enumerate(run):
            if index + 1 < len(run):
                self.found.append((run[index : index + 2], self.offset, "gram"))
            if len(run) == 1 or _HAN_CHAR.match(char):
                self.found.append((char, self.offset, "gram"))
            self.offset += 1

    def exact(self, whole: str) -> None:
        self.found.append((cut(fold(whole)), self.offset, "exact"))
