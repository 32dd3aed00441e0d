"""The session that a row belongs to.

A sub-agent is a session of its own, named after its session and its agent id; its rows repeat the
id of the session that started it, which becomes the parent. Before 2.0.x a sub-agent's rows stood in the
file of its parent, without an id: there each chain of rows is one, named after its first row.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from importers.base import moment
from importers.claude.harness import WARMUP
from importers.claude.place import Place
from importers.regular import opened
from importers.tail import Malformed
from memory.drafts import SessionDraft

__all__ = ["PROVIDER", "Owner", "owner_of", "session_draft"]

PROVIDER: Final = "claude"

_OPEN_ROWS: Final = 64  # rows of side chains to which the next one may belong
_LONGEST_ID: Final = 200
_WORKTREES: Final = "/.claude/worktrees/"
_META: Final = ".meta.json"
_META_BYTES: Final = 64 * 1024
_NESTED: Final = 2  # the depth of an agent that another agent started


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A session by the client's ids; ``is_warmup`` marks agents that only warm a cache."""

    source_session_id: str
    session: str
    parent: str | None = None
    is_warmup: bool = False


def owner_of(row: Mapping[str, Any], context: dict[str, Any], place: Place) -> Owner:
    """Return the session of a row. Raises Malformed for an id that is none."""
    session = _checked(row.get("sessionId") or place.session)
    agent = row.get("agentId") or place.agent
    if agent and (place.agent or row.get("isSidechain")):
        if _is_warmup(row):
            context["warmup"] = True
        warmup = place.agent is not None and bool(context.get("warmup"))
        name = _agent_session(session, _checked(agent))
        return Owner(source_session_id=name, session=session, parent=session, is_warmup=warmup)
    if row.get("isSidechain"):
        root = _chain_root(row, context)
        warmup = root in context.get("warm_chains", ())
        name = f"{session}/sidechain-{root}"
        return Owner(source_session_id=name, session=session, parent=session, is_warmup=warmup)
    return Owner(source_session_id=session, session=session)


def session_draft(row: Mapping[str, Any], owner: Owner, *, place: Place | None) -> SessionDraft:
    """Return the session as one of its first rows tells it; ``place`` is given for its own file."""
    directory = str(row["cwd"]) if row.get("cwd") else None
    payload = {
        "cwd": directory,
        "git_branch": row.get("gitBranch"),
        "version": row.get("version"),
        "entrypoint": row.get("entrypoint"),
    }
    if directory and _WORKTREES in directory:
        directory, _, rest = directory.partition(_WORKTREES)
        payload["worktree"] = rest.partition("/")[0]
    is_agent = place is not None and place.agent is not None
    about = _meta(place.path.with_suffix(_META)) if place and is_agent else {}
    payload |= {
        "agent_type": about.get("agentType"),
        "call_id": about.get("toolUseId"),
        "spawn_depth": about.get("spawnDepth"),
    }
    return SessionDraft(
        provider=PROVIDER,
        source_client=PROVIDER,
        source_session_id=owner.source_session_id,
        title=str(about["description"]) if about.get("description") else None,
        directory=directory,
        parent=_parent(owner, about, place),
        started_at=moment(row.get("timestamp")),
        payload={key: value for key, value in payload.items() if value is not None},
    )


def _parent(owner: Owner, about: Mapping[str, Any], place: Place | None) -> str | None:
    """Return the session that started this one: of a nested sub-agent, the agent that called it.

    Its rows name the session at the root alone; its call stands in its caller's transcript.
    """
    depth, call = about.get("spawnDepth"), about.get("toolUseId")
    if place is None or not isinstance(depth, int) or depth < _NESTED or not isinstance(call, str):
        return owner.parent
    caller = place.caller(call)
    return _agent_session(owner.session, caller) if caller else owner.parent


def _agent_session(session: str, agent: str) -> str:
    """Return the name of an agent's session; its own id was of 32 bits once, and not unique."""
    return f"{session}/agent-{agent}"


def _checked(name: object) -> str:
    text = str(name)
    if not text or len(text) > _LONGEST_ID:
        raise Malformed("a session or agent id that is empty or too long")
    return text


def _is_warmup(row: Mapping[str, Any]) -> bool:
    message = row.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return row.get("type") == "user" and content == WARMUP


def _chain_root(row: Mapping[str, Any], context: dict[str, Any]) -> str:
    """Return the first row's uuid of the chain that this row continues.

    The rows met last are kept as pairs, since a checkpoint does not keep the order of keys.
    """
    rows: list[list[str]] = context.setdefault("chained", [])
    uuid, parent = str(row["uuid"]), row.get("parentUuid")
    newest = rows[-1][1] if rows else uuid
    before = (first for each, first in reversed(rows) if each == parent)
    root = next(before, newest) if parent else uuid
    rows.append([uuid, root])
    del rows[:-_OPEN_ROWS]
    if root == uuid and _is_warmup(row):
        warm: list[str] = context.setdefault("warm_chains", [])
        warm.append(root)
        del warm[:-_OPEN_ROWS]
    return root


def _meta(path: Path) -> dict[str, Any]:
    """Return what the client wrote beside a sub-agent's transcript; nothing when unreadable."""
    try:
        with opened(path) as file:
            value = json.loads(file.read(_META_BYTES))
    except (OSError, ValueError):
        return {}  # the description is an ornament; the transcript tells the rest
    return value if isinstance(value, dict) else {}
