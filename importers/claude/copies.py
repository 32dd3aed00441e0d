"""Sessions that old versions resumed by copying them, with a new uuid for every row.

Versions before 1.0.103 wrote the whole history into a new file and kept only the ids of the
model's messages and of tool calls. Such a copy is a leading block, so it is found by comparing
row with row from the beginning; equal texts elsewhere are real repetitions and stay.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from importers.claude.blocks import blocks_of
from importers.claude.head import is_kept
from importers.regular import opened
from importers.tail import Malformed, decode

__all__ = ["copied_uuids"]

Key = tuple[tuple[str, ...], ...]


def copied_uuids(path: Path, older: Sequence[Path]) -> dict[str, str]:
    """Return the uuids of the leading rows that older files have, with the uuid they have there.

    ``older`` are the files of the same folder that began before, oldest first. A common beginning
    counts only when it holds an answer of the model, which has an id of its own: two sessions may
    begin with the same words. Raises OSError.
    """
    owners: list[str] = []
    for each in older:
        common = _common(path, each)
        owners += common[len(owners) :]
    uuids = (uuid for uuid, _ in _rows(path))
    return dict(zip(uuids, owners, strict=False))


def _common(path: Path, other: Path) -> list[str]:
    """Return the other file's uuids of the rows with which both files begin."""
    uuids: list[str] = []
    is_proven = False
    for (_, ours), (uuid, theirs) in zip(_rows(path), _rows(other), strict=False):
        if ours != theirs:
            break
        uuids.append(uuid)
        is_proven = is_proven or any(part[0] == "answer" for part in ours)
    return uuids if is_proven else []


def _rows(path: Path) -> Iterator[tuple[str, Key]]:
    with opened(path) as file:
        for line in file:
            try:
                row = decode(line)
                if is_kept(row) and not row.get("isSidechain"):
                    yield row["uuid"], _key(row)
            except Malformed:
                continue  # the reader of the whole file reports it


def _key(row: dict[str, Any]) -> Key:
    if row["type"] == "system":
        return (("boundary",),)
    message = row.get("message")
    return tuple(_block_key(row, message, block) for block in blocks_of(message))


def _block_key(row: dict[str, Any], message: Any, block: Any) -> tuple[str, ...]:
    if not isinstance(block, dict):
        return ("text", _digest(block))
    if row["type"] == "assistant":
        rest = block.get("id") or _digest(block)
        return ("answer", str(message.get("id")), str(block.get("type")), str(rest))
    if block.get("type") == "tool_result":
        return ("result", str(block.get("tool_use_id")))
    if block.get("type") == "text":
        return ("text", _digest(str(block.get("text")).strip()))
    return ("block", _digest(block))


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
