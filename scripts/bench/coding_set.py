"""A labelled set of questions over coding sessions, in the project's own words.

`data/coding/` holds hand-written sessions of one invented project a file, with questions and the
messages that answer them; `data/coding_filler.json` holds what stands around them in real life:
tool calls, long results, small talk about the same modules. Both are woven together the same way
each time, so that an answer has to be found among many messages that speak of the same things.
"""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

__all__ = ["CATEGORIES", "Message", "Question", "Session", "questions", "sessions"]

CATEGORIES: Final = (
    "date",
    "error",
    "identifier",
    "language",
    "paraphrase",
    "path",
    "plain",
    "token",
    "when",
    "who",
    "why",
)
"""What makes a question hard: see docs/benchmarks.md."""

CLIENTS: Final = ("claude", "codex", "opencode")
DISTRACTORS: Final = 4
"""Sessions of each project that answer no question."""
TURNS: Final = 12
"""Turns of such a session: each a question, calls, results and an answer."""
LONGEST_RESULT: Final = 60
"""Lines of a tool's result."""

_DATA: Final = Path(__file__).parent / "data"
_FIRST: Final = datetime.fromisoformat("2026-01-05T08:00:00+00:00")
_DAYS: Final = 220


@dataclass(frozen=True, slots=True)
class Message:
    """One message; ``role`` may also be a record: ``decision/<key>``, ``fact/<key>``, ``event``."""

    id: str
    role: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Session:
    """One session of a client in a project."""

    id: str
    project: str
    client: str
    title: str
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the ids of the messages that answer it."""

    id: str
    category: str
    text: str
    relevant: tuple[str, ...]


def questions() -> list[Question]:
    """Return the questions, in the order of the files."""
    return [
        Question(f"{project['project']}-{number:02}", category, text, tuple(relevant))
        for project in _projects()
        for number, (category, text, relevant) in enumerate(project["questions"], start=1)
    ]


def sessions() -> list[Session]:
    """Return the sessions with everything that stands around the answers, oldest first."""
    filler = json.loads((_DATA / "coding_filler.json").read_text())
    found: list[Session] = []
    for project in _projects():
        words = filler["vocabulary"][project["project"]]
        talk = _Talk(random.Random(project["project"]), words, filler["templates"])  # noqa: S311
        found += [_woven(project["project"], each, talk) for each in project["sessions"]]
        found += [_distractor(project["project"], n, talk) for n in range(DISTRACTORS)]
    return sorted(found, key=lambda each: each.messages[0].at)


def _projects() -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted((_DATA / "coding").glob("*.json"))]


@dataclass(slots=True)
class _Talk:
    """What is said around the answers of one project."""

    chooser: random.Random
    words: Mapping[str, Sequence[str]]
    templates: Mapping[str, Sequence[str]]
    shown: set[str] = field(default_factory=set)

    def say(self, role: str) -> str:
        """Return a message that has not been said before."""
        while True:
            text = self._result() if role == "tool_result" else self._filled(role)
            if text not in self.shown:
                self.shown.add(text)
                return text
            # Everyday words come again, as they do; without this few templates run dry.
            if role != "tool_result":
                return f"{text} ({self.chooser.choice(self.words['files'])})"

    def around(self) -> Iterator[tuple[str, str]]:
        """Yield what an assistant does between two messages worth remembering."""
        if self.chooser.random() < 0.3:
            yield "reasoning", self.say("reasoning")
        for _ in range(self.chooser.choice((0, 0, 1, 1, 2))):
            yield "tool_call", self.say("tool_call")
            yield "tool_result", self.say("tool_result")
        if self.chooser.random() < 0.5:
            yield "assistant", self.say("assistant")

    def _filled(self, name: str) -> str:
        choose = self.chooser.choice
        return choose(self.templates[name]).format(
            file=choose(self.words["files"]),
            other=choose(self.words["files"]),
            name=choose(self.words["names"]),
            error=choose(self.words["errors"]),
            subject=choose(self.words["subjects"]),
            number=self.chooser.randrange(1, 900),
            percent=self.chooser.randrange(1, 101),
            hash=f"{self.chooser.getrandbits(28):07x}",
        )

    def _result(self) -> str:
        lines = min(LONGEST_RESULT, int(self.chooser.lognormvariate(1.8, 1.0)) + 1)
        return "\n".join(self._filled("line") for _ in range(lines))


def _woven(project: str, written: Mapping[str, Any], talk: _Talk) -> Session:
    """Put what is said around them between a session's hand-written messages."""
    said: list[tuple[str, str, str]] = []
    for number, (role, text, *name) in enumerate(written["messages"], start=1):
        said.append((name[0] if name else f"{written['id']}-{number}", role, text))
        said += [
            (f"{written['id']}-{number}.{step}", *each)
            for step, each in enumerate(talk.around(), start=1)
        ]
    began = datetime.fromisoformat(written["began"])
    messages = _timed(said, began, talk.chooser)
    return Session(written["id"], project, written["client"], written["title"], messages)


def _distractor(project: str, number: int, talk: _Talk) -> Session:
    """Return a session about the project's modules that answers no question."""
    name = f"{project}-filler-{number}"
    said: list[tuple[str, str]] = []
    for _ in range(TURNS):
        said += [("user", talk.say("user")), *talk.around(), ("assistant", talk.say("assistant"))]
    began = _FIRST + timedelta(
        days=talk.chooser.randrange(_DAYS), minutes=talk.chooser.randrange(600)
    )
    numbered = [(f"{name}-{place}", *each) for place, each in enumerate(said, start=1)]
    title = f"Work on {talk.chooser.choice(talk.words['subjects'])}"
    client = CLIENTS[number % len(CLIENTS)]
    return Session(name, project, client, title, _timed(numbered, began, talk.chooser))


def _timed(
    said: Sequence[tuple[str, str, str]], began: datetime, chooser: random.Random
) -> tuple[Message, ...]:
    messages: list[Message] = []
    at = began
    for name, role, text in said:
        messages.append(Message(name, role, text, at))
        at += timedelta(seconds=chooser.randrange(5, 240))
    return tuple(messages)
