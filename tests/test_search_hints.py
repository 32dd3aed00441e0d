"""What a question says of who spoke and when."""

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

import pytest
from search_fixtures import candidate

from memory.search import hints, labels, ranking
from memory.search import scores as scoring
from memory.search.candidates import Candidate
from memory.search.dates import named_times
from memory.search.labels import Carried
from memory.search.source import Source

NOW = datetime(2026, 9, 27, 12, tzinfo=UTC)


def by(number: int, *, client: str = "codex", speaker: str = "") -> Candidate:
    return candidate(number, carried=Carried(client, "message", "user", "", speaker))


def best_fit(question: str, moment: datetime) -> float:
    return max((each.fit(moment) for each in named_times(question, now=NOW)), default=0.0)


def message(content: str, *, role: str | None = "user", kind: str = "message") -> Source:
    return Source(
        id=UUID(int=1),
        kind=kind,
        role=role,
        key=None,
        source_client="bench",
        project_id=None,
        session_id=None,
        occurred_at=NOW,
        content=content,
        said=0,
    )


@pytest.mark.parametrize(
    ("question", "moment", "fit"),
    [
        ("what broke on 7 May 2023?", datetime(2023, 5, 7, tzinfo=UTC), 1.0),
        ("what broke on the 7th of May", datetime(2024, 5, 7, tzinfo=UTC), 1.0),
        ("what broke on May 7, 2023", datetime(2023, 5, 8, tzinfo=UTC), 0.5),
        ("the release of 2026-03-14", datetime(2026, 3, 14, 23, tzinfo=UTC), 1.0),
        ("the releases of 2026-03", datetime(2026, 3, 2, tzinfo=UTC), 0.5),
        ("what did we decide in June", datetime(2025, 6, 1, tzinfo=UTC), 0.5),
        ("what did we decide in June 2024", datetime(2025, 6, 1, tzinfo=UTC), 0.0),
        ("the plan for 2025", datetime(2025, 8, 1, tzinfo=UTC), 0.15),
        ("you may march on", datetime(2025, 5, 1, tzinfo=UTC), 0.0),
        ("what did we do yesterday", datetime(2026, 9, 26, 1, tzinfo=UTC), 1.0),
        ("what did we do yesterday", datetime(2026, 9, 25, 1, tzinfo=UTC), 0.0),
        ("the bug of last week", datetime(2026, 9, 20, tzinfo=UTC), 1.0),
        ("the bug of this month", datetime(2026, 8, 28, tzinfo=UTC), 1.0),
        ("the failure 3 days ago", datetime(2026, 9, 24, tzinfo=UTC), 1.0),
        ("no time at all", NOW, 0.0),
    ],
)
def test_a_time_fits_as_far_as_the_question_names_it(
    question: str, moment: datetime, fit: float
) -> None:
    assert best_fit(question, moment) == fit


@pytest.mark.parametrize(
    ("content", "speaker"),
    [
        ("Ada: the port is 5433", "ada"),
        ("Ada Byron: the port", "ada-byron"),
        ("note: the port", ""),
        ("the port: 5433", ""),
        ("https://example.org: no", ""),
        ("Ada:", ""),
        ("", ""),
    ],
)
def test_a_turn_of_a_chat_begins_with_who_speaks(content: str, speaker: str) -> None:
    assert labels.speaker_of(message(content)) == speaker


def test_only_prose_begins_with_who_speaks() -> None:
    assert labels.speaker_of(message("Ada: hello", role="tool_result")) == ""
    assert labels.speaker_of(message("Ada: hello", kind="fact", role=None)) == ""


def test_names_count_only_where_most_entries_begin_with_one() -> None:
    chat = [by(1, speaker="ada"), by(2, speaker="ben"), by(3)]
    assert hints.people_among(chat, "What does Ada use?") == {"ada"}
    code = [by(1, speaker="error"), by(2), by(3)]
    assert hints.people_among(code, "the error in the login") == frozenset()


@pytest.mark.parametrize(
    ("question", "people", "writers"),
    [
        ("what did Codex decide", (), ("codex", "codex-mcp-client")),
        ("Claude Code recommended a queue", (), ()),
        ("what claude recommended", (), ("claude", "claude-code")),
        ("how do I configure Claude Desktop", (), ()),
        ("why does the codex timeout fire", (), ()),
        ("what did claude tell and codex said", (), ()),
        ("what does Ada use", ("ada",), ("ada",)),
        ("what do Ada and Ben use", ("ada", "ben"), ()),
    ],
)
def test_one_writer_is_looked_for_and_several_are_not(
    question: str, people: Sequence[str], writers: Sequence[str]
) -> None:
    assert tuple(hints.hints_of(question, people, now=NOW).writers) == tuple(writers)


def test_a_name_weighs_nothing_beside_other_words() -> None:
    rare = {"ada": 1, "port": 1}
    assert ranking.weights(["ada", "port"], rare, entries=9, without=["ada"])["ada"] == 0
    assert ranking.weights(["ada"], rare, entries=9, without=["ada"])["ada"] > 0


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("what about layout shift on 27 May?", {"27", "may"}),
        ("what did we measure on March 18th, 2026", {"18", "march", "2026"}),
        ("what did we fix in January 2026?", {"januari", "2026"}),
        ("the pool on 2026-03-14", {"2026", "03", "14"}),
        ("the plan for 2025", {"2025"}),
        ("may we march on with 27 workers", set()),
        ("what broke 3 days ago", set()),
    ],
)
def test_the_words_of_a_date_are_told_apart(question: str, words: set[str]) -> None:
    assert hints.told_apart(question, ()) >= words
    assert hints.told_apart("", ["ada"]) == {"ada"}
    if not words:
        assert hints.told_apart(question, ()) == set()


def test_who_spoke_and_when_are_parts_of_the_score() -> None:
    asked = hints.hints_of("when did codex say it, on 2026-09-27?", (), now=NOW)
    told = by(1)
    other = by(2, client="claude")._replace(occurred_at=NOW.replace(year=2020))
    scores: scoring.Scores = {told.id: {}, other.id: {}}
    scoring.add_hints(scores, {told.id: told, other.id: other}, asked, timed={told.id})
    assert scores == {
        told.id: {"writer": scoring.WRITER, "time": scoring.TIME, "when": scoring.WHEN},
        other.id: {},
    }
