"""The list of tools: one line a module; the order is the order that clients see."""

from typing import Final

from memory.tools import changes, context, messages, projects, records, search, sessions, status
from memory.tools.references import resolving
from memory.tools.tool import Tool

__all__ = ["TOOLS"]

_MODULES: Final = (search, context, changes, records, projects, sessions, messages, status)

TOOLS: Final[tuple[Tool, ...]] = tuple(
    resolving(tool) for module in _MODULES for tool in module.TOOLS
)
