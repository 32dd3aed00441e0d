"""The list of tools: one line a module; the order is the order that clients see."""

from typing import Final

from memory.tools import changes, context, messages, projects, records, search, sessions, status
from memory.tools.tool import Tool

__all__ = ["TOOLS"]

TOOLS: Final[tuple[Tool, ...]] = (
    *search.TOOLS,
    *context.TOOLS,
    *changes.TOOLS,
    *records.TOOLS,
    *projects.TOOLS,
    *sessions.TOOLS,
    *messages.TOOLS,
    *status.TOOLS,
)
