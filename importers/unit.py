"""A file that makes a service manager run the importers, and how it is known again as ours."""

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

__all__ = ["MARK", "Command", "Standing", "Unit", "marked", "standing"]

MARK: Final = "written by memory-import service install; sha256"
_MARK: Final = re.compile(rf"{re.escape(MARK)} ([0-9a-f]{{64}})")

Command = tuple[str, ...]


class Standing(StrEnum):
    """What stands at a unit's place."""

    ABSENT = "absent"
    CURRENT = "current"  # just what would be written now
    OLDER = "older"  # ours, as we wrote it, but other settings would be written now
    FOREIGN = "foreign"  # somebody else's, or changed since we wrote it


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A service manager's file, and the commands by which the manager takes notice of it.

    ``start`` begins the service, ``notice`` makes the manager read the file of one that runs, and
    ``restart`` has it take effect. ``stop`` runs before the file is removed, ``forget`` after.
    ``is_active`` answers 0 while the service runs. ``sign`` is there where the manager is at work.
    ``remark`` is what people have to know, and may change by themselves.
    """

    manager: str
    path: Path
    text: str
    start: tuple[Command, ...]
    notice: tuple[Command, ...]
    restart: tuple[Command, ...]
    stop: tuple[Command, ...]
    forget: tuple[Command, ...]
    is_active: Command
    sign: Path | None = None
    remark: str = ""


def marked(text: str) -> str:
    """Return a text whose ``{mark}`` says that we wrote it, and what."""
    return text.replace("{mark}", f"{MARK} {_digest(text)}")


def standing(unit: Unit) -> Standing:
    """Tell what stands at a unit's place. Raises OSError."""
    try:
        found = unit.path.read_text("utf-8")
    except FileNotFoundError:
        return Standing.ABSENT
    except UnicodeDecodeError:
        return Standing.FOREIGN
    if found == unit.text:
        return Standing.CURRENT
    mark = _MARK.search(found)
    is_ours = mark is not None and mark[1] == _digest(found.replace(mark[0], "{mark}"))
    return Standing.OLDER if is_ours else Standing.FOREIGN


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
