"""What an answer says in words about how far it can be trusted."""

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from memory.search.exact import Quoted
from memory.search.words import Ways, covered
from memory.text import Query, displayable, query

__all__ = ["left_out", "note_of"]

_SHOWN: Final = 80
_FEW: Final = 3  # sentences of one kind


def note_of(
    parsed: Query,
    words: Mapping[str, Ways],
    held: Mapping[str, int],
    *,
    closest: Collection[AbstractSet[str]],
    phrases: Sequence[Quoted],
    named: int,
    is_near: bool,
    is_filtered: bool,
) -> str:
    """Return one sentence when nothing matched exactly, else an empty text.

    ``held`` counts for each lexeme the entries that hold it; ``closest`` are the lexemes of the
    best of them, ``phrases`` what was found for each of the query's; ``named`` counts those found by
    id; ``is_near`` tells of entries near in meaning.
    """
    if named:
        return ""
    if not any(held.values()):
        if is_near:
            return "No entry holds any of the words; these are near in meaning."
        return "No entry matches" + (" with these filters." if is_filtered else ".")
    for phrase, found in zip(parsed.phrases, phrases, strict=False):
        if not found.entries:
            none = "No entry" if found.is_complete else "None of the likeliest entries"
            return f'{none} holds the phrase "{_shown(phrase)}"; these hold words of it.'
    return _of_words(words, held, closest)


def left_out(parsed: Query) -> list[str]:
    """Return a sentence for each part of a query that was not searched for as it was written."""
    sentences = [
        f"{each} has too few letters for a beginning, which needs three; it was taken as a word."
        for each in parsed.short[:_FEW]
    ]
    sentences += [
        f'The phrase "{_shown(each)}" has no word that can be searched for and was left out.'
        for each in parsed.silent[:_FEW]
    ]
    if parsed.truncated:
        sentences.append("Only a part of this long query was searched for.")
    return sentences


def _of_words(
    words: Mapping[str, Ways],
    held: Mapping[str, int],
    closest: Collection[AbstractSet[str]],
) -> str:
    missing = _shown(_missing_identifier(words, held))
    if missing:
        return f"No entry holds {missing} as written; these hold parts of it or other words."
    most = max((len(covered(each, words)) for each in closest), default=0)
    if most < len(words):
        return f"No entry holds all {len(words)} words; the closest hold {most} of them."
    return ""


def _missing_identifier(words: Mapping[str, Ways], held: Mapping[str, int]) -> str:
    """Return the first word typed that looks like an identifier and stands nowhere as a whole."""
    for word in words:
        parsed = query(word)
        whole = parsed.terms[:1]  # the longest form comes first
        if whole and not any(held.get(each) for each in (*whole, *parsed.beginnings)):
            return word
    return ""


def _shown(text: str) -> str:
    text = displayable(text)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "\N{HORIZONTAL ELLIPSIS}"
