"""Which entries hold words at given distances, as a phrase does, over whole segments at once."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.ext.asyncio import AsyncSession

from memory.search import positions
from memory.search.matches import Matches, best_of, holding_all, top
from memory.search.packed import MAX_COUNT, WRAP
from memory.search.positions import Wanted, WordNumbers
from memory.search.segments import Posting, Segment

__all__ = ["MAX_CHECKED", "Likely", "Words", "in_order"]

MAX_CHECKED: Final = 10_000
"""Likeliest entries with all of some words of which the positions of these are read."""

Words = Sequence[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Likely:
    """The ordinals of entries in which words stand in order, and whether no other was left out."""

    ordinals: Sequence[int]
    is_all: bool


async def in_order(
    session: AsyncSession, matches: Matches, words: Words, *, below: int, most: int
) -> Likely:
    """Return so many matches in which words stand as given, the densest first.

    Words come with their own positions, in order. An entry that holds one of them more often than
    positions are kept counts as well. Numbers from ``below`` on are left out. Raises Moved.
    """
    lexemes = list(dict.fromkeys(lexeme for _, lexeme in words))
    found, is_all = await asyncio.to_thread(_wanted, matches, lexemes, below)
    read = await positions.read(session, [each for _, some in found for each in some])
    best = await asyncio.to_thread(_best, found, read, words, lexemes, most + 1)
    return Likely(best[:most], is_all and len(best) <= most)


_Holding = tuple[NDArray[np.intp], list[Wanted]]
"""The places in a segment that hold all of some lexemes, and these in the lexemes' postings."""


def _wanted(matches: Matches, lexemes: Sequence[str], below: int) -> tuple[list[_Holding], bool]:
    """Return the likeliest places that hold all lexemes, and whether these are all."""
    holding = [
        (segment, [postings[each] for each in lexemes], places)
        for segment, postings, places in holding_all(matches, lexemes)
        if segment.first < below and len(places)
    ]
    if not holding:
        return [], True
    bounds = np.cumsum([0, *(len(places) for *_, places in holding)])
    is_all = bool(bounds[-1] <= MAX_CHECKED)
    likeliest = np.arange(bounds[-1])
    if not is_all:
        likelihoods = np.concatenate([_likelihood(*each) for each in holding])
        likeliest = np.sort(top(likelihoods, MAX_CHECKED))
    found: list[_Holding] = []
    for (segment, some, places), first in zip(holding, bounds.tolist(), strict=False):
        low, high = np.searchsorted(likeliest, (first, first + len(places)))
        kept = places[likeliest[low:high] - first]
        if len(kept):
            at = [np.searchsorted(each.places, kept) for each in some]
            found.append((kept, [Wanted(segment, *each) for each in zip(some, at, strict=True)]))
    return found, is_all


def _likelihood(
    segment: Segment, postings: Sequence[Posting], places: NDArray[np.intp]
) -> NDArray[np.float32]:
    """Return how likely words stand side by side: the more often all stand among few words."""
    key = (1 - len(postings)) * np.log(np.maximum(segment.lengths[places], 1))
    for each in postings:
        counts = each.counts[np.searchsorted(each.places, places)]
        key += np.log(counts.astype(np.float32))
    return key


def _best(
    found: Sequence[_Holding],
    read: Sequence[WordNumbers],
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
    held: Mapping[str, tuple[NDArray[np.int64], WordNumbers]], words: Words, entries: int
) -> NDArray[np.intp]:
    """Return how often words stand as given in each of some entries; once where none is known of.

    That is so where one occurs more often than positions are kept. Of each lexeme it takes the
    counts and the positions in these entries.
    """
    rarest, *others = sorted(words, key=lambda word: len(held[word[1]][1]))
    starts = _starts(*held[rarest[1]], rarest[0])
    for at, lexeme in others:
        starts = starts[np.isin(starts, _starts(*held[lexeme], at))]
    times = np.bincount(starts // WRAP, minlength=entries)
    is_unknown = np.logical_or.reduce([counts == MAX_COUNT for counts, _ in held.values()])
    times[is_unknown & (times == 0)] = 1
    return times


def _starts(counts: NDArray[np.int64], stand: WordNumbers, at: int) -> NDArray[np.int64]:
    """Return where the words would begin of which one stands where it does, entry by entry."""
    return np.repeat(np.arange(len(counts)) * WRAP, counts) + (stand.astype(np.int64) - at) % WRAP
