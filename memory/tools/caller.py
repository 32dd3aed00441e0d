"""Who calls a tool, in which session and directory, as far as the client says so."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from memory.drafts import SessionDraft, canonical_client

__all__ = ["UNKNOWN", "Caller"]

UNKNOWN: Final = "unknown"
"""The source client of a writer whose client gave no name."""

_CLIENT_KEY: Final = "io.modelcontextprotocol/clientInfo"
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """One client's window.

    ``session`` is the client's own id of the session, empty when the client does not tell.
    ``via`` names the tool call in the client's transcript, so that a record can be traced to it.
    """

    client: str
    session: str = ""
    directory: str = ""
    via: Mapping[str, str] = field(default_factory=dict)

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
        session = ""
        if client == "claude":
            session = environment.get("CLAUDE_CODE_SESSION_ID", "").strip()
            directory = environment.get("CLAUDE_PROJECT_DIR", "").strip() or directory
        elif client == "codex":
            session = _string(meta, "threadId")
        via = {
            "tool_use_id": _string(meta, "claudecode/toolUseId"),
            "call_id": _string(meta, "callId"),
        }
        return cls(
            client=client,
            session=session[:_LONGEST],
            directory=directory,
            via={key: value for key, value in via.items() if value},
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


def _string(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return value.strip() if isinstance(value, str) and len(value) <= _LONGEST else ""
