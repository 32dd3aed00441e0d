"""An entry as the index holds it: its words with their positions, and its labels."""

from dataclasses import dataclass
from typing import Final

from memory import text
from memory.search.labels import carried, labels
from memory.search.packed import Packed, pack
from memory.search.source import Source, searchable
from memory.search.voices import weight_of

__all__ = ["RULES", "Document", "document"]

RULES: Final = 5
"""Version of what is indexed and how it is cut, `memory.text` included.

Raise it with every change that gives an entry other words or labels: the index is then filled
anew. A test holds a fingerprint of both.
"""


@dataclass(frozen=True, slots=True)
class Document:
    """An entry's words and labels.

    ``carried`` are the values of the labels that a search reads. ``length`` is in words, stop words
    included; ``weight`` is that of who speaks.
    """

    packed: Packed
    carried: str
    length: int
    weight: float


def document(source: Source) -> Document:
    """Cut an entry into words, and add its labels. Never raises."""
    found = text.tokens(searchable(source))
    return Document(
        packed=pack(found.positions, labels(source)),
        carried=carried(source),
        length=found.length,
        weight=weight_of(source.kind, source.role),
    )
