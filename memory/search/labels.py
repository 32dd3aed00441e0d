"""Labels: what a search may filter by, in the index beside the words.

A label is a term that begins with ``=``, which no word does. So a filter is answered by the index:
what is left of a common word in a small project is known before any entry is read.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from memory.drafts import HARNESS_ROLES, OWN_KINDS, Kind, client_names
from memory.search.request import Request
from memory.search.source import Source
from memory.text import fold

__all__ = [
    "MARK",
    "Carried",
    "Condition",
    "carried",
    "filters",
    "hidden_kinds",
    "hidden_roles",
    "label",
    "labels",
    "speaker_of",
]

MARK: Final = "="
_PLAIN: Final = re.compile(r"[a-z0-9_.-]{1,64}")
_NAME: Final = re.compile(r"([^\W\d_][\w'-]{0,30}(?: [^\W\d_][\w'-]{0,30}){0,2}): ")
_PROSE: Final = frozenset({"user", "assistant"})


class Carried(NamedTuple):
    """What is known of each candidate: ``session`` is an id in hexadecimal; empty for none."""

    client: str
    kind: str
    role: str
    session: str
    speaker: str


class Condition(NamedTuple):
    """A filter: entries must have one of these labels, or none of them."""

    labels: tuple[str, ...]
    excludes: bool


def label(name: str, value: str) -> str:
    """Return the label of a value; one that is long or has other characters is hashed."""
    if not _PLAIN.fullmatch(value):
        value = "#" + hashlib.sha256(value.encode()).hexdigest()[:40]
    return f"{MARK}{name}/{value}"


def labels(entry: Source) -> list[str]:
    """Return an entry's labels."""
    found = [label("client", entry.source_client), label("kind", entry.kind)]
    if entry.role is not None:
        found.append(label("role", entry.role))
    if entry.project_id is not None:
        found.append(label("project", entry.project_id.hex))
    if entry.session_id is not None:
        found.append(label("session", entry.session_id.hex))
    return found


def carried(entry: Source) -> str:
    """Return what of an entry a search also reads, for ranking, one a line; see `Carried`."""
    session = entry.session_id.hex if entry.session_id is not None else ""
    values = Carried(entry.source_client, entry.kind, entry.role or "", session, speaker_of(entry))
    return "\n".join(" ".join(each.split()) for each in values)


def speaker_of(entry: Source) -> str:
    """Return the name with which a message begins, in lower case, its words joined by ``-``.

    Chats between people, pasted or exported, put one and a colon before each turn. Empty for none.
    """
    if entry.kind != Kind.MESSAGE or entry.role not in _PROSE:
        return ""
    begins = _NAME.match(entry.content)
    name = begins[1] if begins else ""
    if any(word[0].islower() for word in name.split()):
        return ""
    return "-".join(fold(word) for word in name.split())


def filters(request: Request) -> list[Condition]:
    """Return the request's filters but for times, all of which an entry must meet."""
    found: list[Condition] = []
    if request.source_client is not None:
        found.append(_any("client", client_names(request.source_client)))
    if request.project_id is not None:
        found.append(_any("project", [request.project_id.hex]))
    if request.session_id is not None:
        found.append(_any("session", [request.session_id.hex]))
    if request.kinds:
        found.append(_any("kind", request.kinds))
    if request.roles:
        found.append(_any("role", request.roles))
    if hidden := hidden_kinds(request):
        found.append(_any("kind", hidden, excludes=True))
    if hidden := hidden_roles(request):
        found.append(_any("role", hidden, excludes=True))
    return found


def hidden_kinds(request: Request) -> tuple[str, ...]:
    """Return the kinds that do not answer this request although it names no kinds."""
    if request.include_system or request.kinds:
        return ()
    return OWN_KINDS


def hidden_roles(request: Request) -> tuple[str, ...]:
    """Return the roles that do not answer this request although it names no roles."""
    return () if request.include_system or request.roles else HARNESS_ROLES


def _any(name: str, values: Iterable[str], *, excludes: bool = False) -> Condition:
    return Condition(tuple(label(name, value) for value in dict.fromkeys(values)), excludes)
