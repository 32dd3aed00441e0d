"""What begins as a query asks (``word*``): many words of the index, searched for as one lexeme."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from memory.search import tail
from memory.search.matches import Postings
from memory.search.segments import Segment, together
from memory.search.source import Source

__all__ = ["letters_of", "with_beginnings", "words_among", "words_of"]


def letters_of(beginning: str) -> str:
    """Return the beginning itself, without the ``*`` that ends it in a query."""
    return beginning.rstrip("*")


def words_among(
    postings: Iterable[Postings], beginnings: Collection[str]
) -> dict[str, frozenset[str]]:
    """Return for each beginning the words that begin so and have a posting."""
    terms = {term for some in postings for term in some}
    return {each: _beginning(terms, each) for each in beginnings}


def words_of(sources: Sequence[Source], beginnings: Collection[str]) -> dict[str, frozenset[str]]:
    """Return for each beginning the words that begin so and stand in some entries."""
    terms = tail.words_of(sources) if beginnings else set()
    return {each: _beginning(terms, each) for each in beginnings}


def with_beginnings(
    segment: Segment, postings: Postings, words: Mapping[str, Collection[str]]
) -> Postings:
    """Add what holds any of the words of each beginning, as the posting of one lexeme."""
    added = {
        beginning: together(
            [postings[each] for each in some if each in postings], entries=segment.entries
        )
        for beginning, some in words.items()
    }
    return {**postings, **added} if added else postings


def _beginning(terms: Iterable[str], beginning: str) -> frozenset[str]:
    letters = letters_of(beginning)
    return frozenset(each for each in terms if each.startswith(letters))
