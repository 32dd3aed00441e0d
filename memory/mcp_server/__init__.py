"""The MCP server on standard input and output.

This package answers a client's handshake on the standard library alone and loads the SDK and the
database meanwhile; whatever is imported here has to be light.
"""

import os
import sys
import threading
from typing import Final

from memory.mcp_server import stopping
from memory.mcp_server.front import read_to_end
from memory.mcp_server.handshake import Handshake
from memory.mcp_server.link import Link
from memory.mcp_server.wire import Wire

__all__ = ["main"]

DRAIN_SECONDS: Final = 30.0  # for requests that were sent before the pipe was closed
CLOSE_SECONDS: Final = 2.0  # for closing the database's connections


def main() -> int:
    """Serve one client until it closes the pipe, a signal comes, or the parent process dies."""
    if len(sys.argv) > 1:
        return _command(sys.argv[1:])
    if os.isatty(0):
        hint = "This is an MCP server: a client starts it and speaks JSON-RPC to it, a line each."
        print(hint, file=sys.stderr)  # noqa: T201 - a person started this by hand
    return _serve()


def _serve() -> int:
    wire = Wire.claim()
    link = Link(wire)
    thread = threading.Thread(target=_run_sdk, args=(link,), daemon=True, name="sdk")
    wire.on_broken = stopping.stop
    try:
        stopping.watch()
        read_to_end(wire, Handshake.load(), link, thread.start)
        link.drain(DRAIN_SECONDS)
    except stopping.Stopped:
        pass
    stopping.disarm()
    if link.close():
        thread.join(CLOSE_SECONDS)
    sys.stderr.flush()
    # Without the interpreter's own end: it would wait for threads that start a database server.
    os._exit(1 if link.has_failed else 0)


def _run_sdk(link: Link) -> None:
    """Load the SDK and the database and serve; the body of the SDK's thread."""
    try:
        from memory.mcp_server.bridge import run  # noqa: PLC0415 - a second of imports

        run(link)
    except BaseException as error:  # noqa: BLE001 - the edge of a thread: told, then ended
        print(f"memory.mcp_server: {type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201
        link.fail()
        stopping.stop()


def _command(arguments: list[str]) -> int:
    """Carry out what a developer asks on the command line."""
    if arguments == ["--write-handshake"]:
        from memory.mcp_server.recording import write  # noqa: PLC0415 - loads the SDK

        write()
        return 0
    print("usage: python -m memory.mcp_server [--write-handshake]", file=sys.stderr)  # noqa: T201
    return 0 if arguments == ["--help"] else 2
