"""What one line of a rollout is, in every era of Codex.

Eras are told by the line itself, since one file may hold several: bare items (0.20), or items
wrapped in ``{timestamp, type, payload}`` (0.47 and later, whatever ``history_mode`` says).
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from importers.base import moment
from importers.tail import Malformed

__all__ = ["Line", "LineKind", "line_of"]


class LineKind(StrEnum):
    """What a line is for."""

    HEADER = "header"
    CONTEXT = "context"
    ITEM = "item"
    EVENT = "event"
    COMPACTED = "compacted"
    OTHER = "other"


_WRAPPED: Final = {
    "session_meta": LineKind.HEADER,
    "turn_context": LineKind.CONTEXT,
    "response_item": LineKind.ITEM,
    "event_msg": LineKind.EVENT,
    "compacted": LineKind.COMPACTED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line without its wrapping.

    ``name`` is the type of its content; ``at`` is None in the bare era, whose lines have no time;
    ``metadata`` stands beside the payload since 0.171 and tells what the harness wrote.
    """

    kind: LineKind
    name: str
    payload: dict[str, Any]
    at: datetime | None
    metadata: dict[str, Any]


def line_of(value: dict[str, Any]) -> Line:
    """Tell what a line is. Raises Malformed when no version of Codex writes such a line."""
    payload = value.get("payload")
    if isinstance(payload, dict):
        outer = str(value.get("type"))
        return Line(
            kind=_WRAPPED.get(outer, LineKind.OTHER),
            name=str(payload.get("type", outer)),
            payload=payload,
            at=moment(value.get("timestamp")),
            metadata=value.get("metadata") or {},
        )
    kind, name = _bare(value)
    return Line(kind=kind, name=name, payload=value, at=None, metadata={})


def _bare(value: dict[str, Any]) -> tuple[LineKind, str]:
    if "record_type" in value:
        return LineKind.OTHER, str(value["record_type"])
    if "type" in value:
        return LineKind.ITEM, str(value["type"])
    if "id" in value:
        return LineKind.HEADER, "session_meta"
    raise Malformed("neither a session's header nor an item of it")
