"""What an answer says in words about how far it can be trusted."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from memory.search.candidates import Candidate
from memory.search.words import covered
from memory.text import Query, displayable, query

__all__ = ["note_of"]

_SHOWN: Final = 80


def note_of(
    parsed: Query,
    words: Mapping[str, Collection[str]],
    candidates: Collection[Candidate],
    *,
    closest: Collection[Candidate],
    phrases: Sequence[Collection[object]],
    named: int,
    is_near: bool,
    is_filtered: bool,
) -> str:
    """Return one sentence when nothing matched exactly, else an empty text.

    ``closest`` are the best of the candidates, ``phrases`` the entries found for each of the
    query's; ``named`` counts those found by id; ``is_near`` tells of entries near in meaning.
    """
    if named:
        return ""
    if not candidates:
        if is_near:
            return "No entry holds any of the words; these are near in meaning."
        return "No entry matches" + (" with these filters." if is_filtered else ".")
    for phrase, found in zip(parsed.phrases, phrases, strict=False):
        if not found:
            return f'No entry holds the phrase "{_shown(phrase)}"; these hold words of it.'
    return _of_words(words, candidates, closest)


def _of_words(
    words: Mapping[str, Collection[str]],
    candidates: Collection[Candidate],
    closest: Collection[Candidate],
) -> str:
    missing = _shown(_missing_identifier(words, candidates))
    if missing:
        return f"No entry holds {missing} as written; these hold parts of it or other words."
    most = max(len(covered(each, words)) for each in closest)
    if most < len(words):
        return f"No entry holds all {len(words)} words; the closest hold {most} of them."
    return ""


def _missing_identifier(
    words: Mapping[str, Collection[str]], candidates: Collection[Candidate]
) -> str:
    """Return the first word typed that looks like an identifier and stands nowhere as a whole."""
    for word in words:
        whole = query(word).terms[:1]  # the longest form comes first
        if whole and not any(whole[0] in each.places for each in candidates):
            return word
    return ""


def _shown(text: str) -> str:
    text = displayable(text)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "\N{HORIZONTAL ELLIPSIS}"
