"""Statements as text, for the few that run so often that building them would cost more than they do.

They run in the session's transaction like any other, and their errors are translated alike.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy.ext.asyncio import AsyncSession

__all__ = ["rows_of", "to_json"]


async def rows_of(session: AsyncSession, statement: str, *values: Any) -> Sequence[Any]:
    """Run a statement with ``$1``, ``$2`` … and return its rows, none when it has no result.

    Values are what the driver takes: a JSON value is its text (see `to_json`). A row is a tuple
    with its columns as attributes.
    """
    connection = await session.connection()
    result = await connection.exec_driver_sql(statement, values)
    return result.all() if result.returns_rows else ()


def to_json(value: Any) -> str:
    """Return a JSON value as the text that the database takes."""
    return msgspec.json.encode(value).decode()
