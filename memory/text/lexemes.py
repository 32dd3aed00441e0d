"""Tokens as PostgreSQL's tsvector and tsquery literals."""

from typing import Final, Literal

from memory.text.tokeniser import Tokens

__all__ = [
    "MAX_POSITION",
    "MAX_POSITIONS",
    "MAX_TSVECTOR_BYTES",
    "tsquery_word",
    "tsvector",
]

MAX_POSITION: Final = 16_383
"""PostgreSQL's highest position; a later word stands there."""
MAX_POSITIONS: Final = 256
"""PostgreSQL keeps no more positions of one lexeme."""
MAX_TSVECTOR_BYTES: Final = 900_000
"""Lexemes and positions of one tsvector; PostgreSQL's own limit is 1,048,575."""


def tsvector(tokens: Tokens, *, weight: Literal["A", "B", "C", "D"] = "B") -> str:
    """Render tokens for ``::tsvector``, every position with this weight.

    Lexemes that come first in the text are kept if all together exceed MAX_TSVECTOR_BYTES.
    """
    letter = "" if weight == "D" else weight  # D is the default and has no letter
    parts = []
    room = MAX_TSVECTOR_BYTES
    for lexeme, positions in tokens.positions.items():
        kept = positions[:MAX_POSITIONS]
        room -= len(lexeme.encode()) + 4 + 2 * len(kept)
        if room < 0:
            break
        places = f"{letter},".join([str(min(at + 1, MAX_POSITION)) for at in kept])
        parts.append(f"{tsquery_word(lexeme)}:{places}{letter}")
    return " ".join(parts)


def tsquery_word(term: str) -> str:
    """Quote one lexeme for ``::tsquery`` (and ``::tsvector``); it is taken as it stands."""
    return "'" + term.replace("\\", "\\\\").replace("'", "''") + "'"
