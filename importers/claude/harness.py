"""Telling what people said from what the client wrote in their name.

The marks were measured on stores that Claude Code 1.0.40 to 2.1.332 wrote.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["NO_RESPONSE", "SYNTHETIC", "WARMUP", "assistant_role", "split_user_text", "user_role"]

SYNTHETIC: Final = "<synthetic>"  # the model of rows that no model wrote
NO_RESPONSE: Final = "No response requested."
WARMUP: Final = "Warmup"

# A text that begins with one of these is the client's as a whole.
_WHOLE: Final = (
    "<command-name>",
    "<command-message>",
    "<command-args>",
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<local-command-caveat>",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<task-notification>",
    "Caveat: The messages below",
    "[Request interrupted",
)
# These stand before, or instead of, what the user typed.
_LEADING: Final = re.compile(
    r"\s*<(system-reminder|ide_opened_file|ide_selection|ide_diagnostics)>.*?</\1>\s*", re.DOTALL
)


def user_role(row: Mapping[str, Any]) -> str:
    """Return the role of a whole user row: user, system or summary."""
    if row.get("isCompactSummary"):
        return "summary"
    if row.get("isMeta") or row.get("isVisibleInTranscriptOnly"):
        return "system"
    origin = row.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else None
    return "system" if kind not in {None, "human"} else "user"


def split_user_text(text: str) -> list[tuple[str, str]]:
    """Split a user's text into (role, text): what the client put in, and what was typed."""
    if text.lstrip().startswith(_WHOLE):
        return [("system", text)]
    end = 0
    while wrapper := _LEADING.match(text, end):
        end = wrapper.end()
    pieces = [("system", text[:end].strip()), ("user", text[end:])]
    return [(role, piece) for role, piece in pieces if piece.strip()]


def assistant_role(row: Mapping[str, Any], text: str) -> str:
    """Return the role of an assistant's text; the client speaks in its name, too.

    The partial answer that an interrupt leaves also has the synthetic model, and is the
    assistant's.
    """
    message = row.get("message")
    model = message.get("model") if isinstance(message, dict) else None
    injected = model == SYNTHETIC and text.strip() == NO_RESPONSE
    return "system" if injected or row.get("isApiErrorMessage") else "assistant"
