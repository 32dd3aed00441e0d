"""A session of OpenCode, and the drafts of what is said in it.

Forking a session copies its messages under new ids, with no link to where they come from; going
from files to tables keeps the ids, and going from ``part`` to ``session_message`` loses those of
the parts. What every copy keeps is when the conversation and the message began, and the order of
its parts. So an identity is ``<conversation>/<message's time>/<speaker>/<part>``, where the
conversation is the time of its first prompt, or, for a sub-agent's, the session's own id:
sub-agents start side by side within a millisecond, and are not forked.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from importers.attributes import attribute, count_value, forked_from
from importers.base import moment_of
from importers.opencode.message import Message, Spoken
from memory.drafts import (
    Draft,
    Kind,
    SessionDraft,
    content_hash,
    session_id_of,
)
from memory.workplace import Workplace

__all__ = ["PROVIDER", "Conversation", "attributes_of", "drafts_of", "session_of"]

PROVIDER: Final = "opencode"

_MADE_UP: Final = re.compile(r"(?:New|Child) session - \d{4}-")  # until there is a title
_MAX_CALL_ID: Final = 200  # bytes; identities are bounded
_TICKS: Final = 1000  # positions within one millisecond
_ANSWERS: Final = 100  # the first position of an answer, after a prompt of the same millisecond
_USAGE: Final = ("tokens", "cost")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What makes the messages of a session known again, in it and in its forks."""

    session: str
    root: str

    @classmethod
    def of(cls, session: str, parent: object, first: int | None) -> "Conversation":
        """Return the conversation of a session whose first prompt was made at ``first`` (ms)."""
        return cls(session=session, root=session if parent or first is None else str(first))


def session_of(session: Mapping[str, Any]) -> SessionDraft:
    """Return the session that a row or file describes, with the names of the tables' columns."""
    model = session.get("model")
    facts = {
        "cwd": session.get("directory"),
        "version": session.get("version"),
        "agent": session.get("agent"),
        "model": model.get("id") if isinstance(model, dict) else None,
        "model_provider": model.get("providerID") if isinstance(model, dict) else None,
        "client_project": session.get("project_id"),
        "worktree": session.get("worktree"),
        "forked_from": session.get("fork_session_id"),
    }
    return SessionDraft(
        provider=PROVIDER,
        source_session_id=str(session["id"]),
        source_client=PROVIDER,
        title=_title(session),
        directory=str(session["directory"]) if session.get("directory") else None,
        workplace=_workplace(session),
        parent=str(session["parent_id"]) if session.get("parent_id") else None,
        started_at=moment_of(session.get("time_created")),
        payload={key: value for key, value in facts.items() if value},
    )


def attributes_of(session: Mapping[str, Any], titles: dict[str, Any]) -> list[Draft]:
    """Return the drafts of what a session is now: its title, and where it was forked from.

    ``titles`` is what `count_value` noted of the session's titles before.
    """
    name, title = str(session["id"]), _title(session)
    at = moment_of(session.get("time_updated"))
    drafts = []
    nth = None if title is None else count_value(titles, title)
    if title is not None and nth is not None:
        drafts.append(attribute(PROVIDER, name, "title", title, nth=nth, occurred_at=at))
    if session.get("fork_session_id"):
        source = str(session["fork_session_id"])
        drafts.append(forked_from(PROVIDER, name, source, occurred_at=at))
    return drafts


def drafts_of(said: list[Spoken], message: Message, conversation: Conversation) -> list[Draft]:
    """Return the drafts of what a message says."""
    facts = _facts(message)
    usage = _usage(message)
    prefix = f"{conversation.root}/{message.created}/{message.kind}"
    return [
        Draft(
            kind=Kind.MESSAGE,
            content=each.content,
            source_client=PROVIDER,
            provider=PROVIDER,
            session_id=session_id_of(PROVIDER, conversation.session),
            source_id=f"{prefix}/{_bounded(each.name)}",
            role=each.role,
            position=_position(message, each.slot),
            payload={**facts, **_call(each), **each.payload, **(usage if each is said[-1] else {})},
            origin=each.row.origin,
            occurred_at=moment_of(each.at) or moment_of(message.created),
            fingerprint=content_hash(each.role, each.content, each.call_id),
        )
        for each in said
    ]


def _facts(message: Message) -> dict[str, Any]:
    data = message.data
    model = data.get("model")
    named = model if isinstance(model, dict) else data
    facts = {
        "message_id": message.row.id,
        "model": named.get("modelID") or named.get("id"),
        "model_provider": named.get("providerID"),
        "agent": data.get("agent") or data.get("mode"),
    }
    return {key: value for key, value in facts.items() if value}


def _usage(message: Message) -> dict[str, Any]:
    """Return what an answer cost; it goes to one of its entries, so that sums are right."""
    if message.kind != "assistant" or not message.is_final:
        return {}
    usage = {key: message.data[key] for key in _USAGE if message.data.get(key)}
    return {"usage": usage} if usage else {}


def _call(said: Spoken) -> dict[str, Any]:
    return {"call_id": said.call_id} if said.call_id else {}


def _bounded(name: str) -> str:
    raw = name.encode(errors="surrogatepass")
    return name if len(raw) <= _MAX_CALL_ID else hashlib.sha256(raw).hexdigest()


def _position(message: Message, slot: int) -> int:
    first = 0 if message.kind == "user" else _ANSWERS
    return message.created * _TICKS + min(first + slot, _TICKS - 1)


def _workplace(session: Mapping[str, Any]) -> Workplace | None:
    """Return where a session works; outside of a repository the client's worktree is ``/``."""
    if not session.get("directory"):
        return None
    worktree = str(session.get("worktree") or "/")
    return Workplace(
        directory=str(session["directory"]), root=None if worktree == "/" else worktree
    )


def _title(session: Mapping[str, Any]) -> str | None:
    title = str(session.get("title") or "").strip()
    return title if title and not _MADE_UP.match(title) else None
