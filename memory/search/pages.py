"""Terms in order with their postings, and the pages in which the index stores them.

A word of one entry takes its letters and some ten bytes of a page; a row of its own took a hundred,
and joining segments wrote that row anew.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

__all__ = [
    "BYTES",
    "COLUMNS",
    "Merging",
    "Page",
    "Run",
    "Stored",
    "pages",
    "postings",
    "run_of",
    "span",
]

BYTES: Final = 7_600
"""Bytes of a page, unless one term's posting has more; so many stand in a row of the database."""

_END: Final = "\n"  # which no term holds
_TERM: Final = 5  # bytes a term takes beside its letters and its posting: its line end, its size
_PLACE: Final = 2
_ENTRY: Final = _PLACE + 1  # of an entry, beside its positions
_SPOT: Final = 2


class Stored(NamedTuple):
    """A posting as it is stored: what its entries' numbers, counts and positions are.

    ``places`` are uint16, the numbers in their block. ``counts`` are uint8. ``positions`` are
    uint16, as many for each entry as its count says; see `memory.search.packed`.
    """

    places: bytes
    counts: bytes
    positions: bytes


class Run(NamedTuple):
    """Terms in order; ``sizes`` says of each how many entries hold it.

    Their postings stand one behind the other, see `Stored`.
    """

    terms: Sequence[str]
    sizes: Sequence[int]
    places: bytes
    counts: bytes
    positions: bytes


class Page(NamedTuple):
    """A run as it is stored: its first term, and all of them with a line end around each."""

    first: str
    terms: str
    sizes: Sequence[int]
    places: bytes
    counts: bytes
    positions: bytes


COLUMNS: Final = ("segment", *Page._fields)
"""Of a page's row."""


def pages(run: Run) -> Iterator[Page]:
    """Cut a run into pages."""
    ends = np.cumsum(run.sizes, dtype=np.int64)
    spots = np.cumsum(np.frombuffer(run.counts, dtype=np.uint8), dtype=np.int64)[ends - 1]
    letters = np.cumsum([len(each.encode()) for each in run.terms], dtype=np.int64)
    sizes = letters + _ENTRY * ends + _SPOT * spots + _TERM * np.arange(1, len(ends) + 1)
    begin = entry = spot = size = 0
    while begin < len(ends):
        end = max(begin + 1, int(np.searchsorted(sizes, size + BYTES, side="right")))
        behind, far = int(ends[end - 1]), int(spots[end - 1])
        yield Page(
            first=run.terms[begin],
            terms="".join([_END, _END.join(run.terms[begin:end]), _END]),
            sizes=run.sizes[begin:end],
            places=run.places[_PLACE * entry : _PLACE * behind],
            counts=run.counts[entry:behind],
            positions=run.positions[_SPOT * spot : _SPOT * far],
        )
        begin, entry, spot, size = end, behind, far, int(sizes[end - 1])


def run_of(page: Page) -> Run:
    """Return what a page holds."""
    return Run(page.terms[1:-1].split(_END), *page[2:])


def postings(run: Run) -> Iterator[tuple[str, Stored]]:
    """Give each term of a run with its posting."""
    if not run.terms:
        return
    ends = np.cumsum(run.sizes, dtype=np.int64)
    spots = np.cumsum(np.frombuffer(run.counts, dtype=np.uint8), dtype=np.int64)[ends - 1]
    places, counts, positions = run[2:]
    begin = spot = 0
    for term, end, behind in zip(run.terms, ends.tolist(), (_SPOT * spots).tolist(), strict=True):
        yield (
            term,
            Stored(
                places[_PLACE * begin : _PLACE * end], counts[begin:end], positions[spot:behind]
            ),
        )
        begin, spot = end, behind


def span(terms: str, sizes: Sequence[int], term: str) -> tuple[int, int]:
    """Return where the entries of a page's term begin and end. Raises ValueError for any other."""
    number = terms.count(_END, 0, terms.index(f"{_END}{term}{_END}"))
    begin = sum(sizes[:number])
    return begin, begin + sizes[number]


class Merging:
    """Runs that are made one; those of one term are put together in the order of their numbers."""

    def __init__(self) -> None:
        """Begin without any."""
        self._held: defaultdict[str, list[tuple[int, Stored]]] = defaultdict(list)

    def add(self, number: int, run: Run) -> None:
        """Take a run; those of entries with higher numbers have a higher ``number``."""
        for term, stored in postings(run):
            self._held[term].append((number, stored))

    def take(self, *, below: str | None = None) -> Run:
        """Give what was taken of the terms below another, or of all, and keep the rest."""
        held = self._held
        terms = sorted(held if below is None else (term for term in held if term < below))
        sizes: list[int] = []
        some: list[Stored] = []
        for term in terms:
            found = held.pop(term)
            found.sort()
            sizes.append(sum(len(stored.counts) for _, stored in found))
            some += [stored for _, stored in found]
        places, counts, positions = zip(*some, strict=True) if some else ((), (), ())
        return Run(terms, sizes, b"".join(places), b"".join(counts), b"".join(positions))
