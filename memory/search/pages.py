"""Terms in order with their postings, and the pages in which the index stores them.

A word of one entry takes its letters and some ten bytes of a page; a row of its own took a hundred,
and joining segments wrote that row anew.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BYTES",
    "COLUMNS",
    "PLACE",
    "SPOT",
    "Merging",
    "Page",
    "Run",
    "Stored",
    "merged",
    "pages",
    "postings",
    "run_of",
    "span",
    "spans",
]

BYTES: Final = 7_600
"""Bytes of a page, unless one term's posting has more; so many stand in a row of the database."""
PLACE: Final = 2
"""Bytes of an entry's number in its block."""
SPOT: Final = 2
"""Bytes of a position."""

_END: Final = "\n"  # which no term holds
_TERM: Final = 5  # bytes a term takes beside its letters and its posting: its line end, its size
_ENTRY: Final = PLACE + 1  # bytes of an entry, beside its positions


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
    sizes = letters + _ENTRY * ends + SPOT * spots + _TERM * np.arange(1, len(ends) + 1)
    begin = entry = spot = size = 0
    while begin < len(ends):
        end = max(begin + 1, int(np.searchsorted(sizes, size + BYTES, side="right")))
        behind, far = int(ends[end - 1]), int(spots[end - 1])
        yield Page(
            first=run.terms[begin],
            terms="".join([_END, _END.join(run.terms[begin:end]), _END]),
            sizes=run.sizes[begin:end],
            places=run.places[PLACE * entry : PLACE * behind],
            counts=run.counts[entry:behind],
            positions=run.positions[SPOT * spot : SPOT * far],
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
    for term, end, behind in zip(run.terms, ends.tolist(), (SPOT * spots).tolist(), strict=True):
        yield (
            term,
            Stored(places[PLACE * begin : PLACE * end], counts[begin:end], positions[spot:behind]),
        )
        begin, spot = end, behind


def span(terms: str, sizes: Sequence[int], term: str) -> tuple[int, int]:
    """Return where the entries of a page's term begin and end. Raises ValueError for any other."""
    number = terms.count(_END, 0, terms.index(f"{_END}{term}{_END}"))
    begin = sum(sizes[:number])
    return begin, begin + sizes[number]


def spans(begins: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of several spans, one behind the other, given where each begins."""
    before = np.cumsum(sizes) - sizes
    return np.repeat(begins - before, sizes) + np.arange(int(sizes.sum()))


def merged(some: Sequence[tuple[int, Run]]) -> Run:
    """Make several runs one; of one term, entries of runs with lower numbers come first."""
    terms = [term for _, run in some for term in run.terms]
    names = sorted(set(terms))
    ranks_of = {name: rank for rank, name in enumerate(names)}
    ranks = np.fromiter(map(ranks_of.__getitem__, terms), dtype=np.int64, count=len(terms))
    numbers = np.repeat([number for number, _ in some], [len(run.terms) for _, run in some])
    order = np.lexsort((numbers, ranks))
    sizes = np.array([size for _, run in some for size in run.sizes], dtype=np.int64)
    entries = spans((np.cumsum(sizes) - sizes)[order], sizes[order])
    counts = np.frombuffer(b"".join(run.counts for _, run in some), dtype=np.uint8)
    wide = counts.astype(np.int64)
    spots = spans((np.cumsum(wide) - wide)[entries], wide[entries])
    places = np.frombuffer(b"".join(run.places for _, run in some), dtype="<u2")
    positions = np.frombuffer(b"".join(run.positions for _, run in some), dtype="<u2")
    return Run(
        terms=names,
        sizes=np.bincount(ranks, sizes, len(names)).astype(np.int64).tolist(),
        places=places[entries].tobytes(),
        counts=counts[entries].tobytes(),
        positions=positions[spots].tobytes(),
    )


class Merging:
    """Runs that come in the order of their first terms, made one bit by bit."""

    def __init__(self) -> None:
        """Begin without any."""
        self._held: list[tuple[int, Run]] = []

    def add(self, number: int, run: Run) -> None:
        """Take a run, of entries with higher numbers than those of one with a lower ``number``."""
        self._held.append((number, run))

    def take(self, *, below: str | None = None) -> Run:
        """Give what was taken of the terms below another, or of all, and keep the rest."""
        if below is None:
            ready, self._held = self._held, []
            return merged(ready)
        halves = [(number, *_halves(run, below)) for number, run in self._held]
        self._held = [(number, rest) for number, _, rest in halves if rest.terms]
        return merged([(number, ready) for number, ready, _ in halves])


def _halves(run: Run, below: str) -> tuple[Run, Run]:
    """Return what a run holds of the terms below another, and the rest."""
    at = bisect_left(run.terms, below)
    entry = sum(run.sizes[:at])
    spot = SPOT * sum(run.counts[:entry])
    place = PLACE * entry
    return (
        Run(
            run.terms[:at],
            run.sizes[:at],
            run.places[:place],
            run.counts[:entry],
            run.positions[:spot],
        ),
        Run(
            run.terms[at:],
            run.sizes[at:],
            run.places[place:],
            run.counts[entry:],
            run.positions[spot:],
        ),
    )
