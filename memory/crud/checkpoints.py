"""Checkpoints: how far an importer has read each source; they commit together with the entries.

Names of files are bytes, and what a client wrote may be anything: PostgreSQL takes neither NUL nor
halves of surrogate pairs, by which Python keeps bytes that are no UTF-8. Both are stored as
characters for private use, and given back as they were.
"""

import re
from collections.abc import Mapping
from operator import itemgetter
from typing import Any, Final, cast

import msgspec
from sqlalchemy import Table, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from memory.models import Checkpoint

__all__ = ["get_checkpoints", "set_checkpoint", "set_checkpoints"]

_CHECKPOINTS: Final = cast("Table", Checkpoint.__table__)
_PLANE: Final = 0xF0000  # Supplementary Private Use Area-A
_REFUSED: Final = (0, *range(0xD800, 0xE000))
_HIDE: Final = {code: _PLANE + code for code in _REFUSED}
_SHOW: Final = {hidden: code for code, hidden in _HIDE.items()}
_HIDDEN: Final = re.compile("[\U000f0000\U000fd800-\U000fdfff]")


async def get_checkpoints(
    session: AsyncSession, provider: str, machine: str
) -> dict[str, dict[str, Any]]:
    """Return the state of every source of a client on a machine, by path."""
    rows = await session.execute(
        select(Checkpoint.path, Checkpoint.state).where(
            Checkpoint.provider == provider, Checkpoint.machine == machine
        )
    )
    return {path.translate(_SHOW): _shown(state) for path, state in rows}


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
            {"provider": provider, "machine": machine, "path": path, "state": state}
            # In one order, or two writers deadlock.
            for path, state in sorted(
                ((path.translate(_HIDE), _hidden(state)) for path, state in states.items()),
                key=itemgetter(0),
            )
        ],
    )


def _hidden(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return a state without what PostgreSQL refuses; nearly all come back as they are."""
    try:
        is_plain = b"\\u0000" not in msgspec.json.encode(state)
    except UnicodeEncodeError:
        is_plain = False
    return dict(state) if is_plain else _translated(dict(state), _HIDE)


def _shown(state: dict[str, Any]) -> dict[str, Any]:
    is_plain = _HIDDEN.search(msgspec.json.encode(state).decode()) is None
    return state if is_plain else _translated(state, _SHOW)


def _translated(value: Any, table: Mapping[int, int]) -> Any:
    if isinstance(value, str):
        return value.translate(table)
    if isinstance(value, Mapping):
        return {_translated(key, table): _translated(each, table) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_translated(each, table) for each in value]
    return value
