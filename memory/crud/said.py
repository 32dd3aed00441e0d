"""What counts as said: the words of people, models and tools, and not those of the harness."""

from sqlalchemy import ColumnElement, or_

from memory.drafts import HARNESS_ROLES
from memory.models import Entry

__all__ = ["said"]


def said() -> ColumnElement[bool]:
    """Return the condition that leaves out what neither a person, a model nor a tool said."""
    return or_(Entry.role.is_(None), Entry.role.not_in(HARNESS_ROLES))
