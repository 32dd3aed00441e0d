"""The words of a query as they were typed, for people; the index knows them as lexemes."""

from collections.abc import Collection, Mapping
from typing import Final

from memory.search.candidates import Candidate
from memory.text import query

__all__ = ["MAX_SHOWN", "covered", "typed_words"]

MAX_SHOWN: Final = 80
"""Characters that an answer repeats of a typed word; a pasted file may be one word."""

_MAX_WORDS: Final = 100  # as many as the index is asked for at most, about
_AROUND: Final = "\"'`.,:;!?()[]{}<>\u00ab\u00bb\u201c\u201d\u201e\u2018\u2019"


def typed_words(text: str, searched: Collection[str] = ()) -> dict[str, frozenset[str]]:
    """Return the searchable words of a query as typed, each with its lexemes.

    Those of a word's beginning are the ones ``searched`` for that begin so.
    """
    found: dict[str, frozenset[str]] = {}
    for piece in text.split():
        parsed = query(piece)
        begun = {each for each in searched if each.startswith(parsed.beginnings or ("\0",))}
        lexemes = frozenset(parsed.lexemes) | begun
        if lexemes:
            found.setdefault(piece.strip(_AROUND) or piece, lexemes)
        if len(found) == _MAX_WORDS:
            break
    return found


def covered(candidate: Candidate, words: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """Return the typed words that an entry holds, wholly or in part; long ones are cut."""
    return tuple(
        _shown(word)
        for word, lexemes in words.items()
        if any(each in candidate.places for each in lexemes)
    )


def _shown(word: str) -> str:
    if len(word) <= MAX_SHOWN:
        return word
    return word[: MAX_SHOWN - 1] + "\N{HORIZONTAL ELLIPSIS}"
