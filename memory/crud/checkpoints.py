"""Checkpoints: how far an importer has read each source; they commit together with the entries."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from memory.models import Checkpoint

__all__ = ["get_checkpoints", "set_checkpoint"]


async def get_checkpoints(
    session: AsyncSession, provider: str, machine: str
) -> dict[str, dict[str, Any]]:
    """Return the state of every source of a client on a machine, by path."""
    rows = await session.execute(
        select(Checkpoint.path, Checkpoint.state).where(
            Checkpoint.provider == provider, Checkpoint.machine == machine
        )
    )
    return {path: state for path, state in rows}  # noqa: C416 - a row is no plain pair to mypy


async def set_checkpoint(
    session: AsyncSession, provider: str, machine: str, path: str, state: Mapping[str, Any]
) -> None:
    """Remember how far a source was read."""
    statement = insert(Checkpoint).values(
        provider=provider, machine=machine, path=path, state=dict(state)
    )
    await session.execute(
        statement.on_conflict_do_update(
            index_elements=[Checkpoint.provider, Checkpoint.machine, Checkpoint.path],
            set_={"state": statement.excluded.state, "recorded_at": func.clock_timestamp()},
        )
    )
