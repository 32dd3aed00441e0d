"""The tools that clients call: thin functions over the ledger, its feed and its search."""

from memory.tools.caller import Caller
from memory.tools.registry import TOOLS
from memory.tools.tool import Tool
from memory.tools.toolbox import Toolbox

__all__ = ["TOOLS", "Caller", "Tool", "Toolbox"]
