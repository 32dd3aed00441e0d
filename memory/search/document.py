"""An entry as the index holds it: its words with their places, and its labels."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from memory import text
from memory.search.labels import CARRIED, labels
from memory.search.source import Source, searchable
from memory.search.voices import weight_of

__all__ = ["RULES", "Document", "document", "wordless"]

RULES: Final = 3
"""Version of what is indexed and how it is cut, `memory.text` included.

Raise it with every change that gives an entry other words or labels: the index is then filled
anew. A test holds a fingerprint of both.
"""

# The weight A is kept for what a search reads of a vector: these labels, and the words it looks
# for, to which it gives the weight itself.
_CARRIED: Final = ":1A"


@dataclass(frozen=True, slots=True)
class Document:
    """An entry's words and labels.

    ``places`` is a ``tsvector`` literal: where each word stands, and the labels that a search
    reads. ``counts`` says how often each word occurs, labels once. ``length`` is in words, stop
    words included; ``weight`` is that of who speaks.
    """

    places: str
    counts: Mapping[str, int]
    length: int
    weight: float


def document(source: Source) -> Document:
    """Cut an entry into words, and add its labels. Never raises."""
    found = text.tokens(searchable(source))
    named = labels(source)
    counts = {lexeme: len(positions) for lexeme, positions in found.positions.items()}
    return Document(
        places=f"{text.tsvector(found, weight='B')} {_carried(named)}".strip(),
        counts=counts | dict.fromkeys(named, 1),
        length=found.length,
        weight=weight_of(source.kind, source.role),
    )


def wordless(source: Source) -> Document:
    """Return the labels alone, for an entry whose words the database refuses."""
    named = labels(source)
    return Document(
        places=_carried(named),
        counts=dict.fromkeys(named, 1),
        length=0,
        weight=weight_of(source.kind, source.role),
    )


def _carried(named: list[str]) -> str:
    return " ".join(f"'{label}'{_CARRIED}" for label in named if label.startswith(CARRIED))
