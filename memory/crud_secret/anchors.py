"""Where in a text credentials may begin: every anchor of every rule, found in one look.

A rule begins with a few fixed characters, its anchor, and its pattern is matched there alone.
Looking for each of more than a hundred anchors by itself would cost most of the whole scan.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Final

from ahocorasick_rs import BytesAhoCorasick, Implementation

__all__ = ["CHUNK", "Anchors", "Places", "encoded"]

Places = Mapping[str, Sequence[int]]
"""The indexes at which each anchor stands that is in a text at all, in order."""

CHUNK: Final = 256 * 1024
"""Bytes that are searched at once; what is found takes up to a hundred times their room."""

# In UTF-8 these bytes go on with a character that another byte began.
_CONTINUATION: Final = bytes(range(0x80, 0xC0))
# The only characters beyond ASCII whose lower case is a letter of ASCII: patterns that ignore case
# take the one for the other.
_LOWERED: Final = {0x212A: "k", 0x0130: "i"}


class Anchors:
    """A set of anchors that texts are searched for: ``exact`` ones, and ``words`` in any case."""

    def __init__(self, *, exact: Iterable[str], words: Iterable[str]) -> None:
        """Prepare the search. Words are short and in lower case: each spelling is listed."""
        names = {anchor: anchor for anchor in exact}
        for word in words:
            names |= {
                "".join(each): word for each in product(*zip(word, word.upper(), strict=True))
            }
        patterns = [spelling.encode() for spelling in names]
        self._names = list(names.values())
        self._beyond = max(map(len, patterns)) - 1
        self._search = BytesAhoCorasick(patterns, implementation=Implementation.DFA)

    def places(self, text: str, written: bytes) -> Places:
        """Return where the anchors stand in a text; ``written`` is `encoded` of it."""
        is_ascii = len(written) == len(text)
        if not is_ascii and ("\u212a" in text or "\u0130" in text):
            written = encoded(text.translate(_LOWERED))
        found: defaultdict[str, array[int]] = defaultdict(partial(array, "q"))
        count = len if is_ascii else _characters
        first = 0  # the index of the chunk's first character
        for begin in range(0, len(written), CHUNK):
            chunk = written[begin : begin + CHUNK + self._beyond]
            index, looked = first, 0
            for number, start, end in self._search.find_matches_as_indexes(chunk, overlapping=True):
                if start < CHUNK:  # else it is the next chunk's
                    index += count(chunk[looked:end])
                    looked = end
                    found[self._names[number]].append(index - (end - start))
            first += count(chunk[:CHUNK])
        return found


def encoded(text: str) -> bytes:
    """Return any text as UTF-8, lone surrogates too."""
    return text.encode("utf-8", "surrogatepass")


def _characters(written: bytes) -> int:
    """Count the characters that begin in a piece of a text."""
    return len(written.translate(None, _CONTINUATION))
