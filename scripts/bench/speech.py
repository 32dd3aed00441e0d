"""Seeded text shaped like what clients store: prompts, thoughts, calls, and above all tool output.

Output is cut from one body of code, logs, listings, diffs and JSON; its length has a long tail, and
now and then an earlier output comes back word for word, as it does when a file is read again.
"""

import itertools
import random
from collections import deque
from datetime import UTC, datetime, timedelta
from typing import Final

__all__ = ["CWD", "Clock", "Speech"]

CWD: Final = "/home/dev/proj"

_BEGIN: Final = datetime(2026, 9, 1, 8, tzinfo=UTC)
_BODY_LINES: Final = 60_000
_WORDS: Final = 12_000
_OUTPUT: Final = (7.0, 1.7)  # of the logarithm of its length: median 1.1 kB, mean 4.6 kB
_LONGEST_OUTPUT: Final = 400_000
_REMEMBERED: Final = 200
_REPEATED: Final = 0.2
_PLANTED: Final = 0.0005  # outputs with a credential in them
_TOOLS: Final = ("Bash", "Read", "Grep", "Edit", "Glob")
# Names of secrets are as frequent as in the sources of a standard library: one in a kilobyte.
_STATEMENTS: Final = (30, 30, 30, 5, 30)
_FOREIGN: Final = ("naïve café", "größer als", "日本語のテキスト", "→ готово", "✓ done", "━━━━━━━━")


class Speech:
    """Everything that is said in a generated store, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        """Make the vocabulary and the body that outputs are cut from."""
        self.chance = random.Random(seed)  # noqa: S311 - data for a benchmark, the same each time
        syllables = [a + b for a in "bcdfghklmnprstvw" for b in "aeiou"]
        words = ["".join(each) for each in itertools.product(syllables, repeat=2)]
        longer = [a + b for a, b in zip(words, reversed(words), strict=True)]
        self._words = (words + longer)[:_WORDS]
        self.chance.shuffle(self._words)
        self._weights = list(
            itertools.accumulate(1 / (rank + 3) for rank in range(len(self._words)))
        )
        lines = [self._line() for _ in range(_BODY_LINES)]
        self._starts = list(itertools.accumulate((len(each) + 1 for each in lines), initial=0))
        self._body = "\n".join(lines)
        self._recent: deque[str] = deque(maxlen=_REMEMBERED)

    def words(self, count: int) -> list[str]:
        """Return so many words by Zipf's law."""
        return self.chance.choices(self._words, cum_weights=self._weights, k=count)

    def name(self) -> str:
        """Return an identifier."""
        one, two = self.words(2)
        style = self.chance.randrange(3)
        return (f"{one}_{two}", f"{one}{two.title()}", f"{one.title()}{two.title()}")[style]

    def path(self) -> str:
        """Return a path of a source file."""
        one, two, three = self.words(3)
        return f"src/{one}/{two}_{three}.{self.chance.choice(('py', 'ts', 'go', 'md', 'json'))}"

    def hexadecimal(self, digits: int) -> str:
        """Return so many hexadecimal digits."""
        return f"{self.chance.getrandbits(4 * digits):0{digits}x}"

    def uuid(self) -> str:
        """Return a UUID's text."""
        text = self.hexadecimal(32)
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-8{text[17:20]}-{text[20:]}"

    def prose(self, log_mean: float) -> str:
        """Return sentences; ``log_mean`` is that of the logarithm of their number of words."""
        count = max(3, min(4000, int(self.chance.lognormvariate(log_mean, 1.0))))
        words = self.words(count)
        for place in range(0, count, 11):
            words[place] = self.chance.choice((f"`{self.name()}`", self.path(), f"{words[place]}."))
        return " ".join(words)

    def call(self) -> tuple[str, dict[str, str]]:
        """Return a tool and what it is called with."""
        tool = self.chance.choice(_TOOLS)
        if tool == "Bash":
            return tool, {"command": f"grep -rn {self.name()} {self.path()} | head -50"}
        if tool == "Edit":
            old, new = self.cut(400), self.cut(600)
            return tool, {"file_path": self.path(), "old_string": old, "new_string": new}
        return tool, {"file_path": self.path(), "pattern": self.name()}

    def output(self) -> str:
        """Return what a tool printed."""
        if self._recent and self.chance.random() < _REPEATED:
            return self.chance.choice(self._recent)
        text = self.cut(min(_LONGEST_OUTPUT, int(self.chance.lognormvariate(*_OUTPUT))))
        if self.chance.random() < _PLANTED:
            text += "\nexport GITHUB_TOKEN=" + "ghp_" + self.hexadecimal(36)
        self._recent.append(text)
        return text

    def cut(self, length: int) -> str:
        """Return so many characters of the body, from the beginning of a line on."""
        start = self._starts[self.chance.randrange(_BODY_LINES - 1)]
        text = self._body[start : start + length]
        while len(text) < length:
            text += "\n" + self._body[: length - len(text)]
        return text

    def _line(self) -> str:
        indent = " " * (4 * self.chance.randrange(4))
        other = (self._log, self._listing, self._member, self._change, self._match, self._commit)
        kinds = (*(5 * (self._statement,)), *other, self._comment)
        return self.chance.choice(kinds)(indent)

    def _log(self, _indent: str) -> str:
        moment = f"2026-11-{self.chance.randrange(1, 29):02}T10:{self.chance.randrange(60):02}:00Z"
        return f"{moment} INFO {self.name()}: {' '.join(self.words(8))} id={self.uuid()}"

    def _listing(self, _indent: str) -> str:
        return f"-rw-r--r-- 1 dev dev {self.chance.randrange(10**6):8} Nov 12 10:02 {self.path()}"

    def _member(self, indent: str) -> str:
        return f'{indent}"{self.name()}": "{" ".join(self.words(3))}",'

    def _change(self, indent: str) -> str:
        return f"{self.chance.choice('+-')}{indent}{self._code(2)}"

    def _match(self, indent: str) -> str:
        return f"{self.path()}:{self.chance.randrange(900)}:{indent}{self._code(1)}"

    def _commit(self, _indent: str) -> str:
        return f"{self.hexadecimal(40)} {' '.join(self.words(6))}"

    def _comment(self, indent: str) -> str:
        return f"{indent}# {' '.join(self.words(9))} {self.chance.choice(_FOREIGN)}"

    def _statement(self, indent: str) -> str:
        return f"{indent}{self._code(self.chance.choices(range(5), _STATEMENTS)[0])}"

    def _code(self, kind: int) -> str:
        one, two, three = self.name(), self.name(), self.name()
        if kind == 0:
            return f"def {one}({two}: str, {three}: int = {self.chance.randrange(99)}) -> None:"
        if kind == 1:
            return f"{one} = {two}.get('{three}', {self.chance.choice(self._words)})"
        if kind == 2:
            return f"if {one} and not self.{two}({three}):"
        if kind == 3:
            return f"token = {one}.{two}(password={three}, secret_key=settings.{three})"
        return f'raise ValueError(f"{" ".join(self.words(5))}: {{{one}}}")'


class Clock:
    """The time in a session; each step takes a few seconds."""

    def __init__(self, speech: Speech) -> None:
        """Begin at some moment within ten weeks."""
        self._chance = speech.chance
        self.now = _BEGIN + timedelta(minutes=self._chance.randrange(100_000))

    def step(self) -> str:
        """Go on and return the time as a client writes it."""
        self.now += timedelta(seconds=self._chance.randrange(1, 9))
        return f"{self.now:%Y-%m-%dT%H:%M:%S}.000Z"

    @property
    def milliseconds(self) -> int:
        """The time since 1970 in milliseconds."""
        return int(self.now.timestamp() * 1000)
