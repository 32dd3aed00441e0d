"""Another machine's stores, seen through a copy or a mount: named so that the place may change.

Sources, checkpoints and origins are named relative to their store. A copy has other inodes each
time it is made, so that an inode says nothing here: the bytes before the place that was read do.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from importers import tail
from importers.base import Batch, Source, Store
from memory.drafts import Draft

__all__ = ["found_again", "is_of", "named", "relative"]


def named(source: Source) -> Source:
    """Return a source under names that are relative to its store."""
    after = tuple(_name(each, source.store) for each in source.after)
    return replace(source, key=_name(source.key, source.store), after=after)


def is_of(key: str, store: Store, *, elsewhere: bool) -> bool:
    """Tell whether a checkpoint of this name is of a source in this store."""
    is_relative = not Path(key).is_absolute()
    return is_relative if elsewhere else Path(key).is_relative_to(store.root)


def found_again(state: Mapping[str, Any] | None, source: Source) -> Mapping[str, Any] | None:
    """Return a checkpoint as if the file had been read where it is now.

    Raises FileNotFoundError when it is gone, OSError.
    """
    if not state or "inode" not in state:
        return state
    _, status = tail.present(source.path)
    return {**state, "path": str(source.store.root / state["path"]), "inode": status.st_ino}


def relative(batch: Batch, store: Store) -> Batch:
    """Return a batch whose checkpoint and origins name files relative to their store."""
    if "path" in batch.state:
        batch.state["path"] = _name(str(batch.state["path"]), store)
    batch.drafts = [_of(draft, store) for draft in batch.drafts]
    return batch


def _of(draft: Draft, store: Store) -> Draft:
    if not draft.origin or "path" not in draft.origin:
        return draft
    return replace(draft, origin={**draft.origin, "path": _name(str(draft.origin["path"]), store)})


def _name(path: str, store: Store) -> str:
    found = Path(path)
    return found.relative_to(store.root).as_posix() if found.is_relative_to(store.root) else path
