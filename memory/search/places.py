"""Where the words of an entry stand, so packed that a few can be read without the others."""

import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

__all__ = ["Places", "pack", "stand_in_order", "unpack"]

_END: Final = "\n"  # which no lexeme holds
_NARROW: Final = 65_535  # the highest number that takes two bytes


class Places(NamedTuple):
    """The positions of an entry's lexemes, numbers of words from 0, as they are stored.

    ``lexemes`` are written one behind the other, a line end around each. ``ends`` says for each how
    many ``positions`` there are up to its last. Both are uint16; positions are uint32 in an entry of
    more words than that, and ends in one of more positions.
    """

    lexemes: str
    ends: bytes
    positions: bytes


def pack(positions: Mapping[str, Sequence[int]], *, length: int) -> Places:
    """Return the places of an entry's lexemes, given its length in words."""
    numbers = array(_code(length))
    ends = array(_code(sum(map(len, positions.values()))))
    for each in positions.values():
        numbers.extend(each)
        ends.append(len(numbers))
    lexemes = "".join([_END, _END.join(positions), _END]) if positions else ""
    return Places(lexemes, _little(ends), _little(numbers))


def unpack(stored: Places, wanted: Iterable[str], *, length: int) -> dict[str, list[int]]:
    """Return the positions of those of the wanted lexemes that the entry holds."""
    found: dict[str, list[int]] = {}
    code = _code(length)
    ends = _code(len(stored.positions) // array(code).itemsize)
    for lexeme in wanted:
        at = stored.lexemes.find(f"{_END}{lexeme}{_END}")
        if at >= 0:
            number = stored.lexemes.count(_END, 0, at)
            first = _slice(ends, stored.ends, number - 1, number)[0] if number else 0
            last = _slice(ends, stored.ends, number, number + 1)[0]
            found[lexeme] = _slice(code, stored.positions, first, last).tolist()
    return found


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


def _code(highest: int) -> str:
    """Return the type code of numbers up to this one."""
    return "H" if highest <= _NARROW else "I"


def _slice(code: str, stored: bytes, first: int, last: int) -> "array[int]":
    """Return some of the numbers that are stored."""
    numbers = array(code)
    size = numbers.itemsize
    numbers.frombytes(stored[first * size : last * size])
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _little(numbers: "array[int]") -> bytes:
    """Return the numbers as they are stored: the low byte first."""
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()
