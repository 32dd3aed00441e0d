"""A thread, which is what Codex calls a session: its id, its parent, and what its header says."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from memory.drafts import SessionDraft
from memory.remotes import normalised
from memory.workplace import Workplace

__all__ = ["FORKED_FROM", "PROVIDER", "origin_of", "session_of", "thread_of"]

PROVIDER: Final = "codex"
FORKED_FROM: Final = ("forked_from_id", "forked_from_thread_id")
"""Names under which headers tell the thread that theirs was forked from."""

_IN_NAME: Final = re.compile(r"rollout-[\dT-]+?-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.")
_FACTS: Final = {
    "cwd": "cwd",
    "cli_version": "version",
    "originator": "originator",
    "model_provider": "model_provider",
    "thread_source": "thread_source",
    "history_mode": "history_mode",
    "forked_from_thread_id": "forked_from",
    "forked_from_id": "forked_from",
    "session_id": "root",
    "agent_nickname": "agent",
    "agent_role": "agent_role",
}
_GIT: Final = {
    "branch": "git_branch",
    "commit_hash": "git_commit",
    "repository_url": "git_repository",
}


def thread_of(path: str) -> str | None:
    """Return the thread's id from the name of its file."""
    found = _IN_NAME.search(path)
    return found[1] if found else None


def origin_of(header: Mapping[str, Any]) -> str | None:
    """Return the thread that a header's thread was forked from, if it was."""
    return next((str(header[name]) for name in FORKED_FROM if header.get(name)), None)


def session_of(thread: str, header: Mapping[str, Any], started: datetime | None) -> SessionDraft:
    """Return the session that a header describes; the header is empty when it is lost."""
    git = header.get("git")
    payload = _named(header, _FACTS) | _named(git if isinstance(git, dict) else {}, _GIT)
    if payload.get("root") == thread:
        del payload["root"]
    source = header.get("source")
    if source:
        payload["source"] = source
    directory = str(header["cwd"]) if header.get("cwd") else None
    return SessionDraft(
        provider=PROVIDER,
        source_session_id=thread,
        source_client=PROVIDER,
        directory=directory,
        workplace=_workplace(directory, payload.get("git_repository")),
        parent=_parent(header),
        started_at=started,
        payload=payload,
    )


def _workplace(directory: str | None, address: object) -> Workplace | None:
    """Return where a thread works, with the remote that the client recorded."""
    if directory is None:
        return None
    remote = normalised(str(address), base=directory) if address else None
    return Workplace(directory=directory, remotes=(remote,) if remote else ())


def _parent(header: Mapping[str, Any]) -> str | None:
    """Return the thread that started this one; a fork has no parent but a ``forked_from``."""
    if header.get("parent_thread_id"):
        return str(header["parent_thread_id"])
    source = header.get("source")
    subagent = source.get("subagent") if isinstance(source, dict) else None
    spawn = subagent.get("thread_spawn") if isinstance(subagent, dict) else None
    parent = spawn.get("parent_thread_id") if isinstance(spawn, dict) else None
    root = header.get("session_id")  # all that a review's or a guardian's thread says
    parent = parent or (root if root != header.get("id") else None)
    return str(parent) if parent else None


def _named(values: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {name: values[key] for key, name in names.items() if values.get(key)}
