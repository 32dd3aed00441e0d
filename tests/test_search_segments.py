"""Segments of the index: written, joined and scored without anything getting lost."""

import random
import uuid
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from search_fixtures import (
    NOON,
    append,
    ask,
    candidate,
    contents,
    index_all,
    message,
    packed,
    postings_of,
    start,
)
from sqlalchemy import text

from memory import search
from memory.database import Database
from memory.search import matches, place, postings, ranked, ranking, remembered
from memory.search.document import RULES
from memory.search.labels import Condition
from memory.search.packed import MAX_COUNT, stand_in_order
from memory.search.place import Progress, State
from memory.search.postings import FANOUT, Known, due
from memory.search.segments import (
    BLOCK,
    Growing,
    Posting,
    dense_of,
    microseconds,
    segment_of,
    session_code,
    together,
)
from memory.search.source import Source

WORDS = ("apple", "pear", "plum", "=kind/message", "=client/codex")


async def segments(database: Database) -> list[tuple[int, int]]:
    rows = await database.transact(
        lambda s: s.execute(text("SELECT first, entries FROM search_segments ORDER BY first"))
    )
    return [(row.first, row.entries) for row in rows]


def pieces(*sizes: int) -> list[Known]:
    firsts = [sum(sizes[:at]) for at in range(len(sizes))]
    return [Known(at, *each) for at, each in enumerate(zip(firsts, sizes, strict=True))]


@pytest.mark.parametrize(
    ("sizes", "joined"),
    [
        ([], 0),
        ([5], 0),
        ([1] * (FANOUT - 1), 0),
        ([1] * FANOUT, FANOUT),
        ([100] + [1] * (FANOUT - 1), 0),
        ([100] + [1] * FANOUT, FANOUT),
        ([1, 100] * (FANOUT // 2), FANOUT),
        ([2000] * 6 + [1], 0),
        ([2000] * 6 + [1, 2000], FANOUT),
        ([BLOCK], 0),
        ([BLOCK - 1, 1], 2),
        ([BLOCK - 2, 1], 0),
    ],
)
def test_like_segments_are_joined_and_a_full_block_becomes_one(
    sizes: list[int], joined: int
) -> None:
    assert len(due(pieces(*sizes))) == joined
    whole = len(sizes) if len(sizes) > 1 and sum(sizes) == BLOCK else 0
    assert len(due(pieces(*sizes), is_last=False)) == whole


def added(held: list[int], size: int, *, is_last: bool) -> None:
    """Add a segment to those of a block, and join what is due."""
    held.append(size)
    while count := len(due(pieces(*held), is_last=is_last)):
        held[-count:] = [sum(held[-count:])]


@given(st.lists(st.integers(1, 3000), min_size=1, max_size=300))
def test_a_block_has_few_segments_whatever_is_added(sizes: list[int]) -> None:
    held: list[int] = []
    for size in sizes:
        if sum(held) == BLOCK:
            return
        added(held, min(size, BLOCK - sum(held)), is_last=True)
        assert len(held) <= 6 * FANOUT


@given(st.integers(1, 32), st.integers(1, 2000), st.lists(st.integers(1, 50), max_size=9))
def test_what_full_passes_left_apart_is_joined_by_the_first_that_is_not(
    passes: int, rest: int, later: list[int]
) -> None:
    held: list[int] = []
    for _ in range(passes):
        added(held, 2_000, is_last=False)
    assert len(held) == passes
    for size in (rest, *later):
        added(held, min(size, BLOCK - sum(held)), is_last=True)
        assert len(held) <= 2 * FANOUT


async def test_joined_segments_hold_what_they_held_apart(database: Database) -> None:
    session = await start(database, "joined")
    answers = []
    for number in range(3 * FANOUT + 1):
        draft = message(f"needle {number} retry", session_id=session, source_id=str(number))
        await append(database, draft)
        await index_all(database)
        answer = await ask(database, "needle", limit=100)
        assert (answer.total, answer.ways["words"]) == (number + 1, number + 1)
        answers.append(len(answer.hits))
    assert answers == list(range(1, 3 * FANOUT + 2))
    assert await segments(database) == [(0, 8), (8, 8), (16, 8), (24, 1)]
    assert contents(await ask(database, "17"))[0] == "needle 17 retry"


async def test_entries_on_both_sides_of_a_block_are_found(database: Database) -> None:
    begun = Progress(rules=RULES, entries=BLOCK - 3)
    await database.transact(partial(place.write, progress=begun, state=State.LIVE))
    await append(database, *(message(f"needle {number}") for number in range(8)))
    assert [each.count for each in await index_all(database)] == [8]
    assert await segments(database) == [(BLOCK - 3, 3), (BLOCK, 5)]
    answer = await ask(database, "needle")
    assert sorted(contents(answer)) == [f"needle {number}" for number in range(8)]
    await append(database, message("needle in the tail"))
    assert (await ask(database, "needle")).total == 9


async def test_a_search_while_segments_are_joined_misses_nothing(database: Database) -> None:
    drafts = [message(f"needle {number}") for number in range(FANOUT)]
    for draft in drafts[:-1]:
        await append(database, draft)
        await index_all(database)
    await append(database, drafts[-1])
    other = Database(database.settings)
    seen: list[int] = []

    async def ask_while_joining(session: postings.AsyncSession) -> None:
        await search.index(session)  # joins, and is not committed yet
        seen.append((await ask(other, "needle")).total)

    await database.transact(ask_while_joining)
    seen.append((await ask(other, "needle")).total)
    await other.close()
    assert seen == [FANOUT, FANOUT]
    assert await segments(database) == [(0, FANOUT)]


async def test_columns_that_are_not_remembered_are_read_again(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembered, "MAX_ENTRIES", 1)
    for number in range(3):
        await append(database, message(f"needle {number}"))
        await index_all(database)
    for _ in range(2):
        assert (await ask(database, "needle")).total == 3


async def test_long_postings_are_read_once_and_short_ones_each_time(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembered, "LONG", 2)
    drafts = [message("needle one"), message("needle two"), message("pin three")]
    await append(database, *drafts)
    await index_all(database)
    assert [(await ask(database, each)).total for each in ("needle", "pin", "one")] == [2, 1, 1]
    spoil = text("UPDATE search_postings SET terms = E'\\n\\n'")
    await database.transact(lambda session: session.execute(spoil))
    assert [(await ask(database, each)).total for each in ("needle", "pin", "needle pin")] == [
        2,
        0,
        2,
    ]
    await append(database, message("needle four"))
    await index_all(database)
    assert (await ask(database, "needle")).total == 3
    monkeypatch.setattr(remembered, "MAX_BYTES", 0)
    await append(database, message("needle five"), message("needle six"))
    await index_all(database)
    assert (await ask(database, "needle")).total == 5
    assert (await ask(database, "needle")).total == 3


def source_of(number: int, session: int) -> Source:
    return Source(
        id=uuid.UUID(int=number),
        kind="message",
        role="user",
        key=None,
        source_client="codex",
        project_id=None,
        session_id=uuid.UUID(int=session) if session else None,
        occurred_at=NOON + timedelta(hours=number),
        content="",
        said=0,
    )


def reference(
    documents: Sequence[tuple[dict[str, int], int]],
    sources: Sequence[Source],
    weights: dict[str, float],
) -> tuple[list[float], dict[int, float]]:
    """Return gains by entry and scores by session, one entry after the other."""
    average = 10.0
    gains = []
    counts: defaultdict[int, Counter[str]] = defaultdict(Counter)
    lengths: Counter[int] = Counter()
    for number, (each, source) in enumerate(zip(documents, sources, strict=True)):
        found, length = each
        entry = candidate(number, counts=found, length=length)
        gains.append(ranking.bm25(entry, weights, average=average))
        if source.session_id and any(word in found for word in weights):
            lengths[source.session_id.int] += length
            counts[source.session_id.int].update(
                {word: n for word, n in found.items() if weights.get(word)}
            )
    mean = max(1.0, sum(lengths.values()) / max(1, len(lengths)))
    scores = {}
    for session, found in counts.items():
        norm = ranking.K1 * (1 - ranking.B + ranking.B * lengths[session] / mean)
        spread = {word: sum(word in other for other in counts.values()) for word in found}
        scores[session] = sum(
            ranking.inverse_frequency(spread[word], len(counts))
            * count
            * (ranking.K1 + 1)
            / (count + norm)
            for word, count in found.items()
        )
    best = max(scores.values(), default=0.0) or 1.0
    return gains, {session: score / best for session, score in scores.items()}


def with_dense(posting: Posting, *, entries: int) -> Posting:
    counts = np.zeros(entries, dtype=np.uint8)
    counts[posting.places] = posting.counts
    return posting._replace(dense=counts)


@pytest.mark.parametrize(("entries", "is_dense"), [(8 * 3, True), (8 * 3 + 1, False), (0, True)])
def test_a_posting_of_many_entries_has_the_counts_of_all(entries: int, is_dense: bool) -> None:
    places = np.arange(min(3, entries))
    posting = Posting(places, np.full(len(places), 2, dtype=np.uint8))
    found = dense_of(posting, entries=entries)
    assert (found is not None) is is_dense
    if found is not None:
        assert found.tolist() == [2] * len(places) + [0] * (entries - len(places))


@given(st.integers(0, 10_000), st.integers(0, 7))
def test_arrays_give_the_scores_of_one_entry_after_the_other(seed: int, dense: int) -> None:
    chooser = random.Random(seed)  # noqa: S311 - data for a test
    size = chooser.randrange(1, 40)
    sources = [source_of(number, chooser.randrange(4)) for number in range(1, size + 1)]
    documents = [
        ({w: chooser.randrange(1, 9) for w in WORDS[:3] if chooser.random() < 0.5},
         chooser.randrange(1, 60))
        for _ in range(size)
    ]  # fmt: skip
    cut = chooser.randrange(size + 1)
    held, terms = [], []
    for first, some, texts in (
        (0, sources[:cut], documents[:cut]),
        (BLOCK, sources[cut:], documents[cut:]),
    ):
        growing = Growing(first)
        for source, (found, length) in zip(some, texts, strict=True):
            growing.add(source, packed(found), length=length, weight=1.0)
        held.append(segment_of(first, growing.piece().columns))
        made = postings_of(growing)
        for bit, word in enumerate(WORDS[:3]):
            if word in made and dense & 1 << bit:
                made[word] = with_dense(made[word], entries=len(some))
        terms.append(made)
    weights = {"apple": 2.0, "pear": 0.5, "plum": 0.0}
    matched = matches.match(held, terms, list(weights), [])
    found = ranked.rank(matched, weights, average=10.0)
    gains, sessions = reference(documents, sources, weights)
    numbers = [*range(cut), *range(BLOCK, BLOCK + size - cut)]
    worth = found.of(numbers)
    assert sum(matched.counts) == sum(bool(each) for each, _ in documents)
    counts = matched.counts_in(numbers)
    assert [counts[number] for number in numbers] == [dict(each) for each, _ in documents]
    for number, gain, source in zip(numbers, gains, sources, strict=True):
        by_words, by_session = worth[number]
        assert by_words == pytest.approx(gain, rel=1e-4)
        expected = sessions.get(source.session_id.int, 0.0) if source.session_id else 0.0
        assert by_session == pytest.approx(expected, rel=1e-4)
    keys = {n: sum(worth[n]) for n, each in zip(numbers, documents, strict=True) if each[0]}
    best = found.best(5, session=0.5)
    assert len(best) == min(5, len(keys))
    assert set(best) <= keys.keys()


@given(st.integers(0, 10_000))
def test_of_equals_in_segments_of_many_and_of_few_the_newest_come_first(seed: int) -> None:
    chooser = random.Random(seed)  # noqa: S311 - data for a test
    words = ["one", "two", "three", "four", "five"]
    counts = {word: chooser.randrange(1, 30) for word in words}
    held, terms = [], []
    for first, is_dense in ((0, True), (BLOCK, False)):
        growing = Growing(first)
        for number in range(1, 4):
            growing.add(source_of(number, 0), packed(counts), length=90, weight=0.7)
        held.append(segment_of(first, growing.piece().columns))
        made = postings_of(growing)
        if is_dense:
            made = {word: with_dense(each, entries=3) for word, each in made.items()}
        terms.append(made)
    weights = {word: chooser.uniform(0.1, 9) for word in words}
    found = ranked.rank(matches.match(held, terms, words, []), weights, average=37.0)
    assert found.best(4, session=0.5) == [BLOCK + 2, BLOCK + 1, BLOCK, 2]


@given(st.lists(st.dictionaries(st.integers(0, 20), st.integers(1, 255), max_size=9), max_size=4))
def test_postings_are_united_with_their_counts_added_up(some: list[dict[int, int]]) -> None:
    expected = sum(map(Counter, some), Counter())
    postings = [
        Posting(np.array(sorted(each), dtype=np.intp),
                np.array([each[at] for at in sorted(each)], dtype=np.uint8))
        for each in some
    ]  # fmt: skip
    found = together(postings, entries=21)
    assert dict(zip(found.places.tolist(), found.counts.tolist(), strict=True)) == {
        place: min(count, MAX_COUNT) for place, count in expected.items()
    }


@given(st.lists(st.integers(0, 5)), st.integers(1, 9))
def test_of_equal_values_the_last_ones_are_on_top(values: list[int], count: int) -> None:
    found = sorted(matches.top(np.array(values), count).tolist(), reverse=True)
    ordered = sorted(range(len(values)), key=lambda at: (values[at], at), reverse=True)
    assert found == sorted(ordered[:count], reverse=True)


@pytest.mark.parametrize(
    ("condition", "since", "expected"),
    [
        (Condition(("=client/codex",), excludes=False), None, [0, 1]),
        (Condition(("=client/codex",), excludes=True), None, [2]),
        (Condition(("=client/none",), excludes=False), None, []),
        (Condition(("=client/none",), excludes=True), None, [0, 1, 2]),
        (Condition((), excludes=True), NOON + timedelta(hours=2), [1, 2]),
    ],
)
def test_filters_leave_what_meets_them(
    condition: Condition, since: datetime | None, expected: list[int]
) -> None:
    growing = Growing(0)
    for number in range(1, 4):
        labels = {"=client/codex": 1} if number < 3 else {}
        growing.add(source_of(number, 0), packed({"apple": 1, **labels}), length=3, weight=1.0)
    segment = segment_of(0, growing.piece().columns)
    terms = postings_of(growing)
    found = matches.match([segment], [terms], ["apple"], [condition], since=since)
    assert np.flatnonzero(found.flags[0]).tolist() == expected
    assert found.held == {"apple": len(expected)}
    assert found.frequencies == {"apple": 3}
    assert [places.tolist() for *_, places in matches.holding_all(found, ["apple"])] == [expected]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([(0, "a")], True),
        ([(0, "a"), (1, "b")], True),
        ([(0, "a"), (2, "b")], False),
        ([(3, "a"), (4, "b"), (6, "a")], True),
        ([(0, "b"), (1, "a")], False),
        ([(0, "a"), (1, "c")], False),
    ],
)
def test_words_stand_in_order_at_their_distances(
    words: list[tuple[int, str]], expected: bool
) -> None:
    assert stand_in_order({"a": [1, 4], "b": [2]}, words) is expected


def test_counts_lengths_and_times_are_kept_within_their_bounds() -> None:
    growing = Growing(0)
    growing.add(source_of(1, 7), packed({"apple": 1_000}), length=100_000, weight=0.4)
    segment = segment_of(0, growing.piece().columns)
    assert postings_of(growing)["apple"].counts.tolist() == [255]
    assert segment.lengths.tolist() == [65_535]
    assert segment.weights.tolist() == pytest.approx([0.4])
    assert segment.sessions.tolist() == [7]
    assert session_code(None) == 0
    assert microseconds(datetime(1970, 1, 2, tzinfo=UTC)) == 86_400_000_000
