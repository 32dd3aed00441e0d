"""Pages of a search: every hit once, in one order, and only to the query they belong to."""

import uuid
from datetime import timedelta
from functools import partial

import pytest
from search_fixtures import NOON, append, ask, contents, index_all, message, start, value

from memory import crud, search
from memory.database import Database
from memory.drafts import Kind
from memory.errors import InvalidInput
from memory.text import query, snippet


async def entries_about(database: Database, count: int) -> None:
    texts = [f"the walrus number {n} " + "and more " * (n % 7) for n in range(count)]
    await append(
        database,
        *(message(each, occurred_at=NOON + timedelta(minutes=n)) for n, each in enumerate(texts)),
    )


async def test_pages_give_every_hit_once_and_in_the_order_of_one_large_page(
    database: Database,
) -> None:
    await entries_about(database, 23)
    await index_all(database)
    whole = await ask(database, "walrus number", limit=100)
    assert whole.next_cursor is None
    found: list[str] = []
    cursor = None
    for most in (5, 7, 1, 50):
        page = await ask(database, "walrus number", limit=most, cursor=cursor)
        assert page.total == 23
        found += contents(page)
        cursor = page.next_cursor
    assert cursor is None
    assert found == contents(whole)


async def test_any_hit_s_cursor_goes_on_behind_it(database: Database) -> None:
    await entries_about(database, 6)
    whole = await ask(database, "walrus")
    rest = await ask(database, "walrus", cursor=whole.hits[3].cursor)
    assert contents(rest) == contents(whole)[4:]
    assert (await ask(database, "walrus", cursor=whole.hits[-1].cursor)).hits == []


async def test_what_was_appended_between_two_pages_brings_no_hit_twice(database: Database) -> None:
    await entries_about(database, 8)
    first = await ask(database, "walrus", limit=4)
    await append(database, message("walrus"), message("walrus, walrus"))
    second = await ask(database, "walrus", limit=20, cursor=first.next_cursor)
    assert not set(contents(first)) & set(contents(second))
    assert len(second.hits) == 4


async def test_a_cursor_of_another_query_and_a_damaged_one_are_refused(database: Database) -> None:
    await entries_about(database, 4)
    cursor = (await ask(database, "walrus", limit=2)).next_cursor
    assert cursor is not None
    for other in (
        ask(database, "number", cursor=cursor),
        ask(database, "walrus", kinds=("message",), cursor=cursor),
        ask(database, "walrus", cursor=cursor[:-2] + "xx"),
        ask(database, "walrus", cursor="%"),
        ask(database, "walrus", cursor=""),
    ):
        with pytest.raises(InvalidInput) as refused:
            await other
        assert refused.value.code == "bad_cursor"


async def test_a_cursor_goes_on_when_a_moving_time_has_moved(database: Database) -> None:
    await entries_about(database, 4)
    first = await ask(database, "walrus", limit=2, since=NOON - timedelta(hours=2))
    later = NOON - timedelta(hours=1)
    second = await ask(database, "walrus", limit=2, since=later, cursor=first.next_cursor)
    assert len({*contents(first), *contents(second)}) == 4


async def test_the_turns_beside_a_hit_are_the_nearest_of_prose(database: Database) -> None:
    inside = await start(database, "beside")
    said = [
        ("user", "may I see it"),
        ("tool_call", "look"),
        ("assistant", "the walrus is here"),
        ("tool_result", "a list"),
        ("user", "x" * 5_000),
    ]
    drafts = [
        message(text, role=role, session_id=inside, source_id=f"b{n}", position=n)
        for n, (role, text) in enumerate(said)
    ]
    [alone] = await append(database, message("a walrus alone"))
    ids = await append(database, *drafts)
    answer = await ask(database, "walrus")
    entries = [hit.entry for hit in answer.hits]
    found = await database.transact(partial(search.turns_beside, entries=entries))
    beside = found[ids[2]]
    assert beside.before is not None
    assert beside.after is not None
    assert (beside.before.id, beside.before.excerpt) == (ids[0], "may I see it")
    assert (beside.after.id, beside.after.length) == (ids[4], 5_000)
    assert len(beside.after.excerpt) < 5_000
    assert found[alone] == search.Beside()


async def test_an_entry_is_shown_amid_its_session(database: Database) -> None:
    inside = await start(database, "around")
    drafts = [
        message(f"turn {n}", session_id=inside, source_id=f"a{n}", position=n // 2)
        for n in range(12)
    ]
    ids = await append(database, *drafts)
    [late] = await append(database, value(Kind.FACT, "k", "said there", session_id=inside))

    async def around(ident: uuid.UUID, count: int) -> list[str]:
        async def work(session: object) -> list[str]:
            entry = await crud.get_entry(session, ident)  # type: ignore[arg-type] # the transaction
            found = await crud.surroundings(session, entry, count=count)  # type: ignore[arg-type] # the same
            return [each.content for each in found]

        return await database.transact(work)

    assert await around(ids[5], 2) == ["turn 3", "turn 4", "turn 5", "turn 6", "turn 7"]
    assert await around(ids[0], 1) == ["turn 0", "turn 1"]
    assert await around(late, 3) == ["said there"]


def test_no_text_can_pretend_a_match_in_a_snippet() -> None:
    shown = snippet("he wrote «walrus» and a walrus", query("walrus").lexemes)
    assert shown == "he wrote ‹«walrus»› and a «walrus»"  # noqa: RUF001 - the marks themselves
