"""The one statement that writes entries."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, Final

from sqlalchemy.ext.asyncio import AsyncSession

from memory.database.statements import rows_of, run_many

__all__ = ["COLUMNS", "insert_entries"]

COLUMNS: Final = (
    "id",
    "kind",
    "project_id",
    "session_id",
    "source_client",
    "provider",
    "machine",
    "source_id",
    "version",
    "role",
    "position",
    "key",
    "content",
    "payload",
    "origin",
    "content_hash",
    "occurred_at",
    "supersedes",
)
# How many rows one statement takes. Few sizes, so that each stays prepared; a statement of more
# rows than the first is no faster, and longer than the text that the driver keeps prepared.
_SIZES: Final = (64, 32, 16, 8, 4, 2, 1)

_NUMBERS: Final = "SELECT nextval('entries_seq') FROM generate_series(1, $1::int)"


async def insert_entries(session: AsyncSession, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert new entries; nothing else writes any.

    Sequence numbers are taken in the order given, then the rows are sorted by their unique key:
    unsorted batches of two writers deadlock. A row that another writer was quicker with raises
    23505, upon which `Database.transact` runs the whole again and finds it.
    """
    columns: tuple[str, ...] = COLUMNS
    if len(rows) > 1:
        columns = (*COLUMNS, "seq")
        numbers = await rows_of(session, _NUMBERS, len(rows))
        rows = [{**row, "seq": number} for row, (number,) in zip(rows, numbers, strict=True)]
    values_of = itemgetter(*columns)
    waiting = [values_of(row) for row in sorted(rows, key=_place)]
    for size, parts in groupby(_parts(waiting), len):
        flat = (list(chain.from_iterable(part)) for part in parts)
        await run_many(session, _statement(columns, size), flat)


def _place(row: Mapping[str, Any]) -> tuple[int, str, int]:
    session_id = row["session_id"]
    return (session_id.int if session_id else -1, row["source_id"] or "", row["version"])


def _parts(rows: Sequence[tuple[Any, ...]]) -> Iterator[Sequence[tuple[Any, ...]]]:
    """Cut rows into parts of the sizes that statements have, the largest first."""
    start = 0
    for size in _SIZES:
        while len(rows) - start >= size:
            yield rows[start : start + size]
            start += size


@cache
def _statement(columns: tuple[str, ...], count: int) -> str:
    """Return the insert of so many rows: VALUES alone are safe where rows lie on several nodes."""
    width = len(columns)
    rows = (
        ", ".join(f"${number}" for number in range(row * width + 1, (row + 1) * width + 1))
        for row in range(count)
    )
    values = ", ".join(f"({row})" for row in rows)
    return f"INSERT INTO entries ({', '.join(columns)}) VALUES {values}"  # noqa: S608 - our own names
