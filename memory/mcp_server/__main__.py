"""Start the MCP server with ``python -m memory.mcp_server``."""

import sys

from memory.mcp_server import main

__all__: list[str] = []

if __name__ == "__main__":
    sys.exit(main())
