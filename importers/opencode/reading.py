"""A batch while it is filled with messages, from tables and files alike."""

from dataclasses import dataclass, field
from typing import Final

from importers.base import BATCH_BYTES, BATCH_RECORDS, Batch, Unreadable
from importers.opencode.message import Message
from importers.opencode.parts import said_in_parts
from importers.opencode.rows import said_in_row
from importers.opencode.session import Conversation, attributes_of, drafts_of, session_of

__all__ = ["Reading"]

# What a client writes is data: one message of another shape must not stop its session.
_UNKNOWN_SHAPE: Final = (LookupError, TypeError, ValueError, AttributeError, RecursionError)


@dataclass(slots=True)
class Reading:
    """A batch and the bytes that were read for it."""

    batch: Batch = field(default_factory=Batch)
    taken: int = 0

    @property
    def is_full(self) -> bool:
        """Whether the batch has come to its limits."""
        return self.taken >= BATCH_BYTES or self.batch.records >= BATCH_RECORDS

    def add_session(self, session: dict[str, object]) -> None:
        """Add a session and its title."""
        self.batch.records += 1
        self.batch.imported += 1
        self.batch.sessions.append(session_of(session))
        self.batch.drafts += attributes_of(session)

    def add_message(self, message: Message, conversation: Conversation, *, is_row: bool) -> None:
        """Add what a message says; ``is_row`` when the message is one record, parts and all."""
        self.taken += message.size
        try:
            said, skipped = said_in_row(message) if is_row else said_in_parts(message)
            drafts = drafts_of(said, message, conversation)
        except _UNKNOWN_SHAPE as error:
            reason = f"{message.row.id}: a shape this importer does not know"
            self.add_torn(message.row.path, message.row.place, f"{reason} ({type(error).__name__})")
            return
        records = 1 if is_row else 1 + len(message.parts)
        self.batch.records += records
        self.batch.imported += records - skipped.total()
        self.batch.skipped += skipped
        self.batch.drafts += drafts

    def add_torn(self, path: str, place: int, reason: str) -> None:
        """Add a record that cannot be read."""
        self.batch.records += 1
        self.batch.unreadable.append(Unreadable(path=path, offset=place, reason=reason))
