"""Which sources a signal names: by their path, or by an id in it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeVar

from importers.base import Source
from importers.spool import Signal

__all__ = ["is_database", "named_by", "names_of"]

T = TypeVar("T")

_ID_LENGTH: Final = 36  # of a UUID in text
_LOG_SUFFIXES: Final = frozenset({".jsonl", ".zst", ".json"})


def is_database(source: Source) -> bool:
    """Tell whether a source holds the conversations of a whole client."""
    return source.path.suffix not in _LOG_SUFFIXES


def names_of(signal: Signal) -> Iterator[str]:
    """Yield what a source is known by that a signal speaks of."""
    yield signal.session
    if signal.agent:
        yield f"agent-{signal.agent}"
    if signal.path:
        yield signal.path


def named_by(source: Source, by_name: Mapping[str, Sequence[T]]) -> list[T]:
    """Return what has a name of this source, each once.

    Names are its path, each part of that, and an id at the end of its file's name, as in Codex'
    ``rollout-<time>-<id>``.
    """
    path = source.path
    root = source.store.root
    inner = path.relative_to(root).parts if path.is_relative_to(root) else ()
    stem = path.name.partition(".")[0]
    last = stem[-_ID_LENGTH:] if stem[:-_ID_LENGTH].endswith("-") else ""
    names = dict.fromkeys((str(path), *inner, stem, last))
    return list({id(each): each for name in names for each in by_name.get(name, ())}.values())
