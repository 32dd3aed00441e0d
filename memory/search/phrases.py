"""Which entries hold words at given distances, as a phrase does, over whole segments at once."""

import asyncio
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.ext.asyncio import AsyncSession

from memory.search import positions
from memory.search.matches import Matches, best_of, holding_all
from memory.search.packed import MAX_COUNT, WRAP
from memory.search.positions import Positions, Wanted

__all__ = ["in_order"]

Words = Sequence[tuple[int, str]]


async def in_order(
    session: AsyncSession, matches: Matches, words: Words, *, below: int, most: int
) -> list[int]:
    """Return the ordinals of so many matches in which words stand as given, the densest first.

    Words come with their own positions, in order. An entry that holds one of them more often than
    positions are kept counts as well. Numbers from ``below`` on are left out. Raises Moved.
    """
    lexemes = list(dict.fromkeys(lexeme for _, lexeme in words))
    found = await asyncio.to_thread(_wanted, matches, lexemes, below)
    read = await positions.read(session, [each for _, some in found for each in some])
    return await asyncio.to_thread(_best, found, read, words, lexemes, most)


_Holding = tuple[NDArray[np.intp], list[Wanted]]
"""The places in a segment that hold all of some lexemes, and these in the lexemes' postings."""


def _wanted(matches: Matches, lexemes: Sequence[str], below: int) -> list[_Holding]:
    found: list[_Holding] = []
    for segment, postings, places in holding_all(matches, lexemes):
        if segment.first < below and len(places):
            held = [postings[each] for each in lexemes]
            wanted = [Wanted(segment, each, np.searchsorted(each.places, places)) for each in held]
            found.append((places, wanted))
    return found


def _best(
    found: Sequence[_Holding],
    read: Sequence[Positions],
    words: Words,
    lexemes: Sequence[str],
    most: int,
) -> list[int]:
    values, ordinals = [np.zeros(0)], [np.zeros(0, dtype=np.int64)]
    for number, (places, wanted) in enumerate(found):
        some = read[number * len(lexemes) :][: len(lexemes)]
        held = {
            lexeme: (each.counts, stand)
            for lexeme, each, stand in zip(lexemes, wanted, some, strict=True)
        }
        segment = wanted[0].segment
        times = _times(held, words, len(places))
        holds = np.flatnonzero(times)
        values.append(times[holds] / np.maximum(segment.lengths[places[holds]], 1))
        ordinals.append(places[holds] + segment.first)
    return best_of(values, ordinals, most)


def _times(
    held: Mapping[str, tuple[NDArray[np.int64], Positions]], words: Words, entries: int
) -> NDArray[np.intp]:
    """Return how often words stand as given in each of some entries; once where it is not known.

    Of each lexeme it takes the counts and the positions in these entries.
    """
    rarest, *others = sorted(words, key=lambda word: len(held[word[1]][1]))
    starts = _starts(*held[rarest[1]], rarest[0])
    for at, lexeme in others:
        starts = starts[np.isin(starts, _starts(*held[lexeme], at), assume_unique=True)]
    times = np.bincount(starts // WRAP, minlength=entries)
    for counts, _ in held.values():
        times[counts == MAX_COUNT] += 1
    return times


def _starts(counts: NDArray[np.int64], stand: Positions, at: int) -> NDArray[np.int64]:
    """Return where the words would begin of which one stands where it does, entry by entry."""
    return np.repeat(np.arange(len(counts)) * WRAP, counts) + (stand.astype(np.int64) - at) % WRAP
