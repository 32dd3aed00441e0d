"""A batch while it is filled with messages, from tables and files alike."""

from dataclasses import dataclass, field
from typing import Any, Final

from importers.base import BATCH_BYTES, BATCH_RECORDS, UNKNOWN_SHAPE, Batch, Unreadable
from importers.opencode.message import Message, strange
from importers.opencode.parts import said_in_parts
from importers.opencode.rows import said_in_row
from importers.opencode.session import Conversation, attributes_of, drafts_of, session_of

__all__ = ["Reading"]

_ORPHAN: Final = "part of an unreadable message"  # nothing tells who said it, and when


@dataclass(slots=True)
class Reading:
    """A batch and the bytes that were read for it."""

    batch: Batch = field(default_factory=Batch)

    @property
    def is_full(self) -> bool:
        """Whether the batch has come to its limits."""
        return self.batch.size >= BATCH_BYTES or self.batch.records >= BATCH_RECORDS

    def add_session(self, session: dict[str, Any], titles: dict[str, Any]) -> None:
        """Add a session and, unless it is the one noted last in ``titles``, its title."""
        self.batch.records += 1
        self.batch.imported += 1
        self.batch.sessions.append(session_of(session))
        self.batch.drafts += attributes_of(session, titles)

    def add_message(self, message: Message, conversation: Conversation, *, is_row: bool) -> None:
        """Add what a message says; ``is_row`` when the message is one record, parts and all."""
        self.batch.size += message.size
        row = message.row
        try:
            heard = said_in_row(message) if is_row else said_in_parts(message)
            drafts = drafts_of(heard.said, message, conversation)
        except UNKNOWN_SHAPE as error:
            parts = 0 if is_row else len(message.parts)
            self.add_torn(row.path, row.place, strange(row, error), parts=parts)
            return
        if is_row:  # parts that cannot be read are records of their own
            read = int(bool(heard.said) or not heard.torn)
        else:
            read = 1 + len(message.parts) - len(heard.torn)
        self.batch.records += read
        self.batch.imported += read - heard.skipped.total()
        self.batch.skipped += heard.skipped
        self.batch.drafts += drafts
        for torn, reason in heard.torn:
            self.add_torn(torn.path, torn.place, reason)

    def add_torn(self, path: str, place: int, reason: str, *, parts: int = 0) -> None:
        """Add a record that cannot be read, and count the parts that hang on it."""
        self.batch.records += 1 + parts
        self.batch.unreadable.append(Unreadable(path=path, offset=place, reason=reason))
        if parts:
            self.batch.skipped[_ORPHAN] += parts
