"""What the checkpoint of a transcript remembers stays small, and identities stay apart."""

import json
from pathlib import Path
from typing import Any

import pytest

from importers.claude import recent, sessions, usage
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

    def side(self, uuid: str, parent: str | None, text: str = "x", **fields: Any) -> Normalised:
        """Add a row of a side chain, as versions before 2.0 wrote them into their parent's file."""
        message = {"role": "user", "content": text, **fields}
        row = {"type": "user", "uuid": uuid, "parentUuid": parent, "isSidechain": True}
        return self.add(**row, sessionId="s", message=message)

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


def test_side_chains_are_told_apart_by_the_rows_met_last_whatever_their_ids(
    file: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "_OPEN_ROWS", 4)
    session_of = {}
    # Ids that a checkpoint, which sorts its keys, brings into another order.
    for chain in ("zz", "a", "mmm"):
        for number in range(6):
            parent = f"{chain}{9 - number + 1}" if number else None
            name = f"{chain}{9 - number}"
            (draft,) = file.side(name, parent).drafts
            session_of[name] = draft.session_id
            assert len(file.context["chained"]) <= 4
    for chain in ("zz", "a", "mmm"):
        assert len({each for name, each in session_of.items() if name[:-1] == chain}) == 1
    assert len(set(session_of.values())) == 3


def test_warm_ups_are_remembered_in_bounds(file: File, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "_OPEN_ROWS", 4)
    for number in range(20):
        assert file.side(f"w{number}", None, "Warmup").skipped == "warm-up agent"
        assert file.side(f"v{number}", f"w{number}", "I am ready").skipped == "warm-up agent"
        assert len(file.context["warm_chains"]) <= 4


def test_tokens_are_counted_once_for_the_messages_met_last_whatever_their_ids(
    file: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage, "_OPEN_MESSAGES", 2)
    total = 0
    for number in range(20):
        name = f"msg_{(number * 7) % 20}"
        for output in (1, 1, 51):
            used = {"output_tokens": output}
            message = {"role": "assistant", "content": "x", "id": name, "usage": used}
            row = {"type": "assistant", "uuid": f"{name}-{output}", "sessionId": "s"}
            for each in file.add(**row, message=message).drafts:
                total += (each.payload or {}).get("usage", {}).get("output_tokens", 0)
            assert len(file.context["counted"]) <= 2
    assert total == 20 * 51
