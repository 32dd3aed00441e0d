"""A progress bar on a terminal; elsewhere nothing, for the report says it all."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

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

__all__ = ["bar"]


@contextmanager
def bar(*, quiet: bool) -> Iterator[Callable[["Step"], None] | None]:
    """Show how far a pass has come, on standard error; give what is told about each batch."""
    if quiet or not sys.stderr.isatty():
        yield None
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
