"""Looking at the end of a client's file for what a hook said stands there."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from importers.hooks import checksum

__all__ = ["is_said"]

_TAIL_BYTES: Final = 1 << 20


def is_said(path: Path, told: str) -> bool:
    """Tell whether a complete line at the end of a client's file says the text of a checksum.

    Raises OSError.
    """
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL_BYTES))
        lines = file.read(_TAIL_BYTES).split(b"\n")
    for line in reversed(lines[:-1]):
        try:
            texts = list(_texts(json.loads(line)))
        except (ValueError, RecursionError):
            continue
        if any(checksum(text) == told for text in texts):
            return True
    return False


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)
