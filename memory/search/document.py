"""An entry as a text search vector: its words, and its labels."""

from dataclasses import dataclass
from typing import Final

from memory import text
from memory.search.labels import CARRIED, labels
from memory.search.source import Source, searchable

__all__ = ["RULES", "Document", "document", "wordless"]

RULES: Final = 2
"""Version of what is indexed and how it is cut, `memory.text` included.

Raise it with every change that gives an entry other words or labels: the index is then filled
anew. A test holds a fingerprint of both.
"""

# The weight A is kept for what a search reads of a vector: these labels, and the words it looks
# for, to which it gives the weight itself.
_CARRIED: Final = ":1A"
_OTHER: Final = ":1C"


@dataclass(frozen=True, slots=True)
class Document:
    """The words of an entry as a ``tsvector`` literal, and how many words it has."""

    words: str
    length: int


def document(source: Source) -> Document:
    """Cut an entry into words, and add its labels. Never raises."""
    found = text.tokens(searchable(source))
    words = text.tsvector(found, weight="B")
    return Document(f"{words} {_labels(source)}".strip(), found.length)


def wordless(source: Source) -> Document:
    """Return the labels alone, for an entry whose words the database refuses."""
    return Document(_labels(source), 0)


def _labels(source: Source) -> str:
    return " ".join(
        f"'{label}'{_CARRIED if label.startswith(CARRIED) else _OTHER}" for label in labels(source)
    )
