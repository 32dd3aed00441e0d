"""The words of a query as they were typed, for people; the index knows them as lexemes."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Final, TypeAlias

from memory.text import Query, query

__all__ = ["MAX_SHOWN", "Ways", "covered", "typed_words"]

MAX_SHOWN: Final = 80
"""Characters that an answer repeats of a typed word; a pasted file may be one word."""

Ways: TypeAlias = tuple[frozenset[str], ...]
"""How an entry may hold a typed word: with all lexemes of any of these."""

_MAX_WORDS: Final = 100  # as many as the index is asked for at most, about
_AROUND: Final = "\"'`.,:;!?()[]{}<>\u00ab\u00bb\u201c\u201d\u201e\u2018\u2019"


def typed_words(text: str) -> dict[str, Ways]:
    """Return the searchable words of a query as typed, each with the ways of holding it.

    An identifier is held whole or by all of its parts; any other word in any of its forms.
    """
    found: dict[str, Ways] = {}
    for piece in text.split():
        parsed = query(piece)
        ways = (*_ways(parsed), *(frozenset({each}) for each in parsed.beginnings))
        if ways:
            found.setdefault(piece.strip(_AROUND) or piece, ways)
        if len(found) == _MAX_WORDS:
            break
    return found


def covered(held: AbstractSet[str], words: Mapping[str, Ways]) -> tuple[str, ...]:
    """Return the typed words that an entry with these lexemes holds; long ones are cut."""
    return tuple(_shown(word) for word, ways in words.items() if any(way <= held for way in ways))


def _ways(parsed: Query) -> Ways:
    if not parsed.terms:
        return tuple(frozenset({each}) for each in parsed.words)
    # Of a path the index holds shorter forms too, which are found within the whole one.
    wholes = frozenset(
        each
        for each in parsed.terms
        if not any(each in other and each != other for other in parsed.terms)
    )
    return (wholes, frozenset(parsed.words)) if parsed.words else (wholes,)


def _shown(word: str) -> str:
    if len(word) <= MAX_SHOWN:
        return word
    return word[: MAX_SHOWN - 1] + "\N{HORIZONTAL ELLIPSIS}"
