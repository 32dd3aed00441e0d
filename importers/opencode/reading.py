"""A batch while it is filled with messages, from tables and files alike."""

from dataclasses import dataclass, field

from importers.base import BATCH_BYTES, BATCH_RECORDS, Batch, Unreadable
from importers.opencode.message import Message
from importers.opencode.parts import said_in_parts
from importers.opencode.rows import said_in_row
from importers.opencode.session import Conversation, attributes_of, drafts_of, session_of

__all__ = ["Reading"]


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
        said, skipped = said_in_row(message) if is_row else said_in_parts(message)
        records = 1 if is_row else 1 + len(message.parts)
        self.taken += message.size
        self.batch.records += records
        self.batch.imported += records - skipped.total()
        self.batch.skipped += skipped
        self.batch.drafts += drafts_of(said, message, conversation)

    def add_torn(self, path: str, place: int, reason: str) -> None:
        """Add a record that cannot be read."""
        self.batch.records += 1
        self.batch.unreadable.append(Unreadable(path=path, offset=place, reason=reason))
