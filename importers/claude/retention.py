"""How long Claude Code keeps its transcripts."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

__all__ = ["DEFAULT_DAYS", "retention_days", "writes_nothing"]

DEFAULT_DAYS: Final = 30

_SETTING: Final = "cleanupPeriodDays"
_SWITCH: Final = "CLAUDE_CODE_SKIP_PROMPT_HISTORY"


def retention_days(root: Path) -> int:
    """Return after how many days the client deletes a transcript; 0 means it writes none."""
    try:
        settings = json.loads((root / "settings.json").read_bytes())
    except (OSError, ValueError):
        return DEFAULT_DAYS  # as the client itself takes a file that is missing or broken
    days = settings.get(_SETTING) if isinstance(settings, dict) else None
    return days if isinstance(days, int) and not isinstance(days, bool) else DEFAULT_DAYS


def writes_nothing(root: Path, environment: Mapping[str, str]) -> str:
    """Return the setting that keeps the client from writing transcripts, or an empty string."""
    if environment.get(_SWITCH):
        return _SWITCH
    return "" if retention_days(root) > 0 else f"{_SETTING} = {retention_days(root)}"
