"""Whether the database itself keeps the ledger append-only: looked up, and really tried."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sqlalchemy import delete, text, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from memory.crud.append import append
from memory.database.sqlstate import sqlstate_of
from memory.drafts import Draft, Kind
from memory.models import Entry

__all__ = ["GUARDED", "Engine", "engine", "try_to_change", "unguarded_tables"]

GUARDED: Final = ("entries", "epochs", "projects", "sessions")
"""The tables whose rows are never changed or removed."""

_TRIGGERS: Final = 2  # one for rows, one for TRUNCATE
_REFUSALS: Final = frozenset({"23001", "42501"})  # the trigger's, a missing right's


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """The server and the application's role; ``version`` is PostgreSQL's server_version_num.

    ``vector`` is the version of pgvector in this database, or None without it.
    """

    version: int
    vector: str | None
    role: str


async def engine(session: AsyncSession) -> Engine:
    """Return what server and role this is; no table need exist."""
    row = (
        await session.execute(
            text(
                "SELECT current_setting('server_version_num')::int AS version, current_user AS role,"
                " (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS vector"
            )
        )
    ).one()
    return Engine(version=row.version, vector=row.vector, role=row.role)


async def unguarded_tables(session: AsyncSession) -> list[str]:
    """Return the tables of GUARDED that lack a trigger which fires always (``ENABLE ALWAYS``)."""
    rows = await session.execute(
        text(
            "SELECT name FROM unnest(CAST(:names AS text[])) AS name WHERE :triggers >"
            " (SELECT count(*) FROM pg_trigger AS t JOIN pg_proc AS p ON p.oid = t.tgfoid"
            "  WHERE t.tgrelid = to_regclass(name) AND t.tgenabled = 'A'"
            "  AND p.proname = 'refuse_change')"
        ),
        {"names": list(GUARDED), "triggers": _TRIGGERS},
    )
    return sorted(rows.scalars())


async def try_to_change(session: AsyncSession) -> Mapping[str, str]:
    """Try to change and to remove an entry; return the SQLSTATE that refused each, or "" for none.

    The entry is appended for this and everything is rolled back, whatever comes of it.
    """
    answers: dict[str, str] = {}
    async with session.begin_nested() as trial:
        draft = Draft(kind=Kind.EVENT, content="a trial of the doctor", source_client="memory")
        (appended,) = await append(session, [draft])
        mine = Entry.id == appended.id
        for name, statement in {
            "UPDATE": update(Entry).where(mine).values(content="changed"),
            "DELETE": delete(Entry).where(mine),
        }.items():
            attempt = await session.begin_nested()
            try:
                await session.execute(statement, execution_options={"synchronize_session": False})
                answers[name] = ""
            except DBAPIError as error:
                answers[name] = sqlstate_of(error)
                if answers[name] not in _REFUSALS:
                    raise
            finally:
                await attempt.rollback()
        await trial.rollback()
    return answers
