"""How long Claude Code keeps its transcripts.

It deletes those that were not written to for ``cleanupPeriodDays`` days when it starts
(code.claude.com/docs/en/settings). The setting may stand in several files; the first of these that
has it counts: managed, the local and the shared one of the project it is started in, the user's.
Only the project of the present directory is looked at: directories that transcripts name may be
anywhere, and to touch them makes some systems ask the user for permission.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = [
    "DEFAULT_DAYS",
    "Due",
    "Retention",
    "due",
    "retention",
    "retention_days",
    "settings_files",
    "writes_nothing",
]

DEFAULT_DAYS: Final = 30

_SETTING: Final = "cleanupPeriodDays"
_SWITCH: Final = "CLAUDE_CODE_SKIP_PROMPT_HISTORY"
_MANAGED: Final = (
    Path("/Library/Application Support/ClaudeCode/managed-settings.json")
    if sys.platform == "darwin"
    else Path("/etc/claude-code/managed-settings.json")
)
_DAY: Final = 86_400.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """After how many days transcripts are deleted, and the file that says so; none: the default.

    0 days mean that the client writes no transcripts.
    """

    days: int
    file: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A transcript that the client will delete, and in how many days; 0: when it starts next."""

    path: str
    days_left: float


def settings_files(root: Path, *, here: Path | None = None) -> list[Path]:
    """Return the files that may hold the setting, the one that counts most first.

    ``here`` is the directory in which the client is started; without it no project's are among
    them.
    """
    project = [here / ".claude" / f"settings{each}.json" for each in (".local", "")] if here else []
    return list(dict.fromkeys([_MANAGED, *project, root / "settings.json"]))


def retention(root: Path, *, here: Path | None = None) -> Retention:
    """Return how long the client keeps transcripts when it is started ``here``."""
    for path in settings_files(root, here=here):
        days = _days(path)
        if days is not None:
            return Retention(days=days, file=path)
    return Retention(days=DEFAULT_DAYS, file=None)


def retention_days(root: Path) -> int:
    """Return after how many days the client deletes a transcript; 0 means it writes none."""
    return retention(root).days


def writes_nothing(root: Path, environment: Mapping[str, str]) -> str:
    """Return the setting that keeps the client from writing transcripts, or an empty string."""
    if environment.get(_SWITCH):
        return _SWITCH
    return "" if retention_days(root) > 0 else f"{_SETTING} = 0"


def due(files: Iterable[Path], *, days: int, within: float, now: float) -> Sequence[Due]:
    """Return the transcripts that will be deleted within so many days, the next ones first.

    ``now`` is in seconds since 1970. Files that are gone, or cannot be looked at, are left out.
    """
    found: list[Due] = []
    for path in files:
        try:
            age = (now - path.stat().st_mtime) / _DAY
        except OSError:
            continue
        left = max(0.0, days - age)
        if left <= within:
            found.append(Due(path=str(path), days_left=left))
    return sorted(found, key=lambda each: (each.days_left, each.path))


def _days(path: Path) -> int | None:
    """Return the setting of one file; a missing or broken file says nothing, as to the client."""
    try:
        settings = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    days = settings.get(_SETTING) if isinstance(settings, dict) else None
    return days if isinstance(days, int) and not isinstance(days, bool) and days >= 0 else None
