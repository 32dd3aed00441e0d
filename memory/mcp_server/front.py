"""The reading thread: takes each line, answers what can be answered at once, hands it on.

Standard library alone.
"""

from collections.abc import Callable

from memory.mcp_server.handshake import Handshake
from memory.mcp_server.link import Link
from memory.mcp_server.messages import Malformed, parse
from memory.mcp_server.wire import Wire

__all__ = ["read_to_end"]


def read_to_end(wire: Wire, handshake: Handshake, link: Link, load: Callable[[], None]) -> None:
    """Read until the client closes its end.

    ``load`` is called once, after the first message was dealt with: loading slows this thread
    down, and the client waits for the first answer.
    """
    is_loading = False
    while True:
        line, cut = wire.read()
        if not line:
            return
        if line.isspace():
            continue
        try:
            message = parse(line, cut=cut)
        except Malformed as error:
            wire.send(error.answer)
            continue
        refusal = handshake.refusal(message)
        if refusal is not None:
            wire.send(refusal)
            continue
        answer = None if link.is_ready else handshake.answer(message)
        if answer is not None:
            wire.send(answer)
        link.put(message, answered=answer is not None)
        if not is_loading:
            is_loading = True
            load()
