"""What the checkpoint of a transcript remembers stays small, and identities stay apart."""

import json
from pathlib import Path
from typing import Any

import pytest

from importers.claude import recent
from importers.claude.place import Place
from importers.claude.rows import normalise
from importers.tail import Normalised, Record

LIMIT = 3


class File:
    """A transcript whose checkpoint is stored after every row, as jsonb: without an order of keys."""

    def __init__(self) -> None:
        self.context: dict[str, Any] = {}
        self._rows = 0
        self._place = Place(
            path=Path("/x/s.jsonl"), project=Path("/x"), session="s", agent=None, older=list
        )

    def add(self, **row: Any) -> Normalised:
        self._rows += 1
        record = Record(value=row, raw=b"{}", path="/x/s.jsonl", offset=self._rows)
        given = normalise(record, self.context, place=self._place)
        self.context = json.loads(json.dumps(self.context, sort_keys=True))
        return given

    def type_queued(self, text: str) -> str:
        attachment = {"type": "queued_command", "prompt": text}
        (draft,) = self.add(type="attachment", sessionId="s", attachment=attachment).drafts
        return str(draft.source_id)

    def answer(self, session: str, model: str) -> list[str]:
        """Add an answer and return the source ids of the models that it told."""
        message = {"role": "assistant", "content": f"by {model}", "model": model}
        row = {"type": "assistant", "uuid": f"u{self._rows}", "sessionId": session}
        given = self.add(**row, message=message)
        return [str(each.source_id) for each in given.drafts if (each.key or "").endswith("/model")]

    def title(self, session: str, text: str, *, kind: str = "custom") -> list[str]:
        row = {"type": f"{kind}-title", f"{kind}Title": text, "sessionId": session}
        return [str(each.source_id) for each in self.add(**row).drafts]


@pytest.fixture
def file(monkeypatch: pytest.MonkeyPatch) -> File:
    monkeypatch.setattr(recent, "MAX_NAMES", LIMIT)
    monkeypatch.setattr(recent, "MAX_COUNTS", LIMIT)
    return File()


def test_queued_prompts_keep_identities_of_their_own(file: File) -> None:
    ids = []
    for text in "aabcdabeaadffaabcdee":
        ids.append(file.type_queued(text))
        assert len(file.context["queued"]) <= LIMIT
    assert len(set(ids)) == len(ids)
    assert [each.rpartition("/")[2] for each in ids[:4]] == ["1", "2", "1", "1"]


def test_the_titles_of_a_session_keep_identities_of_their_own(file: File) -> None:
    file.answer("s", "m")
    ids = []
    for text in "abacdeabfghaabc":
        ids += file.title("s", text)
        assert file.title("s", text) == [], "the one that stands is not said again"
        assert len(file.context["titles"]["s"]["counts"]) <= LIMIT
    assert len(set(ids)) == len(ids) == len("abacdeabfghabc")


def test_the_sessions_of_a_file_are_remembered_while_they_are_near(file: File) -> None:
    ids: list[str] = []
    for number in range(10):
        name = f"s{number}"
        ids += file.answer(name, "m")
        ids += file.title(name, "t")
        assert file.answer("s0", "m") + file.title("s0", "t") == [], "met all the time"
        assert file.title("s0", "made up", kind="ai") == []
        for kept in ("sessions", "models", "titles", "titled", "named"):
            assert len(file.context[kept]) <= LIMIT
    assert len(set(ids)) == len(ids) == 20


def test_a_session_that_returns_late_takes_on_nothing_under_an_old_identity(file: File) -> None:
    ids = (
        file.answer("a", "m") + file.answer("a", "n") + file.title("a", "t") + file.title("a", "u")
    )
    for number in range(10):
        file.answer(f"s{number}", "m")
        file.title(f"s{number}", "t")
    ids += (
        file.answer("a", "m") + file.answer("a", "n") + file.title("a", "t") + file.title("a", "u")
    )
    assert len(set(ids)) == len(ids) == 8
