"""Our own answers in the transcripts: kept, but not found again as if somebody had said them.

Whoever searches the ledger from a client has the search and its answer in that client's
transcript. Imported like any tool call they would be the best match of the next search, and push
out what was really said.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from memory.drafts import MEMORY_CALL, MEMORY_RESULT, Draft

__all__ = ["marked"]

# The name under which README.md and `memory connect` register the server, as clients write it.
_SERVER: Final = ("shared-memory", "shared_memory")
_ANSWER: Final = '{"is_error":'  # how every answer of ours begins
_WITHIN: Final = 300  # characters that a client may put before it


def marked(drafts: Sequence[Draft]) -> list[Draft]:
    """Return the drafts with the roles of our own tools' calls and results changed."""
    ours: set[Any] = set()
    found: list[Draft] = []
    for draft in drafts:
        payload = draft.payload or {}
        call_id = payload.get("call_id")
        if draft.role == "tool_call" and _is_ours(payload):
            ours.add(call_id)
            found.append(replace(draft, role=MEMORY_CALL))
        elif draft.role == "tool_result" and (
            (call_id is not None and call_id in ours)
            or _is_ours(payload)
            or _ANSWER in draft.content[:_WITHIN]
        ):
            found.append(replace(draft, role=MEMORY_RESULT))
        else:
            found.append(draft)
    return found


def _is_ours(payload: Any) -> bool:
    name = f"{payload.get('namespace') or ''} {payload.get('tool') or ''}".lower()
    return any(server in name for server in _SERVER)
