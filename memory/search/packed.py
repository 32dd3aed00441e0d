"""An entry's terms with their positions, so packed that they are handed over at little cost."""

from array import array
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

__all__ = ["MAX_COUNT", "WRAP", "Packed", "pack", "stand_in_order"]

MAX_COUNT: Final = 255
"""A term's occurrences in one entry are counted, and their positions kept, up to here."""
WRAP: Final = 65_536
"""Positions are kept modulo this number: two bytes each, and distances stay right."""


class Packed(NamedTuple):
    """The terms of an entry, each once.

    ``counts`` is uint8, how often each occurs; ``positions`` is uint16 in this machine's order of
    bytes: as many for each term as it has occurrences, numbers of words from 0, modulo WRAP.
    """

    terms: Sequence[str]
    counts: bytes
    positions: bytes


def pack(positions: Mapping[str, Sequence[int]], labels: Sequence[str] = ()) -> Packed:
    """Return an entry's words, given where they stand, and its labels, each at position 0."""
    counts = bytearray()
    numbers = array("H")
    for some in positions.values():
        kept = some if len(some) <= MAX_COUNT else some[:MAX_COUNT]
        counts.append(len(kept))
        numbers.extend(kept if kept[-1] < WRAP else [each % WRAP for each in kept])
    numbers.extend(array("H", [0]) * len(labels))
    return Packed((*positions, *labels), bytes(counts) + b"\1" * len(labels), numbers.tobytes())


def stand_in_order(
    positions: Mapping[str, Sequence[int]], words: Sequence[tuple[int, str]]
) -> bool:
    """Tell whether some words, given with their own positions, stand at these distances."""
    if any(lexeme not in positions for _, lexeme in words):
        return False
    begin = words[0][0]
    starts = set(positions[words[0][1]])
    for at, lexeme in words[1:]:
        starts &= {place - (at - begin) for place in positions[lexeme]}
    return bool(starts)
