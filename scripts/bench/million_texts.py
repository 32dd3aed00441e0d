"""Messages for benchmarks of search, as many as wanted, and queries of known frequency over them.

Each batch has a seed of its own, so that any of them can be made again: two engines get the same
texts without keeping them, and a benchmark goes on where it was stopped. Bytes of a message: median
about 650, mean about 1,900, one in a hundred above 18,000, as measured on clients' stores. Words
follow Zipf's law; every twelfth is an identifier, a path or a flag.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

__all__ = ["BATCH", "CLIENTS", "PROJECTS", "ROLES", "SESSION_LENGTH", "Language", "Query"]

BATCH: Final = 1_000
"""Messages that are made from one seed."""
SAMPLE: Final = 10
"""Batches in which the frequency of words is counted."""
CLIENTS: Final = ("claude", "codex", "opencode")
ROLES: Final = ("user", "assistant", "tool_call", "tool_result", "tool_result")
PROJECTS: Final = 20
SESSION_LENGTH: Final = 200

FILTERS: Final = ("client", "project", "session", "role", "since")
PREFIX: Final = 5
"""Letters of a word's beginning that is asked for."""

VOCABULARY: Final = 60_000
LONGEST: Final = 40_000
"""Words of the longest message."""
_EVERY: Final = 12  # words from one identifier to the next
_MU, _SIGMA = 4.47, 1.46  # of the lognormal number of words, at seven bytes a word


@dataclass(frozen=True, slots=True)
class Query:
    """One query: words that are OR-ed, a phrase, or the beginning of a word; and a filter's name."""

    words: tuple[str, ...]
    is_phrase: bool = False
    is_prefix: bool = False
    filter: str = ""


class Language:
    """Words by Zipf's law, the same each time."""

    def __init__(self) -> None:
        """Make the vocabulary; its order is that of the words' ranks."""
        syllables = [a + b for a in "bcdfghklmnprstvz" for b in "aeiou"]
        words = np.array([a + b + c for a, b, c in itertools.product(syllables, repeat=3)])
        np.random.default_rng(11).shuffle(words)
        self.words = words[:VOCABULARY]
        weights = 1 / (np.arange(VOCABULARY) + 3)
        self._cumulated = np.cumsum(weights / weights.sum())

    def texts(self, batch: int) -> list[str]:
        """Return the messages of a batch."""
        random = np.random.default_rng([7, batch])
        sizes = np.clip(random.lognormal(_MU, _SIGMA, BATCH).astype(int), 4, LONGEST)
        drawn = self.words[np.searchsorted(self._cumulated, random.random(int(sizes.sum())))]
        words = drawn.tolist()
        forms = random.integers(0, 4, len(words))
        for at in range(0, len(words) - 2, _EVERY):
            one, two = words[at], words[at + 1]
            words[at] = (
                f"{one}_{two}",
                f"src/{one}/{two}.py",
                f"--{one}",
                f"{one}{two.title()}",
            )[forms[at]]
        ends = np.cumsum(sizes)
        return [" ".join(words[end - size : end]) for size, end in zip(sizes, ends, strict=True)]

    def queries(self, count: int) -> dict[str, list[Query]]:
        """Return so many queries of each kind, by the share of messages that hold a word."""
        sample = [text for batch in range(SAMPLE) for text in self.texts(batch)]
        choice = _Choice(sample, set(self.words.tolist()))
        return {name: [make() for _ in range(count)] for name, make in choice.kinds().items()}


class _Choice:
    """Words of known frequency in a sample, drawn the same each time."""

    def __init__(self, sample: Sequence[str], plain: set[str]) -> None:
        self.sample, self.plain = sample, plain
        self.random = np.random.default_rng(13)
        self.frequencies = Counter(word for text in sample for word in set(text.split()))
        self.rare = self.between(2e-4, 1e-3)
        self.middling = self.between(0.02, 0.06)
        self.common = self.between(0.25, 0.7)

    def between(self, low: float, high: float) -> list[str]:
        """Return the words that are in this share of the messages."""
        least, most = low * len(self.sample), high * len(self.sample)
        return sorted(
            word
            for word, count in self.frequencies.items()
            if least <= count <= most and word in self.plain
        )

    def pick(self, words: Sequence[str], number: int = 1) -> tuple[str, ...]:
        """Draw different words."""
        return tuple(str(each) for each in self.random.choice(words, number, replace=False))

    def phrase(self) -> Query:
        """Return two words that stand beside one another in some message."""
        while True:
            words = self.sample[self.random.integers(len(self.sample))].split()
            at = int(self.random.integers(len(words) - 1))
            two = tuple(words[at : at + 2])
            if self.plain.issuperset(two):
                return Query(two, is_phrase=True)

    def kinds(self) -> dict[str, Callable[[], Query]]:
        """Return what makes a query of each kind."""
        pick, rare, middling, common = self.pick, self.rare, self.middling, self.common

        def narrowed(name: str) -> Query:
            return Query((*pick(common), *pick(middling)), filter=name)

        return {
            "rare": lambda: Query(pick(rare)),
            "middling": lambda: Query(pick(middling)),
            "common": lambda: Query(pick(common)),
            "two words": lambda: Query((*pick(common), *pick(middling))),
            "two common": lambda: Query(pick(common, 2)),
            "six words": lambda: Query((*pick(common, 2), *pick(middling, 3), *pick(rare))),
            "six middling": lambda: Query(pick(middling, 6)),
            "phrase": self.phrase,
            "prefix": lambda: Query((pick(middling)[0][:PREFIX],), is_prefix=True),
            **{name: partial(narrowed, name) for name in FILTERS},
        }
