"""Pages: runs of a segment's terms, in order, with their postings, as the index stores them.

A word of one entry takes its letters and some ten bytes of a page; a row of its own took a hundred,
and joining segments wrote that row anew.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

__all__ = ["BYTES", "COLUMNS", "Page", "Stored", "page_of", "pages", "postings", "span"]

BYTES: Final = 7_600
"""Bytes of a page, unless one term's posting has more; so many stand in a row of the database."""

_END: Final = "\n"  # which no term holds
_EACH: Final = 5  # bytes a term takes beside its letters and its posting: its line end, its size


class Stored(NamedTuple):
    """A posting as it is stored: what its entries' numbers, counts and positions are.

    ``places`` are uint16, the numbers in their block. ``counts`` are uint8. ``positions`` are
    uint16, as many for each entry as its count says; see `memory.search.packed`.
    """

    places: bytes
    counts: bytes
    positions: bytes


class Page(NamedTuple):
    """A page: its first term, all of them with a line end around each, and their postings.

    ``sizes`` says for each term how many entries hold it; the postings stand one behind the other.
    """

    first: str
    terms: str
    sizes: Sequence[int]
    places: bytes
    counts: bytes
    positions: bytes


COLUMNS: Final = ("segment", *Page._fields)
"""Of a page's row."""


def pages(postings: Iterable[tuple[str, Stored]]) -> Iterator[Page]:
    """Give the pages of some postings, which come in the order of their terms."""
    held: list[tuple[str, Stored]] = []
    size = 0
    for term, stored in postings:
        own = _EACH + len(term.encode()) + sum(map(len, stored))
        if held and size + own > BYTES:
            yield page_of(held)
            held, size = [], 0
        held.append((term, stored))
        size += own
    if held:
        yield page_of(held)


def page_of(held: Sequence[tuple[str, Stored]]) -> Page:
    """Return the page of some postings; there is at least one."""
    places, counts, positions = zip(*(stored for _, stored in held), strict=True)
    return Page(
        first=held[0][0],
        terms="".join([_END, _END.join(term for term, _ in held), _END]),
        sizes=[len(each) for each in counts],
        places=b"".join(places),
        counts=b"".join(counts),
        positions=b"".join(positions),
    )


def postings(page: Page) -> Iterator[tuple[str, Stored]]:
    """Give a page's postings with their terms, in order."""
    begin = spot = 0
    for term, size in zip(page.terms[1:-1].split(_END), page.sizes, strict=True):
        end = begin + size
        counts = page.counts[begin:end]
        behind = spot + 2 * sum(counts)
        yield term, Stored(page.places[2 * begin : 2 * end], counts, page.positions[spot:behind])
        begin, spot = end, behind


def span(terms: str, sizes: Sequence[int], term: str) -> tuple[int, int]:
    """Return where the entries of a page's term begin and end. Raises ValueError for any other."""
    number = terms.count(_END, 0, terms.index(f"{_END}{term}{_END}"))
    begin = sum(sizes[:number])
    return begin, begin + sizes[number]
