"""Where a transcript lies in the client's folders, and what that says about it.

``projects/<p>/<session>.jsonl`` is a session, ``projects/<p>/<session>/subagents/**/agent-*.jsonl``
(2.1.2 and later) and ``projects/<p>/agent-*.jsonl`` (2.0.x) are its sub-agents.
"""

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from importers.regular import NO_FILE, opened, status_of
from importers.tail import Malformed, decode

__all__ = ["SUFFIX", "Place", "last_uuids", "sub_agents", "transcripts"]

SUFFIX: Final = ".jsonl"

_AGENT: Final = "agent-"
_AGENTS: Final = "subagents"  # the folder of a session's agents, of whatever depth
_TAIL_BYTES: Final = 64 * 1024
_UUID: Final = re.compile(rb'"uuid"\s*:\s*"([^"]{1,64})"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One transcript among its neighbours.

    ``agent`` is set when the file is a sub-agent's; ``session`` is the session it belongs to, as
    far as the path tells. ``older`` gives the transcripts of the same folder that began earlier
    and are of a version that copied rows under new uuids.
    """

    path: Path
    project: Path
    session: str
    agent: str | None
    older: Callable[[], list[Path]]

    @classmethod
    def of(cls, path: Path, projects: Path, *, older: Callable[[], list[Path]]) -> "Place":
        """Return the place of a transcript under the folder ``projects``."""
        inner = path.relative_to(projects).parts
        stem = path.name.removesuffix(SUFFIX)
        agent = stem.removeprefix(_AGENT) if stem.startswith(_AGENT) else None
        nested = len(inner) > 2
        session = inner[1] if nested else "" if agent else stem
        return cls(
            path=path, project=projects / inner[0], session=session, agent=agent, older=older
        )

    def caller(self, call: str) -> str | None:
        """Return the agent of the same session in whose transcript this tool call stands."""
        folder = self.project / self.session / _AGENTS
        if not self.session or not folder.is_dir():
            return None
        for path in sorted(folder.rglob(f"{_AGENT}*{SUFFIX}")):
            if path != self.path and _holds_call(path, call):
                return path.name.removesuffix(SUFFIX).removeprefix(_AGENT)
        return None

    def results(self, session: str) -> Path | None:
        """Return the folder in which a session of this project keeps long outputs."""
        plain = session not in {"", ".", ".."} and not set(session) & {"/", "\\", "\0"}
        return self.project / session / "tool-results" if plain else None


def _holds_call(path: Path, call: str) -> bool:
    """Tell whether a transcript has this tool call; one that cannot be read has not."""
    needle = json.dumps(call).encode()
    try:
        with opened(path) as file:
            return any(needle in line and _is_call(line, call) for line in file)
    except OSError:
        return False  # reading it as a source says so


def _is_call(line: bytes, call: str) -> bool:
    try:
        row = decode(line)
    except Malformed:
        return False
    message = row.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = content if isinstance(content, list) else []
    return any(
        isinstance(block, dict) and block.get("type") == "tool_use" and block.get("id") == call
        for block in blocks
    )


def transcripts(project: Path) -> list[tuple[str, int]]:
    """Return path and inode of the transcripts directly in a project's folder.

    Sub-agents of 2.0.x are among them, and what has the name of one: reading it says that it is
    none. Raises OSError.
    """
    with os.scandir(project) as entries:
        return sorted(
            (entry.path, entry.inode()) for entry in entries if entry.name.endswith(SUFFIX)
        )


def sub_agents(project: Path) -> Iterator[Path]:
    """Yield the transcripts of sub-agents that lie in the folders of their sessions.

    Raises OSError.
    """
    with os.scandir(project) as entries:
        folders = sorted(entry.path for entry in entries if not _is_file(entry))
    for folder in folders:
        inner = Path(folder, _AGENTS)
        if inner.is_dir():
            yield from sorted(inner.rglob(f"{_AGENT}*{SUFFIX}"))


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return True  # reading it says what is wrong with it, and keeps no other back


def last_uuids(path: Path) -> frozenset[str]:
    """Return the uuids in the last rows of a transcript, none of one that cannot be read.

    Raises OSError when it is the disk that fails.
    """
    try:
        status = status_of(path)
        return _last_uuids(path, status.st_ino, status.st_size)
    except OSError as error:
        if error.errno not in NO_FILE:
            raise
        return frozenset()  # reading it as a source says so


@lru_cache(maxsize=1024)
def _last_uuids(path: Path, _inode: int, size: int) -> frozenset[str]:
    with opened(path) as file:
        file.seek(max(0, size - _TAIL_BYTES))
        return frozenset(found.decode() for found in _UUID.findall(file.read(_TAIL_BYTES)))
