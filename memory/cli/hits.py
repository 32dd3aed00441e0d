"""The hits of a search as a person reads them: by session, with their matches in colour."""

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from memory.cli.entries import MATCH, facts
from memory.cli.output import moment, one_line
from memory.search import Answer, Hit

__all__ = ["Found", "found_facts", "show_hits"]


@dataclass(frozen=True, slots=True)
class Found:
    """An answer, and the names that people know: of projects and sessions, and the ids' digits."""

    answer: Answer
    projects: Mapping[Any, str]
    titles: Mapping[uuid.UUID, str]
    ids: Mapping[uuid.UUID, str]

    def ordered(self, *, newest: bool) -> list[Hit]:
        """Return the hits, best first or newest first."""
        if not newest:
            return list(self.answer.hits)
        return sorted(self.answer.hits, key=lambda hit: hit.entry.occurred_at, reverse=True)


def found_facts(found: Found, *, newest: bool) -> dict[str, Any]:
    """Return an answer for programs."""
    answer = found.answer
    return {
        "hits": [_hit_facts(hit, found) for hit in found.ordered(newest=newest)],
        "total": answer.total,
        "total_is_exact": answer.total_is_exact,
        "ways": dict(answer.ways),
        "unindexed": answer.unindexed,
        "note": answer.note,
        "next_cursor": answer.next_cursor,
    }


def _hit_facts(hit: Hit, found: Found) -> dict[str, Any]:
    entry = hit.entry
    newer = str(hit.superseded_by) if hit.superseded_by else None
    return {
        "score": round(hit.score, 4),
        "snippet": hit.snippet,
        "words": list(hit.why.words),
        "why": {name: round(part, 4) for name, part in hit.why.parts.items()},
        "copies": hit.copies,
        "superseded_by": newer,
        "project": found.projects.get(entry.project_id),
        "session_title": found.titles.get(entry.session_id) if entry.session_id else None,
        "entry": facts(entry),
    }


def show_hits(screen: Console, found: Found, *, newest: bool) -> None:
    """Print the hits, those of one session together where its first one stands."""
    groups: dict[object, list[Hit]] = {}
    for hit in found.ordered(newest=newest):
        entry = hit.entry
        # What belongs to no session stands together by project and client.
        name = entry.session_id or (entry.project_id, entry.source_client)
        groups.setdefault(name, []).append(hit)
    for number, hits in enumerate(groups.values()):
        if number:
            screen.print()
        screen.print(_heading(hits, found))
        for hit in hits:
            _show_hit(screen, hit, found)


def _heading(hits: Sequence[Hit], found: Found) -> Text:
    entry = hits[0].entry
    project = one_line(found.projects.get(entry.project_id, "-"))
    if entry.session_id is None:
        title, digits = "(no session)", ""
    else:
        title = found.titles.get(entry.session_id, "(no title)")
        digits = found.ids.get(entry.session_id, str(entry.session_id))
    return Text.assemble(
        (one_line(title), "bold"),
        f"  {one_line(entry.source_client)}  {project}",
        (f"  {digits}" if digits else "", "cyan"),
    )


def _show_hit(screen: Console, hit: Hit, found: Found) -> None:
    entry = hit.entry
    plain = screen.color_system is None or screen.no_color
    screen.print(
        Text.assemble(
            (f"{hit.score:8.3f}", "bold"),
            f"  {moment(entry.occurred_at)}  {one_line(entry.role or entry.kind)}  ",
            (found.ids.get(entry.id, str(entry.id)), "cyan"),
            ("  superseded" if hit.superseded_by else "", "yellow"),
            (f"  {hit.copies} copies" if hit.copies > 1 else "", "dim"),
        )
    )
    screen.print(Text.assemble("          ", _marked(hit.snippet, with_marks=plain)))


def _marked(snippet: str, *, with_marks: bool) -> Text:
    """Return a snippet whose matches, which stand in « », are shown by style as well."""
    shown = Text()
    for number, part in enumerate(re.split(r"«([^«»]*)»", one_line(snippet))):
        if number % 2:
            shown.append(f"«{part}»" if with_marks else part, MATCH)
        else:
            shown.append(part)
    return shown
