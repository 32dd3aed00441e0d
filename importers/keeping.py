"""What each client does to its own files in time, and which sessions that concerns soon."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from importers.claude.retention import Due, due, retention, writes_nothing

__all__ = ["SOON_DAYS", "Keeping", "keeping"]

SOON_DAYS: Final = 7
"""A transcript that its client will delete within so many days is told."""

# How the clients treat what they wrote, measured or read in their sources.
_HABITS: Final[Mapping[str, str]] = {
    "codex": "Codex deletes no rollout by age: it compresses idle ones, moves archived ones,"
    " and rewrites some in place; all of that is followed",
    "opencode": "OpenCode deletes nothing by age; files from before 1.2 stay beside its database",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """How long a client keeps its sessions; ``days`` is None when age deletes nothing."""

    client: str
    days: int | None
    detail: str
    is_writing: bool = True
    due: Sequence[Due] = ()

    def facts(self) -> dict[str, Any]:
        """Return it as JSON-safe values."""
        return {
            "client": self.client,
            "days": self.days,
            "detail": self.detail,
            "is_writing": self.is_writing,
            "due": [
                {"path": each.path, "days_left": round(each.days_left, 1)} for each in self.due
            ],
        }


def keeping(
    provider: str,
    roots: Sequence[Path],
    files: Sequence[Path],
    *,
    environment: Mapping[str, str],
    here: Path,
    now: float,
) -> list[Keeping]:
    """Return what a client does to its files, one for each of its stores.

    ``here`` is the directory whose settings count, ``now`` in seconds since 1970.
    """
    if provider != "claude":
        detail = _HABITS.get(provider)
        return [Keeping(client=provider, days=None, detail=detail)] if detail and roots else []
    return [_claude(root, files, environment, here, now) for root in roots]


def _claude(
    root: Path, files: Sequence[Path], environment: Mapping[str, str], here: Path, now: float
) -> Keeping:
    reason = writes_nothing(root, environment)
    found = retention(root, here=here)
    if reason or not found.days:
        said = reason or f"cleanupPeriodDays = 0 in {found.file}"
        detail = f"Claude Code writes no transcripts ({said})"
        return Keeping(client="claude", days=found.days, detail=detail, is_writing=False)
    source = f"set in {found.file}" if found.file else "its default"
    detail = f"Claude Code deletes transcripts after {found.days} idle days ({source})"
    own = [path for path in files if path.is_relative_to(root)]
    soon = due(own, days=found.days, within=SOON_DAYS, now=now)
    return Keeping(client="claude", days=found.days, detail=detail, due=soon)
