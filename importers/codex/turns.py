"""Where in a session a line stands: its turn, its identity, its place in reading order.

What is known of the lines before is kept in the file's context, a JSON-safe dict:
``thread`` the session, ``start`` its time in milliseconds, ``turn`` the id of the running turn,
``prompts`` the number of user rows so far, ``seen`` how often each item came in this turn,
``last`` the last position.

An item's identity is ``<turn>:<item type>:<call id or content hash>:<occurrence>``. Forks replay
their parent's lines and the client rewrites files in place; turn, call id and content are what both
keep. Where no turn has an id (before 0.122), the session and the number of the prompt stand for it.
"""

import hashlib
import zlib
from datetime import datetime
from typing import Any, Final

from importers.base import moment_of
from importers.repeats import count_repeat
from memory.drafts import content_hash

__all__ = ["begin_thread", "count_prompt", "enter_turn", "hash_of", "identify", "place", "time_of"]

_HASH_CHARACTERS: Final = 32
_MAX_CALL_ID: Final = 200  # bytes; a longer one is hashed, since identities are bounded
_TICKS: Final = 1000  # positions within one millisecond


def begin_thread(context: dict[str, Any], thread: str, start: datetime | None) -> None:
    """Remember whose file this is."""
    context["thread"] = thread
    context["start"] = int(start.timestamp() * 1000) if start else 0


def enter_turn(context: dict[str, Any], turn: Any) -> None:
    """Remember the running turn; a repeated mention changes nothing."""
    if turn and turn != context.get("turn"):
        context["turn"] = str(turn)
        context["seen"] = {}
        context["prompted"] = False


def count_prompt(context: dict[str, Any]) -> None:
    """Count a user row, by which turns without an id are numbered."""
    context["prompts"] = context.get("prompts", 0) + 1
    if "turn" not in context:
        context["seen"] = {}
        context["prompted"] = False


def identify(context: dict[str, Any], kind: str, what: str) -> str:
    """Return the identity of the next item of this kind with this call id or content hash."""
    if len(what.encode(errors="surrogatepass")) > _MAX_CALL_ID:
        what = hash_of(what)
    turn = context.get("turn") or f"{context['thread']}:{context.get('prompts', 0)}"
    seen = context.setdefault("seen", {})
    # The checksum keeps the context small; a collision only moves a number, the same way each time.
    name = str(zlib.crc32(f"{kind}:{what}".encode(errors="surrogatepass")))
    return f"{turn}:{kind}:{what}:{count_repeat(seen, name)}"


def hash_of(*parts: Any) -> str:
    """Return the hash that stands for content in an identity."""
    return hashlib.sha256(content_hash(*parts)).hexdigest()[:_HASH_CHARACTERS]


def place(context: dict[str, Any], at: datetime | None) -> int:
    """Return the next position: by time, and later than everything before it in the file.

    Not the byte offset: a file that its client shortened in place goes on growing from there.
    """
    known = int(at.timestamp() * 1000) if at else context.get("start", 0)
    context["last"] = max(known * _TICKS, context.get("last", -1) + 1)
    return int(context["last"])


def time_of(context: dict[str, Any], at: datetime | None) -> datetime | None:
    """Return the line's time, or the session's where lines have none."""
    return at or moment_of(context.get("start"))
