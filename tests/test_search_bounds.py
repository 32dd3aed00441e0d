"""What a search looks at of much: what it left out it says, and nothing is counted twice or lost."""

from functools import partial

import pytest
from search_fixtures import append, ask, contents, index_all, message, start

from memory.database import Database
from memory.search import exact, find, gather, lookup, phrases, reach, tail
from memory.search.matches import match
from memory.search.place import Progress
from memory.search.request import Request
from memory.text import MAX_PHRASES, query


@pytest.mark.parametrize("recent", [0, 1])
async def test_a_phrase_in_too_many_entries_is_told_to_be_looked_for_in_some(
    database: Database, monkeypatch: pytest.MonkeyPatch, recent: int
) -> None:
    monkeypatch.setattr(exact, "MAX_VERIFIED", 4)
    said = [f"alpha, ({number}) beta alpha/beta" for number in range(6)]
    await append(database, *(message(each) for each in said))
    await index_all(database)
    if recent:
        await append(database, message("alpha beta"))
    answer = await ask(database, '"alpha beta"')
    assert "only the likeliest were looked at" in answer.note
    assert answer.ways["phrase"] == recent
    assert ("None of the likeliest entries holds the phrase" in answer.note) is not bool(recent)
    monkeypatch.setattr(exact, "MAX_VERIFIED", 6)
    assert "likeliest" not in (await ask(database, '"alpha beta"')).note


async def test_of_many_entries_with_the_words_of_a_phrase_the_likeliest_are_checked(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [f"alpha beta {'gamma ' * number}" for number in range(6)]
    await append(database, *(message(each) for each in said))
    await index_all(database)
    monkeypatch.setattr(phrases, "MAX_CHECKED", 4)
    cut = await ask(database, '"alpha beta"')
    assert "only the likeliest were looked at" in cut.note
    assert cut.ways["phrase"] == 4
    best = [each.entry.content for each in cut.hits if "phrase" in each.why.parts]
    assert sorted(best, key=len) == said[:4]
    monkeypatch.setattr(phrases, "MAX_CHECKED", 6)
    whole = await ask(database, '"alpha beta"')
    assert (whole.note, whole.ways["phrase"]) == ("", 6)


async def test_of_equal_entries_with_the_words_of_a_phrase_the_newest_are_checked(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        await append(database, message("alpha beta", source_id=str(number)))
        await index_all(database)
    monkeypatch.setattr(phrases, "MAX_CHECKED", 4)
    answer = await ask(database, '"alpha beta"')
    assert answer.ways["phrase"] == 4
    assert answer.hits[0].entry.source_id == "5"


async def test_a_phrase_is_found_where_a_segment_lacks_its_words(database: Database) -> None:
    for said in ("gamma delta", "alpha beta", "alpha"):
        await append(database, message(said))
        await index_all(database)
    assert contents(await ask(database, '"alpha beta"'))[0] == "alpha beta"
    assert (await ask(database, '"delta alpha"')).ways["phrase"] == 0


async def test_texts_of_a_phrase_that_are_not_read_are_told(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await append(database, message("alpha beta"), message("alpha beta gamma"))
    await index_all(database)
    monkeypatch.setattr(exact, "MAX_BYTES", 1)
    answer = await ask(database, '"alpha beta"')
    assert (answer.ways["phrase"], "only the likeliest" in answer.note) == (1, True)


async def test_a_phrase_of_whole_words_is_found_alike_before_and_after_indexing(
    database: Database,
) -> None:
    await append(database, message("xfoo bary"), message("a foo bar"))
    fresh = await ask(database, '"foo bar"')
    await index_all(database)
    indexed = await ask(database, '"foo bar"')
    assert contents(fresh) == contents(indexed) == ["a foo bar"]
    assert (fresh.total, indexed.total) == (1, 1)


@pytest.mark.parametrize("asked", ["word*", "word* beta"])
async def test_more_words_than_are_searched_for_are_told(
    database: Database, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    await append(database, *(message(f"word{number}x beta") for number in range(4)))
    await index_all(database)
    await append(database, message("word9x beta"))
    whole = await ask(database, asked)
    assert (whole.total, whole.total_is_exact, whole.note) == (5, True, "")
    monkeypatch.setattr(lookup, "MAX_BEGUN", 3)
    monkeypatch.setattr(find, "MAX_BEGUN", 3)
    cut = await ask(database, asked)
    assert not cut.total_is_exact
    assert "More than 3 words begin as word* does" in cut.note


async def test_a_beginning_goes_with_filters_and_phrases(database: Database) -> None:
    session = await start(database, "one")
    await append(
        database,
        message("deployKey of the vault", session_id=session, source_id="1"),
        message("deployment of the vault"),
        message("the vault alone"),
    )
    await index_all(database)
    assert contents(await ask(database, "deploy*", session_id=session)) == [
        "deployKey of the vault"
    ]
    answer = await ask(database, 'deploy* "of the vault"')
    assert answer.ways["phrase"] == 2
    assert {each.why.words for each in answer.hits[:2]} == {("deploy*", "vault")}


@pytest.mark.parametrize("asked", ["getUser*", "CONF*", "not*"])
async def test_what_only_begins_so_is_not_said_to_be_missing(
    database: Database, asked: str
) -> None:
    await append(database, message("getUserById CONFIG_PATH nothing"))
    await index_all(database)
    answer = await ask(database, asked)
    assert (answer.total, answer.note) == (1, "")


def test_phrases_and_beginnings_beyond_the_limit_are_told() -> None:
    many = " ".join(f'"phrase number {number}"' for number in range(MAX_PHRASES + 1))
    assert query(many).truncated
    assert len(query(many).phrases) == MAX_PHRASES
    assert query("aaa* bbb* ccc* ddd* eee*").truncated
    assert not query("aaa* bbb* ccc* ddd*").truncated
    assert query("not*")


async def test_an_entry_named_by_id_counts_though_neither_indexed_nor_new(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "MAX_ENTRIES", 1)
    old, _ = await append(database, message("deploy FooBar now"), message("something else"))
    answer = await ask(database, f"{old} deploy FooBar")
    assert contents(answer) == ["deploy FooBar now"]
    assert (answer.total, answer.ways["exact"], answer.unindexed) == (1, 1, 1)
    assert "id" in answer.hits[0].why.parts


async def test_what_is_indexed_during_a_search_takes_no_other_entrys_number(
    database: Database,
) -> None:
    [hidden, shown] = await append(
        database, message("needle of the harness", role="system"), message("needle said")
    )
    progress = Progress(rules=0)
    newest = await database.transact(partial(tail.read, progress=progress, request=Request("x")))
    assert [each.id for each in newest.sources] == [shown]
    segment, postings = tail.as_segment(newest.sources, {"needl"}, first=0)
    then = reach.Reach(
        progress=progress, tail=newest, matches=match([segment], [postings], ["needl"], [])
    )
    await index_all(database)
    found = await database.transact(partial(then.by_entry, ids={hidden, shown}))
    assert found.keys() == {shown}
    rest = await database.transact(partial(then.unnumbered, ids={hidden}))
    placed = await database.transact(
        partial(then.places, entries=[*found.values(), *rest.values()], lexemes=["needl"])
    )
    assert placed == {shown: {"needl": [0]}}


async def test_the_order_of_words_is_looked_at_in_the_best_entries_only(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find, "CLOSE", 2)
    await append(database, *(message(f"red fox {'x ' * number}") for number in range(5)))
    await index_all(database)
    answer = await ask(database, "red fox")
    assert ["order" in each.why.parts for each in answer.hits] == [True, True, False, False, False]


async def test_the_tail_has_the_order_of_the_feed(database: Database) -> None:
    ids = [
        each
        for number in range(3)
        for each in await append(database, message(f"needle {number}"), message(f"pin {number}"))
    ]
    read = partial(tail.read, progress=Progress(rules=0), request=Request("x"))
    newest = await database.transact(read)
    assert [each.id for each in newest.sources] == ids


async def test_copies_do_not_push_out_what_says_something_else(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await append(database, *(message("identical copies zebra") for _ in range(250)))
    others = [f"zebra number {at} is here with some further words of text" for at in range(40)]
    await append(database, *(message(each) for each in others))
    for _ in range(2):
        answer = await ask(database, "zebra", limit=100)
        assert sorted(contents(answer)) == sorted(["identical copies zebra", *others])
        assert max(each.copies for each in answer.hits) == 250
        assert (answer.total, answer.note) == (290, "")
        await index_all(database)
    monkeypatch.setattr(gather, "DEEPEST", 200)
    monkeypatch.setattr(find, "DEEPEST", 200)
    cut = await ask(database, "zebra", limit=100)
    assert "Most of the best 200 entries say the same" in cut.note


async def test_a_phrase_is_found_whatever_a_long_query_holds_before_it(database: Database) -> None:
    await append(database, message("only the rare phrase here"))
    await index_all(database)
    answer = await ask(database, " ".join(f"jj{at}" for at in range(64)) + ' "rare phrase"')
    assert contents(answer) == ["only the rare phrase here"]
    assert answer.ways["phrase"] == 1
    assert "holds the phrase" not in answer.note


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("\x1b[1m\x1b[31mgarbled\x1b[0m line", "garbled"),
        ("\x1b[31mfatal error\x1b[0m: disk full", '"fatal error: disk full"'),
        ("zero\u200bwidth joined wordage", '"zerowidth joined"'),
        ("soft\u00adhyphen phrase here", '"softhyphen phrase"'),
        ("soft\u00adhyphen phrase here", "softhyphen"),
    ],
)
async def test_what_is_shown_is_found_whatever_is_hidden_in_it(
    database: Database, said: str, asked: str
) -> None:
    await append(database, message(said))
    for _ in range(2):
        answer = await ask(database, asked)
        assert (answer.total, answer.note) == (1, "")
        assert answer.ways["phrase"] == asked.startswith('"')
        await index_all(database)


async def test_what_is_not_searched_for_as_written_is_told(database: Database) -> None:
    await append(database, message("to be or not to be that is tailword"))
    answer = await ask(database, '"to be or not to be" tailword fo*')
    assert answer.total == 1
    assert 'The phrase "to be or not to be" has no word' in answer.note
    assert "fo* has too few letters for a beginning" in answer.note
