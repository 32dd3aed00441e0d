"""Checkpoints: how far an importer has read each source; they commit together with the entries."""

from collections.abc import Mapping
from typing import Any, Final, cast

from sqlalchemy import Table, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from memory.models import Checkpoint

__all__ = ["get_checkpoints", "set_checkpoint", "set_checkpoints"]

_CHECKPOINTS: Final = cast("Table", Checkpoint.__table__)


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
    await set_checkpoints(session, provider, machine, {path: state})


async def set_checkpoints(
    session: AsyncSession, provider: str, machine: str, states: Mapping[str, Mapping[str, Any]]
) -> None:
    """Remember how far each of a client's sources was read, by path."""
    if not states:
        return
    statement = insert(_CHECKPOINTS)
    statement = statement.on_conflict_do_update(
        index_elements=[_CHECKPOINTS.c.provider, _CHECKPOINTS.c.machine, _CHECKPOINTS.c.path],
        set_={"state": statement.excluded.state, "recorded_at": func.clock_timestamp()},
    )
    await session.execute(
        statement,
        [
            {"provider": provider, "machine": machine, "path": path, "state": dict(state)}
            for path, state in sorted(states.items())  # in one order, or two writers deadlock
        ],
    )
