"""Who speaks in an entry, and how much that counts."""

from collections.abc import Mapping
from typing import Final

from memory.drafts import HARNESS_ROLES, OWN_KINDS, Kind

__all__ = ["NOT_PROSE", "is_prose", "weight_of"]

_ROLES: Final[Mapping[str, float]] = {"reasoning": 0.8, "tool_call": 0.6, "tool_result": 0.4}
_VALUES: Final = frozenset({Kind.FACT, Kind.DECISION, Kind.PREFERENCE, Kind.PROJECT_STATE})
_VALUE_WEIGHT: Final = 1.2
NOT_PROSE: Final = (*_ROLES, *HARNESS_ROLES)
"""Roles of what is said to or by a tool, thought, or put in by a harness."""


def weight_of(kind: str, role: str | None) -> float:
    """Return the weight of who speaks: recorded values, prose, tool calls, tool output.

    In hundredths, as segments store it.
    """
    if kind in _VALUES:
        return _VALUE_WEIGHT
    return _ROLES.get(role or "", 1.0)


def is_prose(kind: str, role: str | None) -> bool:
    """Tell whether people would call an entry part of what was said in a session."""
    return kind not in OWN_KINDS and role not in NOT_PROSE
