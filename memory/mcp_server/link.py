"""What the reading thread and the SDK's thread say to one another.

Standard library alone. The SDK sees every message in the order it came, also those that were
answered before it was there; its second answer to those is dropped.
"""

import threading
from collections.abc import Callable
from typing import Final

from memory.mcp_server.messages import Message, RequestId, failure, request_id
from memory.mcp_server.wire import Wire

__all__ = ["Link"]

INTERNAL_ERROR: Final = -32603

Key = tuple[type, RequestId]  # 1 and "1" are two ids


class Link:
    """One connection's way from the reading thread to the SDK and back. Safe from any thread."""

    def __init__(self, wire: Wire) -> None:
        """Answer through a wire; nothing listens yet."""
        self._wire = wire
        self._changed = threading.Condition()
        self._waiting: list[Message] = []
        self._answered: set[Key] = set()
        self._open: set[Key] = set()
        self._deliver: Callable[[Message], None] | None = None
        self._close: Callable[[], None] = lambda: None
        self._failed = False

    @property
    def is_ready(self) -> bool:
        """Whether the SDK takes messages itself."""
        return self._deliver is not None

    @property
    def has_failed(self) -> bool:
        """Whether the SDK's thread ended with an error."""
        return self._failed

    def put(self, message: Message, *, answered: bool = False) -> None:
        """Hand a message to the SDK, which may not be there yet."""
        found = request_id(message)
        with self._changed:
            if found is not None and "method" in message:
                (self._answered if answered else self._open).add((type(found), found))
            if message.get("method") == "notifications/cancelled":
                cancelled = (message.get("params") or {}).get("requestId")
                if isinstance(cancelled, str | int):
                    self._settle((type(cancelled), cancelled))
            if self._deliver is None:
                self._waiting.append(message)
            else:
                self._deliver(message)

    def attach(self, deliver: Callable[[Message], None], close: Callable[[], None]) -> None:
        """Let the SDK have the messages: those that waited, then all others.

        Both functions are called from the reading thread.
        """
        with self._changed:
            for message in self._waiting:
                deliver(message)
            self._waiting.clear()
            self._deliver, self._close = deliver, close

    def reply(self, message: Message) -> None:
        """Send the client what the SDK says, unless that was said before."""
        found = request_id(message)
        if found is None or "method" in message:
            self._wire.send(message)
            return
        key = (type(found), found)
        with self._changed:
            if key in self._answered:
                self._answered.remove(key)
                return
        self._wire.send(message)
        with self._changed:
            self._settle(key)

    def fail(self) -> None:
        """Answer every open request with an error, because the SDK's thread has ended."""
        with self._changed:
            self._failed = True
            keys = list(self._open)
            for key in keys:
                self._settle(key)
        for _, found in keys:
            message = "The server could not be loaded; its standard error says why."
            self._wire.send(failure(INTERNAL_ERROR, message, found))

    def drain(self, seconds: float) -> None:
        """Wait until every request is answered, at most so long."""
        with self._changed:
            self._changed.wait_for(lambda: not self._open or self._failed, timeout=seconds)

    def close(self) -> bool:
        """End the SDK's loop; return whether it had begun."""
        with self._changed:
            had_begun = self._deliver is not None
            self._deliver = None
        if had_begun:
            self._close()
        return had_begun

    def _settle(self, key: Key) -> None:
        self._open.discard(key)
        if not self._open:
            self._changed.notify_all()
