"""Pages of terms and the positions in them: nothing is lost in writing, joining and reading."""

import random
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from search_fixtures import append, ask, contents, index_all, message
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from memory import search
from memory.database import Database
from memory.errors import Unavailable
from memory.search import find, lookup, pages, positions, postings
from memory.search.packed import MAX_COUNT, WRAP, pack
from memory.search.pages import BYTES, Page, Run, Stored
from memory.search.positions import Wanted
from memory.search.postings import FANOUT
from memory.search.segments import Posting

WORDS = ("alpha", "beta", "gamma", "delta", "naïve", "数据", "src/app.py", "e1234")


def run(seed: int, sizes: list[int]) -> Run:
    """Return terms that so many entries hold."""
    chooser = random.Random(seed)  # noqa: S311 - data for a test
    terms = sorted(f"{chooser.randrange(10**9)}數"[-7:] + str(n) for n in range(len(sizes)))
    counts = bytes(chooser.randrange(1, 256) for _ in range(sum(sizes)))
    return Run(
        terms,
        sizes,
        chooser.randbytes(2 * len(counts)),
        counts,
        chooser.randbytes(2 * sum(counts)),
    )


SIZES = st.lists(st.sampled_from([1, 2, 9, 200]), max_size=60)


@given(st.integers(0, 10_000), SIZES)
def test_pages_give_back_what_was_written_and_each_fits_a_row(seed: int, sizes: list[int]) -> None:
    written = run(seed, sizes)
    made = list(pages.pages(written))
    held = list(pages.postings(written))
    assert [each for page in made for each in pages.postings(pages.run_of(page))] == held
    assert b"".join(stored.positions for _, stored in held) == written.positions
    for page in made:
        size = len(page.terms.encode()) + sum(map(len, page[3:])) + 4 * len(page.sizes)
        assert size <= BYTES or len(page.sizes) == 1
        assert page.terms.startswith(f"\n{page.first}\n")
        for term, one in pages.postings(pages.run_of(page)):
            begin, end = pages.span(page.terms, page.sizes, term)
            assert page.counts[begin:end] == one.counts


def test_a_term_that_a_page_lacks_is_no_part_of_another() -> None:
    (page,) = pages.pages(Run(["alpha", "beta"], [1, 1], b"....", b"\1\1", b"...."))
    for term in ("alph", "lpha", "bet", "gamma", "alpha\nbeta\n"):
        with pytest.raises(ValueError, match="substring not found"):
            pages.span(page.terms, page.sizes, term)


@given(st.integers(0, 10_000), SIZES, SIZES, st.sampled_from([None, "5", "\U0010ffff"]))
def test_runs_are_merged_in_the_order_of_terms_and_of_numbers(
    seed: int, one: list[int], other: list[int], below: str | None
) -> None:
    first, second = run(seed, one), run(seed, other)
    merging = pages.Merging()
    merging.add(2, second)
    merging.add(1, first)
    parts = [merging.take(below=below), merging.take()]
    found = [each for part in parts for each in pages.postings(part)]
    apart = [dict(pages.postings(first)), dict(pages.postings(second))]
    terms = sorted({*apart[0], *apart[1]})
    expected = [[each[term] for each in apart if term in each] for term in terms]
    assert [term for term, _ in found] == terms
    assert [stored for _, stored in found] == [
        Stored(*(b"".join(some) for some in zip(*each, strict=True))) for each in expected
    ]
    assert all(term < below for term in parts[0].terms if below is not None)


def test_positions_are_kept_up_to_a_number_and_modulo_another() -> None:
    found = pack({"often": range(300), "far": [1, WRAP + 2], "once": [7]}, ["=kind/message"])
    assert found.terms == ("often", "far", "once", "=kind/message")
    assert list(found.counts) == [MAX_COUNT, 2, 1, 1]
    assert memoryview(found.positions).cast("H").tolist() == [*range(MAX_COUNT), 1, 2, 7, 0]


async def held(database: Database) -> dict[str, list[tuple[int, list[int]]]]:
    """Return of each term of the live index the entries that hold it, with its positions."""
    rows = await database.transact(
        lambda session: session.execute(
            text(
                "SELECT page.first, terms, sizes, places, counts, positions"
                " FROM search_postings AS page JOIN search_segments ON segment = id"
                " JOIN search_progress USING (generation) WHERE state = 'live'"
                " ORDER BY search_segments.first, page.first"
            )
        )
    )
    found: dict[str, list[tuple[int, list[int]]]] = defaultdict(list)
    for row in rows:
        for term, each in pages.postings(pages.run_of(Page(*row))):
            at = 0
            spots = memoryview(each.positions).cast("H").tolist()
            numbers = memoryview(each.places).cast("H").tolist()
            for number, count in zip(numbers, each.counts, strict=True):
                found[term].append((number, spots[at : at + count]))
                at += count
    return found


@pytest.mark.parametrize(("room", "size"), [(1, 1), (300, 100), (3_000_000, BYTES)])
async def test_joined_pages_hold_what_one_pass_over_all_would_have_written(
    database: Database, monkeypatch: pytest.MonkeyPatch, room: int, size: int
) -> None:
    monkeypatch.setattr(postings, "_ROOM", room)
    monkeypatch.setattr(pages, "BYTES", size)
    chooser = random.Random(room)  # noqa: S311 - data for a test
    for number in range(2 * FANOUT + 1):
        said = " ".join(chooser.choices(WORDS, k=12))
        await append(database, message(f"{said} own{number}"))
        await index_all(database)
    joined = await held(database)
    await database.transact(search.rebuild)
    await index_all(database)
    assert joined == await held(database)
    assert len(joined["own3"]) == 1


@given(st.data(), st.sampled_from([0, 300, 8_000]))
def test_a_plan_reads_exactly_what_is_wanted(data: st.DataObject, gap: int) -> None:
    numbers = st.lists(st.integers(1, 255), min_size=1, max_size=40)
    wanted, expected = [], []
    for _ in range(data.draw(st.integers(1, 3))):
        counts = data.draw(numbers)
        some = st.lists(st.integers(0, len(counts) - 1), min_size=1, unique=True)
        at = np.array(sorted(data.draw(some)))
        places, held = np.arange(len(counts)), np.array(counts, dtype=np.uint8)
        posting = Posting(places, held, "page", bytes([2, 3]))
        wanted.append(Wanted(None, posting, at))  # type: ignore[arg-type] # not looked at
        begins = [5 + sum(counts[:each]) for each in at]
        expected.append(
            [n for each, b in zip(at, begins, strict=True) for n in range(b, b + counts[each])]
        )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(positions, "_GAP", gap)
        plan = positions.plan_of(wanted)
    assert gap or len(plan.begins) == sum(
        1 + int(np.count_nonzero(np.diff(each.at) > 1)) for each in wanted
    )
    runs = zip(plan.begins.tolist(), plan.sizes.tolist(), strict=True)
    read = np.concatenate([np.arange(begin, begin + size) for begin, size in runs])
    found = np.split(read[plan.spots], plan.ends[:-1])
    assert [each.tolist() for each in found] == expected


async def test_phrases_are_found_as_reading_every_text_finds_them(database: Database) -> None:
    chooser = random.Random(7)  # noqa: S311 - data for a test
    said = [" ".join(chooser.choices(WORDS, k=chooser.randrange(2, 30))) for _ in range(60)]
    for first in range(0, 60, 20):
        await append(database, *(message(each) for each in said[first : first + 20]))
        await index_all(database)
    for words in (2, 2, 2, 3, 3, 4):
        for _ in range(5):
            phrase = " ".join(chooser.choices(WORDS, k=words))
            answer = await ask(database, f'"{phrase}"', limit=100)
            assert answer.ways["phrase"] == sum(phrase in each for each in said), phrase


@pytest.mark.parametrize(
    "before",
    [
        pytest.param("beta " * (MAX_COUNT + 1), id="a word that occurs too often"),
        pytest.param(
            "the " * (WRAP - 1), id="words around the number at which positions begin anew"
        ),
        pytest.param("the " * (WRAP + 7), id="words behind it"),
    ],
)
async def test_a_phrase_is_found_far_down_in_an_entry(database: Database, before: str) -> None:
    await append(database, message(f"{before}. alpha beta gamma"), message("beta alpha"))
    await index_all(database)
    answer = await ask(database, '"alpha beta"')
    assert (answer.ways["phrase"], len(contents(answer)[0])) == (1, len(before) + 18)


async def test_a_search_whose_segments_are_joined_meanwhile_searches_again(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(FANOUT - 1):
        await append(database, message(f"alpha beta {number}"))
        await index_all(database)
    other = Database(database.settings)
    read, times = lookup.read, []

    async def read_and_join(*given: object, **named: object) -> lookup.Looked:
        looked = await read(*given, **named)  # type: ignore[arg-type] # handed on
        times.append(len(looked.segments))
        if len(times) == 1:
            await append(other, message("alpha beta, the last"))
            await index_all(other)
        return looked

    monkeypatch.setattr(lookup, "read", read_and_join)
    answer = await ask(database, '"alpha beta" alpha', limit=100)
    assert (times, answer.ways["phrase"], answer.total) == ([FANOUT - 1, 1], FANOUT, FANOUT)
    await other.close()


async def test_an_index_that_moves_under_every_try_is_told(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await append(database, message("alpha beta"))
    await index_all(database)
    tries = []

    async def lost(_: AsyncSession, wanted: list[positions.Wanted]) -> None:
        tries.append(wanted)
        raise positions.Moved

    monkeypatch.setattr(positions, "read", lost)
    monkeypatch.setattr(find, "_TRIES", 3)
    with pytest.raises(Unavailable, match="ask again") as moved:
        await ask(database, "alpha beta")
    assert (moved.value.code, len(tries)) == ("index_moved", 3)
