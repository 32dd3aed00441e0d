"""What somebody searches for, taken apart as the indexed texts were."""

import re
from dataclasses import dataclass
from typing import Final

from memory.text.cleaning import clean
from memory.text.folding import fold
from memory.text.tokeniser import prepared
from memory.text.words import analyse, runs

__all__ = ["MAX_BEGINNINGS", "MAX_LEXEMES", "MAX_PHRASES", "MAX_QUERY_CHARS", "Query", "query"]

MAX_QUERY_CHARS: Final = 4_000
"""Characters of a query that are read."""
MAX_LEXEMES: Final = 64
"""Words, and as many identifiers, that are searched for."""
MAX_BEGINNINGS: Final = 4
"""Words of which only the beginning is given."""
MAX_PHRASES: Final = 4
"""Quoted phrases that are looked for."""

# Not the stars of **bold**, of globs, or between factors.
_BEGUN: Final = re.compile(r"(?<![\w*])(\w{3,32})\*(?![\w*])")
_SHORT: Final = re.compile(r"(?<![\w*])\w{1,2}\*(?![\w*])")
_PHRASE: Final = re.compile(
    '"([^"]+)"|\u201c([^\u201c\u201d]+)\u201d|\u201e([^\u201e\u201c]+)\u201c|\u00ab([^\u00bb]+)\u00bb'
)
_UUID: Final = re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")
_HASH: Final = re.compile(r"\b(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{7,64}\b")
# The clients' own: msg_01Ab…, toolu_…, ses_…, call_….
_PREFIXED: Final = re.compile(r"\b[a-z]{2,12}_(?=[A-Za-z]*[0-9])[A-Za-z0-9]{10,}\b", re.ASCII)


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query; false when there is nothing in it to search for."""

    words: tuple[str, ...]
    """Lexemes of words and of identifiers' parts, in order, each once."""
    terms: tuple[str, ...]
    """Lexemes of what looks like an identifier, whole, in order, each once."""
    phrases: tuple[str, ...]
    """Quoted text as it was written, white space made single blanks."""
    beginnings: tuple[str, ...]
    """Beginnings of words, folded, each with the ``*`` that was written behind it."""
    ids: tuple[str, ...]
    """UUIDs, hashes and clients' ids as they were written; a UUID in lower case."""
    short: tuple[str, ...] = ()
    """What looks like a beginning and has too few letters for one, with its ``*``."""
    silent: tuple[str, ...] = ()
    """Quoted text without a word that can be searched for."""
    truncated: bool = False
    """Some of the query was left out."""

    def __bool__(self) -> bool:
        """Tell whether anything can be searched for."""
        return bool(self.lexemes)

    @property
    def lexemes(self) -> tuple[str, ...]:
        """Everything that is searched for, each once. No word ends with a ``*``."""
        return tuple(dict.fromkeys(self.words + self.terms + self.beginnings))


def query(text: str) -> Query:
    """Take a query apart; operators and other punctuation mean nothing, but for quotes and ``word*``.

    A phrase counts only if it holds a word that can be searched for.
    """
    text, _ = clean(text)
    text, truncated = text[:MAX_QUERY_CHARS], len(text) > MAX_QUERY_CHARS
    normal, _ = prepared(text)
    words: dict[str, None] = {}
    terms: dict[str, None] = {}
    for run in runs(normal):
        for lexeme, _, kind in analyse(run)[0]:
            (terms if kind == "exact" else words)[lexeme] = None
    quoted, beginnings = _quoted(text), _beginnings(normal)
    phrases = tuple(each for each in quoted if _is_searchable(each))
    return Query(
        words=tuple(words)[:MAX_LEXEMES],
        terms=tuple(terms)[:MAX_LEXEMES],
        phrases=phrases[:MAX_PHRASES],
        beginnings=beginnings[:MAX_BEGINNINGS],
        ids=_ids(text),
        short=tuple(dict.fromkeys(_SHORT.findall(normal))),
        silent=tuple(each for each in quoted if each not in phrases),
        truncated=truncated
        or max(len(words), len(terms)) > MAX_LEXEMES
        or len(phrases) > MAX_PHRASES
        or len(beginnings) > MAX_BEGINNINGS,
    )


def _quoted(text: str) -> tuple[str, ...]:
    found = (" ".join("".join(groups).split()) for groups in _PHRASE.findall(text))
    return tuple(dict.fromkeys(phrase for phrase in found if phrase))


def _beginnings(normal: str) -> tuple[str, ...]:
    found = (f"{fold(begun)}*" for begun in _BEGUN.findall(normal))
    return tuple(dict.fromkeys(found))


def _is_searchable(text: str) -> bool:
    return any(analyse(run)[0] for run in runs(prepared(text)[0]))


def _ids(text: str) -> tuple[str, ...]:
    found = [(at.start(), at[0].lower()) for at in _UUID.finditer(text)]
    found += [(at.start(), at[0]) for at in _HASH.finditer(_UUID.sub(" " * 36, text))]
    found += [(at.start(), at[0]) for at in _PREFIXED.finditer(text)]
    return tuple(dict.fromkeys(written for _, written in sorted(found)))
