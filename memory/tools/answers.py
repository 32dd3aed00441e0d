"""Answers: one JSON object as compact text, of bounded size.

Every client shows a text of this form alike. Codex keeps about 12,000 characters and drops the
middle of anything longer, so an answer ends itself before that and says what it left out.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from memory.errors import LedgerError

__all__ = [
    "MAX_ANSWER_BYTES",
    "cut",
    "encode",
    "failure",
    "longest",
    "room",
    "size",
    "success",
    "that_fit",
]

MAX_ANSWER_BYTES: Final = 10_000
NOTES_BYTES: Final = 1_000  # kept free for notes, cursors and totals


def encode(answer: Mapping[str, Any]) -> str:
    """Return an answer as compact JSON text, which UTF-8 can always carry."""
    text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def size(value: Any) -> int:
    """Return the bytes that a JSON value takes in an answer."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return len(text.encode("utf-8", "replace"))


def room(answer: Mapping[str, Any]) -> int:
    """Return how many bytes may still be added to an answer, notes and cursors apart."""
    return MAX_ANSWER_BYTES - NOTES_BYTES - size(answer)


def success(answer: Mapping[str, Any], notes: Iterable[str] = ()) -> dict[str, Any]:
    """Return an answer with the mark that all went well in front, and the notes at the end."""
    said = [*answer.get("notes", ()), *notes]
    body = {name: value for name, value in answer.items() if name != "notes"}
    return {"is_error": False, **body, **({"notes": said} if said else {})}


def failure(error: LedgerError) -> dict[str, Any]:
    """Return the answer to a call that failed: the mark, a code, and what to do next."""
    shown = {
        name: value
        for name, value in error.details.items()
        if name not in {"is_error", "code", "error"}
    }
    return {"is_error": True, "code": error.code, "error": str(error), **shown}


def that_fit(items: Iterable[Any], most: int) -> list[Any]:
    """Return the first items that together take at most so many bytes, at least one."""
    kept: list[Any] = []
    for item in items:
        most -= size(item) + 1
        if most < 0 and kept:
            break
        kept.append(item)
    return kept


def longest(length: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number up to ``length`` that fits; what fits, fits when it is less."""
    low, high = 0, length
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def cut(text: str, most: int) -> str:
    """Return as much of a text as takes at most so many bytes in an answer."""
    head = text[: max(most, 0)]
    return head[: longest(len(head), lambda length: size(head[:length]) - 2 <= most)]
