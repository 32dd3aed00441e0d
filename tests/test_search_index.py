"""The index: filled in feed order, by one at a time, missing nothing and stopped by nothing."""

import asyncio
import hashlib
import logging
import uuid
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from search_fixtures import NOON, append, ask, contents, index_all, message, start, value
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from memory import crud, search
from memory.database import Database
from memory.drafts import Kind
from memory.errors import InvalidInput
from memory.search import candidates, document, indexer, lookup, place, source, tail
from memory.search.labels import label
from memory.search.matches import match
from memory.search.reach import Reach
from memory.search.request import Request
from memory.search.source import Source


async def sql(database: Database, statement: str, **values: object) -> list[object]:
    rows = await database.transact(lambda s: s.execute(text(statement), values))
    return [tuple(row) for row in rows] if rows.returns_rows else []


def source_named(**changes: object) -> Source:
    plain = Source(
        id=uuid.UUID(int=1),
        kind=Kind.MESSAGE,
        role="user",
        key=None,
        source_client="claude",
        project_id=uuid.UUID(int=2),
        session_id=uuid.UUID(int=3),
        occurred_at=NOON,
        content="retry getUserById in src/app.py, 数据库",
        said=0,
    )
    return replace(plain, **changes)


async def test_passes_are_bounded_and_together_index_everything(database: Database) -> None:
    await append(database, *(message(f"needle {number}") for number in range(25)))
    one = await database.transact(partial(search.index, limit=10))
    two = await database.transact(partial(search.index, limit=10))
    three = await database.transact(partial(search.index, limit=10))
    four = await database.transact(partial(search.index, limit=10))
    counts = [(each.count, each.remaining) for each in (one, two, three, four)]
    assert counts == [(10, 15), (10, 5), (5, 0), (0, 0)]
    assert await sql(database, "SELECT count(*), sum(length) FROM search") == [(25, 50)]
    assert await sql(database, "SELECT entries, total_length FROM search_progress") == [(25, 50)]


async def test_a_pass_takes_no_more_content_than_fits_into_memory(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexer, "MAX_BYTES", 1_000)
    await append(database, *(message(f"needle {number} " + "x" * 500) for number in range(5)))
    assert [each.count for each in await index_all(database)] == [2, 2, 1]


@pytest.mark.parametrize("limit", [0, -1, indexer.MAX_ENTRIES + 1])
async def test_a_pass_of_a_senseless_size_is_refused(database: Database, limit: int) -> None:
    with pytest.raises(InvalidInput):
        await database.transact(partial(search.index, limit=limit))


async def test_an_entry_that_commits_late_is_indexed_and_found_meanwhile(
    database: Database,
) -> None:
    late = Database(database.settings)
    appended, may_commit = asyncio.Event(), asyncio.Event()

    async def write_late(session: AsyncSession) -> None:
        await crud.append(session, [message("needle that commits late")])
        appended.set()
        await may_commit.wait()

    writer = asyncio.create_task(late.transact(write_late))
    await appended.wait()
    await append(database, message("needle that commits early"))
    assert (await database.transact(search.index)).count == 0
    assert contents(await ask(database, "needle")) == ["needle that commits early"]
    may_commit.set()
    await writer
    await late.close()
    assert (await database.transact(search.index)).count == 2
    assert len((await ask(database, "needle")).hits) == 2


async def test_of_two_indexers_one_works_and_the_other_returns_at_once(database: Database) -> None:
    await append(database, message("needle"))
    other = Database(database.settings)
    holding, may_end = asyncio.Event(), asyncio.Event()

    async def hold(session: AsyncSession) -> search.Indexed:
        done = await search.index(session)
        holding.set()
        await may_end.wait()
        return done

    first = asyncio.create_task(other.transact(hold))
    await holding.wait()
    assert await database.transact(search.index) == search.Indexed(
        count=0, remaining=1, is_busy=True
    )
    may_end.set()
    assert (await first).count == 1
    await other.close()
    assert await database.transact(search.index) == search.Indexed(count=0, remaining=0)


async def test_eight_writers_two_indexers_and_a_reader_lose_nothing(database: Database) -> None:
    writers, rounds = 8, 10
    done = asyncio.Event()

    async def write(writer: int) -> None:
        own = Database(replace(database.settings, pool_size=1, max_overflow=0))
        for turn in range(rounds):
            await append(own, message(f"needle w{writer}t{turn}"))
            found = await ask(own, f"w{writer}t{turn}")
            assert f"needle w{writer}t{turn}" in contents(found)
        await own.close()

    async def keep_indexing() -> None:
        own = Database(replace(database.settings, pool_size=1, max_overflow=0))
        while not done.is_set():
            await own.transact(partial(search.index, limit=7))
        await own.close()

    indexers = [asyncio.create_task(keep_indexing()) for _ in range(2)]
    await asyncio.gather(*(write(writer) for writer in range(writers)))
    done.set()
    await asyncio.gather(*indexers)
    await index_all(database)
    assert await sql(database, "SELECT count(*) FROM search") == [(writers * rounds,)]
    assert await sql(database, "SELECT entries FROM search_progress") == [(writers * rounds,)]


async def test_text_of_any_size_and_kind_is_indexed(database: Database) -> None:
    distinct = " ".join(f"{number:x}q{number}" for number in range(300_000))
    await append(
        database,
        message(f"needle first, then {distinct}"),
        message("needle " + "数据库迁移" * 200_000),
        message("needle " + "x" * 3_000_000),
        message("needle \x00 \ud800 ' \\ : * & | ! ( ) <-> \u2028"),
        message("needle " * 100_000),
        message(""),
        value(Kind.FACT, "k" * 1000, "needle"),
    )
    done = await index_all(database)
    assert sum(each.count for each in done) == 7
    assert (await ask(database, "needle")).total == 6


async def live(database: Database) -> tuple[object, ...]:
    rows = await sql(
        database, "SELECT generation, entries, rules FROM search_progress WHERE state = 'live'"
    )
    assert len(rows) == 1
    return tuple(rows[0])  # type: ignore[arg-type] # a row


async def test_a_rebuild_indexes_everything_anew_while_the_old_index_answers(
    database: Database,
) -> None:
    await append(database, *(message(f"needle {number}") for number in range(5)))
    await index_all(database)
    await sql(database, "UPDATE search_postings SET terms = replace(terms, 'needl', 'other')")
    assert (await ask(database, "needle 3")).ways["words"] == 1  # the old index, which was spoiled
    assert await database.transact(search.rebuild) == 0
    one = await database.transact(partial(search.index, limit=2))
    assert (one.count, one.remaining, one.is_anew) == (2, 3, True)
    assert (await ask(database, "needle")).total == 0
    await append(database, message("needle, new"))
    assert (await ask(database, "new needle")).hits[0].entry.content == "needle, new"
    await index_all(database)
    assert await live(database) == (2, 6, document.RULES)
    assert len((await ask(database, "needle")).hits) == 6


async def test_a_rebuild_that_was_stopped_goes_on_where_it_was(database: Database) -> None:
    await append(database, *(message(f"needle {number}") for number in range(5)))
    await index_all(database)
    await database.transact(search.rebuild)
    await database.transact(partial(search.index, limit=2))
    assert await database.transact(search.rebuild) == 2
    assert sum(each.count for each in await index_all(database)) == 3
    assert await live(database) == (2, 5, document.RULES)


async def test_what_was_replaced_is_removed_after_a_while_piece_by_piece(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await append(database, *(message(f"needle {number}") for number in range(4)))
    await database.transact(partial(search.index, limit=2))
    await database.transact(partial(search.index, limit=2))
    await database.transact(search.rebuild)
    await index_all(database)
    await database.transact(search.index)
    kept = "SELECT count(*) FROM search WHERE generation = 1"
    assert await sql(database, kept) == [(4,)]
    monkeypatch.setattr(place, "KEPT", timedelta(0))
    left = []
    for _ in range(3):
        await database.transact(search.index)
        left += await sql(database, kept)
    assert left == [(2,), (0,), (0,)]
    assert await sql(database, "SELECT generation FROM search_progress") == [(2,)]
    segments = "SELECT id FROM search_segments"
    orphans = f"SELECT count(*) FROM search_postings WHERE segment NOT IN ({segments})"
    assert await sql(database, orphans) == [(0,)]
    assert len((await ask(database, "needle")).hits) == 4


async def test_an_index_of_older_rules_is_filled_anew_and_says_so(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    await append(database, message("needle"))
    await index_all(database)
    await sql(database, "UPDATE search_progress SET rules = rules - 1")
    answer = await ask(database, "needle")
    assert contents(answer) == ["needle"]
    assert "filled by another version" in answer.note
    with caplog.at_level(logging.WARNING):
        done = await database.transact(search.index)
    assert (done.count, done.remaining, done.is_anew) == (1, 0, True)
    assert "filled anew" in caplog.text
    assert (await ask(database, "needle")).note == ""


@pytest.mark.parametrize("change", [-1, 1])
async def test_a_generation_of_other_rules_is_not_finished(database: Database, change: int) -> None:
    await append(database, *(message(f"needle {number}") for number in range(3)))
    await index_all(database)
    await database.transact(search.rebuild)
    await database.transact(partial(search.index, limit=1))
    building = "UPDATE search_progress SET rules = rules + :by WHERE state = 'building'"
    await sql(database, building, by=change)
    passes = await index_all(database)
    # Of older rules: another is built. Of newer ones: whoever knows them will finish it.
    assert sum(each.count for each in passes) == (3 if change < 0 else 0)
    assert await live(database) == ((3 if change < 0 else 1), 3, document.RULES)


async def test_an_index_of_newer_rules_is_left_alone(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    await append(database, message("needle"))
    await index_all(database)
    await sql(database, "UPDATE search_progress SET rules = rules + 1")
    await append(database, message("needle again"))
    with caplog.at_level(logging.WARNING):
        assert (await database.transact(search.index)).count == 0
    assert "newer version" in caplog.text
    assert len((await ask(database, "needle")).hits) == 2


async def test_what_lies_beyond_the_searched_tail_is_counted_and_told(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "MAX_ENTRIES", 3)
    await append(database, *(message(f"needle {number}") for number in range(10)))
    answer = await ask(database, "needle")
    assert sorted(contents(answer)) == ["needle 7", "needle 8", "needle 9"]
    assert (answer.unindexed, answer.total_is_exact) == (7, False)
    assert answer.note == ("7 of the newest entries are not indexed yet and were not searched.")


async def test_the_tail_is_bounded_by_its_size_too(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "MAX_BYTES", 1_000)
    await append(database, *(message(f"needle {number} " + "x" * 600) for number in range(5)))
    answer = await ask(database, "needle")
    assert (len(answer.hits), answer.unindexed) == (2, 3)


async def test_the_tail_gives_what_the_index_would_give(database: Database) -> None:
    session = await start(database, "same")
    await append(
        database,
        message("retry the retry in src/app.py", session_id=session, source_id="1"),
        message("数据库 retry", role="tool_result"),
        value(Kind.FACT, "retry policy", "three times"),
    )
    lexemes = ("retri", "src/app.py", "数据", "polici", "three", label("role", "tool_result"))
    progress = place.Progress(rules=document.RULES)
    fresh = await database.transact(lambda s: tail.read(s, progress, Request("retry")))
    sources = sorted(fresh.sources, key=lambda each: each.id)
    segment, postings = tail.as_segment(sources, lexemes, first=0)
    from_tail = [tail.candidate_of(each, ordinal=at) for at, each in enumerate(sources)]
    places = [tail.places_of(each, lexemes) for each in sources]
    await index_all(database)
    looked = await database.transact(partial(lookup.read, terms=lexemes))
    assert postings.keys() == looked.postings[0].keys() == set(lexemes)
    for term, posting in looked.postings[0].items():
        assert posting.places.tolist() == postings[term].places.tolist()
        assert posting.counts.tolist() == postings[term].counts.tolist()
    for name in ("lengths", "weights", "times", "sessions", "codes", "spoken"):
        assert getattr(looked.segments[0], name).tolist() == getattr(segment, name).tolist()
    numbers = {"generation": 1, "ordinals": range(3)}
    read = await database.transact(partial(candidates.read, **numbers))
    assert sorted(read, key=lambda each: each.ordinal) == from_tail
    matched = match(looked.segments, looked.postings, lexemes, [])
    found = Reach(progress=looked.progress, tail=tail.Tail([], 0), matches=matched)
    placed = await database.transact(partial(found.places, entries=read, lexemes=lexemes[:-1]))
    assert [placed[each.id] for each in sources] == places


def test_a_label_is_plain_whatever_the_value() -> None:
    values = ["claude", "Claude", "a" * 65, "it's", "\\", "é", "", " ", "#" + "0" * 40, "a/b"]
    made = [label("client", each) for each in values]
    assert len(set(made)) == len(values)
    assert all(each.isascii() and " " not in each and "'" not in each for each in made)
    assert all(len(each) < 100 for each in made)


def test_the_rules_have_the_version_that_their_fingerprint_says() -> None:
    """When this fails, words or labels have changed: raise RULES, and put the new value here."""
    samples = [
        source_named(),
        source_named(kind=Kind.FACT, key="deploy target", role=None),
        source_named(content="HTTPServer v2.31.0 E1234 --no-verify 3f2a9bc Ünïcode дедлоки don't"),
        source_named(
            content="C:\\Users\\x\\n a::b::c https://example.org/a?b=c#d 2026-09-27T12:00Z"
        ),
        source_named(content="\x1b[31mred\x1b[0m soft\u00adhyphen e" + 99 * "\u0301"),
    ]
    made = ""
    for each in map(document.document, samples):
        stand = memoryview(each.packed.positions).cast("H").tolist()
        held = list(zip(each.packed.terms, each.packed.counts, strict=True))
        made += f"{each.length} {held} {stand} {each.carried}\n"
    fingerprint = hashlib.sha256(made.encode()).hexdigest()[:16]
    assert (document.RULES, fingerprint) == (5, "b4fc0cabd3228367")


def test_a_key_is_searched_only_where_people_chose_it() -> None:
    assert source.searchable(source_named(kind=Kind.FACT, key="a key")).startswith("a key\n")
    assert "a key" not in source.searchable(source_named(kind=Kind.SESSION, key="a key"))
