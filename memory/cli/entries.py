"""How an entry looks, as JSON and in a list for people."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from memory.cli.output import iso, moment, one_line
from memory.drafts import STATE_KEY, Kind
from memory.models import Entry
from memory.text import displayable

__all__ = ["MATCH", "body", "facts", "headline", "summary"]

MATCH: Final = "bold yellow"
"""How a match of a search looks."""

_LONGEST_LINE: Final = 160  # characters of an entry in a list
_COLOURS: Final[Mapping[str, str]] = {
    "user": "bold green",
    "assistant": "bold cyan",
    "summary": "bold magenta",
    "tool_call": "yellow",
    "tool_result": "yellow",
}


def facts(entry: Entry) -> dict[str, Any]:
    """Return an entry as a JSON-safe object, whole."""
    return {
        "id": str(entry.id),
        "kind": entry.kind,
        "project_id": _id(entry.project_id),
        "session_id": _id(entry.session_id),
        "source_client": entry.source_client,
        "provider": entry.provider,
        "machine": entry.machine,
        "source_id": entry.source_id,
        "version": entry.version,
        "role": entry.role,
        "position": entry.position,
        "key": entry.key,
        "content": entry.content,
        "payload": entry.payload,
        "origin": entry.origin,
        "occurred_at": iso(entry.occurred_at),
        "recorded_at": iso(entry.recorded_at),
        "supersedes": _id(entry.supersedes),
    }


def headline(entry: Entry) -> Text:
    """Return who said it, what it is, and when."""
    who = entry.role or entry.kind
    version = f" (version {entry.version})" if entry.version > 1 else ""
    return Text.assemble(
        (one_line(who), _COLOURS.get(who, "bold")),
        ("  " + one_line(entry.source_client), ""),
        (f"  {moment(entry.occurred_at)}{version}", "dim"),
    )


def summary(entry: Entry) -> str:
    """Return an entry in one short line, its key before what it says."""
    # The key of a session's attribute begins with the session's id, which says nothing here.
    name = (entry.key or "").rpartition("/")[2] if entry.kind == Kind.SESSION else entry.key
    key = f"{name}: " if name and name != STATE_KEY else ""
    line = one_line(key + entry.content[: 4 * _LONGEST_LINE])
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…"


def body(
    screen: Console, text: str, *, lines: int | None, highlighted: Collection[str] = ()
) -> None:
    """Print stored text, indented; ``lines`` is how many at most, None for all.

    Where one of the ``highlighted`` words stands, it is shown in colour.
    """
    shown = displayable(text).splitlines()
    if lines is not None and len(shown) > lines:
        shown = [*shown[:lines], f"… {len(shown) - lines} more lines"]
    for line in shown:
        styled = Text(f"  {line}".rstrip())
        styled.highlight_words(highlighted, MATCH, case_sensitive=False)
        screen.print(styled)


def _id(value: object) -> str | None:
    return None if value is None else str(value)
