"""Who speaks in an entry, and how much that counts."""

from collections.abc import Mapping
from typing import Final

from memory.drafts import Kind

__all__ = ["weight_of"]

_ROLES: Final[Mapping[str, float]] = {"reasoning": 0.8, "tool_call": 0.6, "tool_result": 0.4}
_VALUES: Final = frozenset({Kind.FACT, Kind.DECISION, Kind.PREFERENCE, Kind.PROJECT_STATE})
_VALUE_WEIGHT: Final = 1.2


def weight_of(kind: str, role: str | None) -> float:
    """Return the weight of who speaks: recorded values, prose, tool calls, tool output.

    In hundredths, as segments store it.
    """
    if kind in _VALUES:
        return _VALUE_WEIGHT
    return _ROLES.get(role or "", 1.0)
