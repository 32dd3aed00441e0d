"""Who calls a tool, in which session and directory, as far as the client says so."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from memory.drafts import SessionDraft, canonical_client

__all__ = ["UNKNOWN", "Caller"]

UNKNOWN: Final = "unknown"
"""The source client of a writer whose client gave no name."""

WORKING_DIRECTORY: Final = "working directory"
_CLAUDE_SESSION: Final = "CLAUDE_CODE_SESSION_ID"
_CLAUDE_PROJECT: Final = "CLAUDE_PROJECT_DIR"
_CLIENT_KEY: Final = "io.modelcontextprotocol/clientInfo"
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """One client's window.

    ``session`` is the client's own id of the session, empty when the client does not tell.
    ``via`` names the tool call in the client's transcript, so that a record can be traced to it.
    ``session_by`` and ``directory_by`` say what told them.
    """

    client: str
    session: str = ""
    directory: str = ""
    via: Mapping[str, str] = field(default_factory=dict)
    session_by: str = ""
    directory_by: str = WORKING_DIRECTORY

    @classmethod
    def of(
        cls,
        name: str,
        *,
        meta: Mapping[str, Any],
        environment: Mapping[str, str],
        directory: str,
    ) -> "Caller":
        """Read the caller from the handshake's name, a request's ``_meta`` and the environment.

        Claude Code sets CLAUDE_CODE_SESSION_ID and CLAUDE_PROJECT_DIR and sends the id of the tool
        use; Codex sends threadId and callId with each request (all four logged by a shim). The
        variables count for Claude Code alone, because its children inherit them.
        """
        info = meta.get(_CLIENT_KEY)
        if not name and isinstance(info, dict):
            name = _string(info, "name")
        client = canonical_client(name[:_LONGEST]) or UNKNOWN
        session = session_by = ""
        directory_by = WORKING_DIRECTORY
        if client == "claude":
            session, session_by = environment.get(_CLAUDE_SESSION, "").strip(), _CLAUDE_SESSION
            if project := environment.get(_CLAUDE_PROJECT, "").strip():
                directory, directory_by = project, _CLAUDE_PROJECT
        elif client == "codex":
            session, session_by = _thread(meta), "_meta"
        via = {
            "tool_use_id": _string(meta, "claudecode/toolUseId"),
            "call_id": _string(meta, "callId"),
        }
        return cls(
            client=client,
            session=session[:_LONGEST],
            directory=directory,
            via={key: value for key, value in via.items() if value},
            session_by=session_by if session else "",
            directory_by=directory_by,
        )

    def session_draft(self, *, machine: str) -> SessionDraft | None:
        """Return this window's session as a draft, or None when the client does not tell it."""
        if not self.session:
            return None
        return SessionDraft(
            provider=self.client,
            source_session_id=self.session,
            source_client=self.client,
            machine=machine,
            directory=self.directory or None,
        )


def _thread(meta: Mapping[str, Any]) -> str:
    """Return Codex' thread; a sub-agent's ``sessionId`` is that of the thread that started it."""
    turn = meta.get("x-codex-turn-metadata")
    return _string(meta, "threadId") or (
        _string(turn, "thread_id") if isinstance(turn, dict) else ""
    )


def _string(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return value.strip() if isinstance(value, str) and len(value) <= _LONGEST else ""
