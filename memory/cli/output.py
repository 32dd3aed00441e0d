"""How answers look: one JSON object for programs, short aligned lines for people."""

import json
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import typer
from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from memory.text import displayable

__all__ = ["Json", "ago", "console", "iso", "moment", "one_line", "print_json", "say", "table"]

Json = Annotated[bool, typer.Option("--json", help="Answer with one JSON object.")]
"""The option that every command has."""

_WIDEST: Final = 36  # columns of a terminal that one column but the last may take: an id
_NARROWEST: Final = 10  # and that the last one has at least
_GAP: Final = 2  # between two columns
_WIDE: Final = 10_000  # columns where nobody's window is: a pipe or a file gets whole lines


def print_json(facts: Mapping[str, Any]) -> None:
    """Print an answer as one JSON object on one line, ``is_error`` first."""
    # A terminal would act on control characters, which JSON need not escape.
    plain = sys.stdout.isatty() or sys.stdout.encoding.lower() not in {"utf-8", "utf8"}
    say(json.dumps({"is_error": False, **facts}, ensure_ascii=plain))


def say(line: str) -> None:
    """Print a line of our own words on standard output.

    A name of a file that is no UTF-8 is shown with its bytes escaped, as JSON writes them, too.
    """
    print(line.encode("utf-8", "backslashreplace").decode())  # noqa: T201 - the answer


def console(*, wide: bool = False) -> Console:
    """Return the console for people; it has colour on a terminal alone, and NO_COLOR forbids it.

    A ``wide`` one leaves it to the terminal to break long lines.
    """
    width = None if sys.stdout.isatty() and not wide else _WIDE
    return Console(highlight=False, markup=False, emoji=False, soft_wrap=True, width=width)


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, right: str = "") -> None:
    """Print aligned columns; ``right`` names the columns of numbers, separated by spaces.

    On a terminal the last column is cut where the line ends, and no other.
    """
    screen = console()
    grid = Table(box=None, show_edge=False, pad_edge=False, header_style="dim", expand=False)
    numbers = set(right.split())
    widths = [
        max(cell_len(each) for each in (name, *(row[place] for row in rows)))
        for place, name in enumerate(headers)
    ]
    if screen.is_terminal:
        widths = [min(width, _WIDEST) for width in widths[:-1]] + widths[-1:]
        left = screen.width - sum(width + _GAP for width in widths[:-1])
        widths[-1] = max(_NARROWEST, min(widths[-1], left))
    for name, width in zip(headers, widths, strict=True):
        justify: JustifyMethod = "right" if name in numbers else "left"
        grid.add_column(name, width=width, justify=justify, no_wrap=True, overflow="ellipsis")
    for row in rows:
        grid.add_row(*map(Text, row))
    paper = console(wide=True)  # a narrow one would squeeze the other columns, too
    with paper.capture() as captured:
        paper.print(grid, soft_wrap=False)
    say("\n".join(line.rstrip() for line in captured.get().splitlines()))


def one_line(text: str) -> str:
    """Return stored text as one harmless line."""
    return " ".join(displayable(text).split())


def iso(at: datetime | None) -> str | None:
    """Return a time for programs: ISO 8601 in UTC."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z") if at else None


def moment(at: datetime | None) -> str:
    """Return a time for people: UTC to the minute."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%MZ") if at else "-"


def ago(at: datetime | None, *, now: datetime) -> str:
    """Return how long ago a time was, in its largest unit."""
    if at is None:
        return "-"
    seconds = max(0, int((now - at).total_seconds()))
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit} ago"
    return f"{seconds}s ago"
