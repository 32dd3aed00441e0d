"""How far a pass has come: a progress bar on a terminal, elsewhere a plain line now and then."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

if TYPE_CHECKING:
    from importers.run import Progress as Step  # brings the database's libraries along

__all__ = ["LINE_SECONDS", "bar", "plain"]

LINE_SECONDS: Final = 5.0
"""Time between two plain lines; a pass that takes less says nothing before its report."""


@contextmanager
def bar(*, quiet: bool) -> Iterator[Callable[["Step"], None] | None]:
    """Show how far a pass has come, on standard error; give what is told about each batch."""
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        yield plain(_aside)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("files, {task.fields[records]:,} records"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        tasks: dict[str, TaskID] = {}

        def step(now: "Step") -> None:
            if now.provider not in tasks:
                tasks[now.provider] = shown.add_task(now.provider, total=now.files, records=0)
            task = tasks[now.provider]
            shown.update(task, completed=now.files_done, total=now.files, records=now.records)

        yield step


def plain(say: Callable[[str], None]) -> Callable[["Step"], None]:
    """Return what says a line about the client at work, at most every LINE_SECONDS."""
    last = time.monotonic()

    def step(now: "Step") -> None:
        nonlocal last
        if time.monotonic() - last < LINE_SECONDS:
            return
        last = time.monotonic()
        files = f"{now.files_done:,} of {now.files:,} files"
        say(f"{now.provider}: {files}, {now.records:,} records so far")

    return step


def _aside(words: str) -> None:
    print(words, file=sys.stderr, flush=True)
