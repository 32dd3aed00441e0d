"""What a question says of who spoke and when, beside what it is about."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from memory.drafts import CLIENTS, client_names
from memory.search.candidates import Candidate
from memory.search.dates import MONTHS, Named, dates_in, named_times
from memory.text import fold, query

__all__ = ["TIME_WORDS", "Hints", "asks_when", "hints_of", "people_among", "told_apart"]

_ASKS_WHEN: Final = re.compile(
    r"\b(?:when|how long|(?:what|which) (?:date|day|week|month|year|time))\b", re.IGNORECASE
)
_TIMES: Final = (
    "yesterday today tomorrow tonight last next ago recently since day week weekend month year"
    " monday tuesday wednesday thursday friday saturday sunday"
)
TIME_WORDS: Final = frozenset(query(f"{_TIMES} {' '.join(MONTHS)}").words)
"""Lexemes of words that tell a time."""

# A client's name alone may be what a question is about; with these words it is who spoke.
_BEFORE: Final = r"\b(?:did|does|has|had|by|told|asked|according to)"
_BEHIND: Final = (
    r"(?:said|says|told|tells|asked|answered|decided|suggested|proposed|recommended|recorded"
    r"|wrote|thought|thinks|found|claimed|reported|fixed|changed)\b"
)
_CLIENTS: Final[Mapping[str, re.Pattern[str]]] = {
    name: re.compile(f"{_BEFORE} {every}\\b|\\b{every} {_BEHIND}", re.IGNORECASE)
    for name in CLIENTS
    for every in [f"(?:{'|'.join(re.escape(each) for each in client_names(name))})"]
}
_MOST: Final = 0.5
"""Share of the entries found that begin with a name, as turns of a chat do, for it to be one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """What a question asks beside its words.

    ``writers`` are the names of the one person or client that it names as who spoke. ``times``
    are those it names; ``asks_when`` tells that it asks for one.
    """

    writers: Collection[str] = ()
    times: tuple[Named, ...] = ()
    asks_when: bool = False

    def is_by_writer(self, candidate: Candidate) -> bool:
        """Tell whether the one who was named wrote an entry."""
        by = candidate.carried
        return by.speaker in self.writers or by.client in self.writers

    def fit(self, moment: datetime) -> float:
        """Return from 0 to 1 how well a time fits the best of those that were named."""
        return max((each.fit(moment) for each in self.times), default=0.0)


def asks_when(question: str) -> bool:
    """Tell whether a question asks for a time."""
    return _ASKS_WHEN.search(question) is not None


def people_among(candidates: Collection[Candidate], question: str) -> frozenset[str]:
    """Return the people whom a question names, where most entries begin with who speaks.

    A text may begin with any word and a colon; where most do, these are names.
    """
    speakers = [each.carried.speaker for each in candidates if each.carried.speaker]
    if len(speakers) < _MOST * len(candidates):
        return frozenset()
    words = {fold(word) for word in re.findall(r"[^\W_]+", question)}
    return frozenset(each for each in speakers if not words.isdisjoint(each.split("-")))


def told_apart(question: str, people: Collection[str]) -> frozenset[str]:
    """Return the words of a question that say who or when rather than what.

    Who of the ``people`` spoke and when are looked for beside the words, so these need not stand
    in the text. A date as it is written in digits stays, whole: logs hold it.
    """
    return frozenset(query(f"{' '.join(people)} {dates_in(question)}").words)


def hints_of(question: str, people: Collection[str], *, now: datetime) -> Hints:
    """Return what a question asks beside its words; ``people`` are those it names."""
    clients = [name for name, named in _CLIENTS.items() if named.search(question)]
    writers: Collection[str] = ()
    if len(people) + len(clients) == 1:
        writers = client_names(clients[0]) if clients else people
    return Hints(
        writers=writers,
        times=named_times(question, now=now),
        asks_when=asks_when(question),
    )
