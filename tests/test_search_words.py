"""Properties: every word of a text finds the text, indexed or not; scores stay in their bounds."""

import uuid

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search_fixtures import (
    NOON,
    append,
    ask,
    candidate,
    index_all,
    message,
    packed,
    postings_of,
)

from memory.database import Database
from memory.search import matches, ranking, scores
from memory.search.candidates import Candidate
from memory.search.labels import Carried
from memory.search.ranked import Ranked, rank
from memory.search.segments import Growing, segment_of
from memory.search.source import Source
from memory.search.voices import weight_of
from memory.search.words import covered, typed_words
from memory.text import query

CODE = (
    "getUserById src/app/main_test.py --no-verify v1.2.3 E1234 C++ a::b::c https://example.org/x?y=1",
    "deadbeefcafe1 01a22831-aac1-75e1-989c-c3c73fd68088 numpy-1.26.4 don't naïve дедлоки 数据库迁移",
    "HTTPServerError C:\\temp\\x.txt @scope/package 2026-09-27T12:00:00Z ses_01AbCdEfGh23 x",
)
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
PROSE = st.lists(st.from_regex(r"[a-z]{1,9}([_./-]?[A-Z]?[a-z0-9]{1,6}){0,3}", fullmatch=True))


@pytest.mark.parametrize("is_indexed", [True, False], ids=["indexed", "fresh"])
@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(drawn=st.one_of(ANY_TEXT, PROSE.map(" ".join), st.sampled_from(CODE)))
async def test_every_word_of_a_text_finds_it(
    database: Database, is_indexed: bool, drawn: str
) -> None:
    (entry_id,) = await append(database, message(f"{drawn} {uuid.uuid4().hex}"))
    if is_indexed:
        await index_all(database)
    for piece in drawn.split()[:12]:
        if query(piece):
            answer = await ask(database, piece, limit=100)
            assert entry_id in {hit.entry.id for hit in answer.hits}, piece


CARRIED = st.builds(
    Carried,
    client=st.just("codex"),
    kind=st.sampled_from(["message", "fact"]),
    role=st.sampled_from(["user", "tool_call", "tool_result", ""]),
    session=st.sampled_from(["", "1" * 32, "2" * 32, "3" * 32]),
    speaker=st.just(""),
)
CANDIDATES = st.lists(
    st.builds(
        Candidate,
        id=st.uuids(),
        counts=st.dictionaries(
            st.sampled_from(["warm", "cach", "night"]), st.integers(1, 6), min_size=1
        ),
        length=st.integers(0, 10_000),
        carried=CARRIED,
        occurred_at=st.just(NOON),
        said=st.just(0),
        ordinal=st.just(0),
    ),
    max_size=30,
    unique_by=lambda each: each.id,
).map(lambda found: [each._replace(ordinal=at) for at, each in enumerate(found)])


def ranked(found: list[Candidate], weights: dict[str, float], average: float) -> Ranked:
    """Return how the candidates answer, as a segment of their own."""
    growing = Growing(0)
    for each in found:
        source = Source(
            id=each.id,
            kind=each.carried.kind,
            role=each.carried.role,
            key=None,
            source_client="codex",
            project_id=None,
            session_id=uuid.UUID(each.carried.session) if each.carried.session else None,
            occurred_at=NOON,
            content="",
            said=0,
        )
        weight = weight_of(each.carried.kind, each.carried.role)
        growing.add(source, packed(each.counts), length=each.length, weight=weight)
    postings = postings_of(growing)
    segment = segment_of(0, growing.piece().columns)
    return rank(matches.match([segment], [postings], weights, []), weights, average=average)


@given(CANDIDATES, st.floats(1, 1_000))
def test_scores_are_shares_of_the_best_and_their_order_is_total(
    found: list[Candidate], average: float
) -> None:
    asked = query("warm the cache at night")
    weights = {"warm": 2.0, "cach": 1.0, "night": 0.5}
    by_arrays = ranked(found, weights, average)
    made, own = scores.of_words(found, asked, weights, by_arrays, average=average)
    assert made.keys() == own.known.keys() == {each.id for each in found}
    placed = {each.id: {word: [1, 2, 3] for word in each.counts} for each in found}
    scores.add_order(made, own, {each.id: each for each in found}, placed, asked.words)
    first = by_arrays.best(10, session=scores.SESSION)
    keys = {
        each.ordinal: sum(made[each.id].get(n, 0.0) for n in ("words", "session")) for each in found
    }
    assert [keys[each] for each in first] == pytest.approx(
        sorted(keys.values(), reverse=True)[:10], rel=1e-3
    )
    for parts in made.values():
        assert 0 < parts["words"] <= 1 + 1e-9
        assert 0 <= parts.get("session", 0) <= scores.SESSION + 1e-9
        assert 0 <= parts.get("order", 0) <= scores.ORDER * scores.MOST_PAIRS * 1.2
    best = scores.best(made, 10)
    totals = [scores.total(made[each]) for each in best]
    assert totals == sorted(totals, reverse=True)


def test_a_session_counts_for_what_of_it_is_nearest_in_meaning() -> None:
    sessions = ("1" * 32, "1" * 32, "2" * 32, "")
    found = [
        candidate(number, "warm", session=each, length=9, ordinal=number - 1)
        for number, each in enumerate(sessions, start=1)
    ]
    cosines = dict(zip((each.id for each in found), (0.9, 0.1, 0.5, 0.9), strict=True))
    weights = {"warm": 1.0}
    by_arrays = ranked(found, weights, 9)
    alone, _ = scores.of_words(found, query("warm"), weights, by_arrays, average=9)
    near, _ = scores.of_words(found, query("warm"), weights, by_arrays, average=9, cosines=cosines)
    added = [
        near[each.id].get("session", 0.0) - alone[each.id].get("session", 0.0) for each in found
    ]
    assert added == pytest.approx([scores.MEANT, scores.MEANT, scores.MEANT / 2, 0])


@given(st.integers(0, 10**7), st.integers(0, 10**7))
def test_a_rarer_word_never_weighs_less(frequency: int, entries: int) -> None:
    assert ranking.inverse_frequency(frequency, entries) > 0
    rarer = ranking.inverse_frequency(frequency, entries + 1)
    assert rarer >= ranking.inverse_frequency(frequency + 1, entries + 1)


def test_the_forms_of_one_path_weigh_together_what_the_longest_tells() -> None:
    asked = query("src/lib/basket.ts TS2532")
    told = scores.term_weights(asked, dict.fromkeys(asked.lexemes, 3.0) | {"src/lib/basket.ts": 5})
    forms = {each: told[each] for each in asked.terms if "basket" in each}
    assert len(forms) == 5
    assert forms["src/lib/basket.ts"] == scores.TERM_WEIGHT * (5 - 3)
    assert forms["lib/basket.ts"] == forms["src/lib/basket"] == 0
    assert told["ts2532"] == forms["basket.ts"] == scores.TERM_WEIGHT * 3


def test_words_are_shown_as_they_were_typed() -> None:
    typed = typed_words('How does "getUserById()" retry, and the 数据库?')
    assert list(typed) == ["getUserById", "retry", "数据库"]
    assert typed["retry"] == (frozenset({"retri"}),)


@pytest.mark.parametrize(
    ("typed", "held", "is_covered"),
    [
        ("TS2532", ["ts"], False),
        ("TS2532", ["ts", "2532"], True),
        ("TS2532", ["ts2532"], True),
        ("getUserById", ["user"], False),
        ("getUserById", ["get", "user", "id"], True),
        ("src/lib/basket.ts", ["basket.ts", "basket", "ts"], False),
        ("src/lib/basket.ts:57", ["src/lib/basket.ts"], True),
        ("retries", ["retri"], True),
        ("na\u00efve", ["naiv"], True),
        ("\u6570\u636e\u5e93", ["\u6570\u636e"], True),
    ],
)
def test_an_identifier_is_held_whole_or_by_all_of_its_parts(
    typed: str, held: list[str], is_covered: bool
) -> None:
    assert covered(set(held), typed_words(typed)) == ((typed,) if is_covered else ())
