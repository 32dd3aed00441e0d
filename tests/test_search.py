"""Asking: what is found, in which order, and what the answer says about it."""

import math
import uuid
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from search_fixtures import NOON, append, ask, contents, index_all, message, start, value
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from memory import crud, search
from memory.database import Database
from memory.drafts import Draft, Kind
from memory.errors import InvalidInput
from memory.search import Answer, Request

Settle = Callable[..., Awaitable[list[uuid.UUID]]]


@pytest.fixture(params=["indexed", "fresh"])
def settle(request: pytest.FixtureRequest, database: Database) -> Settle:
    """Return a function that appends, and indexes what it appended in one of the two runs."""

    async def settled(*drafts: Draft) -> list[uuid.UUID]:
        ids = await append(database, *drafts)
        if request.param == "indexed":
            await index_all(database)
        return ids

    return settled


async def new_project(database: Database, name: str) -> uuid.UUID:
    project, _ = await database.transact(
        lambda s: crud.create_project(s, name, source_client="claude")
    )
    return project.id


async def test_a_plain_question_finds_its_answer(database: Database, settle: Settle) -> None:
    await settle(
        message("The nightly backup runs at two o'clock."),
        message("We decided to retry uploads three times before giving up."),
        message("Lunch was good."),
    )
    answer = await ask(database, "How do we retry an upload?")
    assert contents(answer) == ["We decided to retry uploads three times before giving up."]
    assert (answer.total, answer.total_is_exact, answer.note) == (1, True, "")
    assert "\u00abretry\u00bb \u00abuploads\u00bb" in answer.hits[0].snippet
    assert answer.hits[0].why.words == ("retry", "upload")


async def test_the_score_is_the_sum_of_its_parts(database: Database, settle: Settle) -> None:
    session = await start(database, "parts")
    turns = ["the cache is cold", "warm the cache first", "so we warm the cache at night"]
    await settle(
        *(
            message(turn, session_id=session, source_id=str(place), position=place)
            for place, turn in enumerate(turns)
        )
    )
    answer = await ask(database, "warm cache")
    assert len(answer.hits) == 3
    for hit in answer.hits:
        assert math.isclose(hit.score, sum(hit.why.parts.values()))
        assert {"words", "session", "neighbours"} <= set(hit.why.parts)


async def test_a_rare_word_counts_for_more_than_a_common_one(
    database: Database, settle: Settle
) -> None:
    await settle(
        *(message(f"deploy number {number} went fine") for number in range(20)),
        message("a zeppelin was seen"),
    )
    answer = await ask(database, "zeppelin deploy")
    assert contents(answer)[0] == "a zeppelin was seen"
    assert answer.total == 21
    assert answer.note == "No entry holds all 2 words; the closest hold 1 of them."


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("get_user_by_id", "call get_user_by_id(7) first"),
        ("getUserById", "in Java it is getUserById"),
        ("user by id", "in Java it is getUserById"),  # of equals the newest
        ("bar_baz.py", "see src/foo/bar_baz.py:12"),
        ("src/foo/bar_baz.py", "see src/foo/bar_baz.py:12"),
        ("--force-with-lease", "push with --force-with-lease"),
        ("E1234", "error E1234 again"),
        ("v2.31.0", "pinned to v2.31.0"),
        ("ECONNREFUSED", "connect ECONNREFUSED 127.0.0.1:5433"),
        ("C++", "rewritten in C++"),
        ("дедлок", "нашли дедлок в очереди"),
        ("数据库", "我们把数据库迁移到新服务器"),
        ("データベース", "データベースを移行しました"),
    ],
)
async def test_identifiers_and_other_scripts_are_found(
    database: Database, settle: Settle, asked: str, expected: str
) -> None:
    await settle(
        message("call get_user_by_id(7) first"),
        message("in Java it is getUserById"),
        message("see src/foo/bar_baz.py:12"),
        message("push with --force-with-lease"),
        message("error E1234 again"),
        message("pinned to v2.31.0"),
        message("connect ECONNREFUSED 127.0.0.1:5433"),
        message("rewritten in C++"),
        message("нашли дедлок в очереди"),
        message("我们把数据库迁移到新服务器"),
        message("データベースを移行しました"),
        message("nothing of interest"),
    )
    answer = await ask(database, asked)
    assert contents(answer)[0] == expected
    assert "nothing of interest" not in contents(answer)


async def test_a_whole_identifier_ranks_above_its_parts(database: Database, settle: Settle) -> None:
    await settle(
        message("parse the config, parse it, config config parse"),
        message("the function parse_config reads it"),
    )
    answer = await ask(database, "parse_config")
    assert contents(answer)[0] == "the function parse_config reads it"
    assert answer.ways["exact"] == 1
    assert answer.note == ""


async def test_a_missing_identifier_is_said_to_be_missing(
    database: Database, settle: Settle
) -> None:
    await settle(message("parse the config"))
    answer = await ask(database, "parse_config")
    assert contents(answer) == ["parse the config"]
    assert answer.note.startswith("No entry holds parse_config as written;")


async def test_prose_ranks_above_tool_calls_and_those_above_tool_output(
    database: Database, settle: Settle
) -> None:
    said = "the flaky scheduler test"
    await settle(
        message(f"{said} (output)", role="tool_result"),
        message(f"{said} (call)", role="tool_call"),
        message(f"{said} (prose)", role="assistant"),
        message(f"{said} (thought)", role="reasoning"),
        value(Kind.DECISION, "ci", f"{said} (decision)"),
    )
    answer = await ask(database, "flaky scheduler")
    order = [content.rpartition("(")[2].rstrip(")") for content in contents(answer)]
    assert order == ["decision", "prose", "thought", "call", "output"]


async def test_a_filter_by_client_knows_the_clients_other_names(
    database: Database, settle: Settle
) -> None:
    await settle(
        message("needle one", source_client="claude"),
        message("needle two", source_client="claude-code"),
        message("needle three", source_client="codex"),
        message("needle four", source_client="An Odd Client's \\ \u00e9 Name"),
    )
    found = await ask(database, "needle", source_client="claude-code")
    assert sorted(contents(found)) == ["needle one", "needle two"]
    assert contents(await ask(database, "needle", source_client="codex-mcp-client")) == [
        "needle three"
    ]
    odd = await ask(database, "needle", source_client="An Odd Client's \\ \u00e9 Name")
    assert contents(odd) == ["needle four"]


async def test_filters_by_project_session_kind_and_role(database: Database, settle: Settle) -> None:
    project = await new_project(database, "apollo")
    session = await start(database, "filters", project_id=project)
    await settle(
        message("needle in the session", session_id=session, source_id="1"),
        message("needle in the project", project_id=project, role="assistant"),
        message("needle elsewhere"),
        value(Kind.FACT, "where", "needle of a fact"),
    )
    assert contents(await ask(database, "needle", session_id=session)) == ["needle in the session"]
    assert sorted(contents(await ask(database, "needle", project_id=project))) == [
        "needle in the project",
        "needle in the session",
    ]
    assert contents(await ask(database, "needle", kinds=("fact",))) == ["needle of a fact"]
    assert contents(await ask(database, "needle", roles=("assistant",))) == [
        "needle in the project"
    ]
    nothing = await ask(database, "needle", project_id=project, kinds=("fact", "decision"))
    assert contents(nothing) == []
    assert nothing.note == "No entry matches with these filters."


async def test_times_bound_what_is_found_to_the_second(database: Database, settle: Settle) -> None:
    year = timedelta(days=365)
    days = [NOON - 4 * year, NOON - timedelta(days=1), NOON, NOON + timedelta(seconds=1)]
    days.append(NOON + 100 * year)
    await settle(*(message(f"needle {place}", occurred_at=day) for place, day in enumerate(days)))

    async def found(**bounds: object) -> list[str]:
        return sorted(contents(await ask(database, "needle", **bounds)))

    assert await found(since=NOON) == ["needle 2", "needle 3", "needle 4"]
    assert await found(until=NOON) == ["needle 0", "needle 1", "needle 2"]
    assert await found(since=NOON, until=NOON) == ["needle 2"]
    assert await found(since=NOON - 5 * year, until=NOON - year) == ["needle 0"]
    assert await found(since=NOON + 99 * year) == ["needle 4"]
    assert await found(until=NOON - 5 * year) == []


async def test_system_text_and_the_ledgers_own_kinds_answer_only_when_asked(
    database: Database, settle: Settle
) -> None:
    session = await start(database, "system", title="needle in the title at first")
    await start(database, "system", title="needle in a title")
    await settle(
        message("needle of the user", session_id=session, source_id="1"),
        message("needle of the system", role="system", session_id=session, source_id="2"),
    )
    assert contents(await ask(database, "needle")) == ["needle of the user"]
    assert sorted(contents(await ask(database, "needle", include_system=True))) == [
        "needle in a title",
        "needle of the system",
        "needle of the user",
    ]
    assert contents(await ask(database, "needle", roles=("system",))) == ["needle of the system"]
    assert contents(await ask(database, "needle", kinds=("session",))) == ["needle in a title"]


async def test_an_id_finds_its_entry_first(database: Database, settle: Settle) -> None:
    session = await start(database, "3f0c2f5e-1111-4222-8333-944455556666")
    first, second, _ = await settle(
        message("one thing", session_id=session, source_id="msg_01AbCdEfGh2345", position=0),
        message("another thing", session_id=session, source_id="second", position=1),
        message(f"somebody quotes msg_01AbCdEfGh2345 {session}"),
    )
    for asked in (str(second), str(second).upper(), f"what is {second}?", second.hex[:30]):
        answer = await ask(database, asked)
        assert answer.hits[0].entry.id == second, asked
        assert "id" in answer.hits[0].why.parts
        assert answer.ways["exact"] >= 1
    answer = await ask(database, "msg_01AbCdEfGh2345")
    assert answer.hits[0].entry.id == first
    assert len(answer.hits) == 2
    for asked in (str(session), "3f0c2f5e-1111-4222-8333-944455556666"):
        answer = await ask(database, asked)
        assert contents(answer)[:2] == ["one thing", "another thing"]
    assert contents(await ask(database, str(second), source_client="codex")) == []


async def test_a_quoted_phrase_is_verified_and_comes_first(
    database: Database, settle: Settle
) -> None:
    await settle(
        message("connection reset by peer, connection reset, by the peer: reset connection"),
        message("It says: Connection  RESET\nby peer (again)."),
        message("the peer was reset by a connection"),
    )
    answer = await ask(database, '"connection reset by peer"')
    assert len(answer.hits) == 3
    assert [("phrase" in hit.why.parts) for hit in answer.hits] == [True, True, False]
    assert answer.ways["phrase"] == 2
    assert answer.note == ""
    absent = await ask(database, '"reset the connection by"')
    assert absent.ways["phrase"] == 0
    assert absent.note.startswith('No entry holds the phrase "reset the connection by";')


async def test_a_phrase_is_found_behind_the_last_position_that_postgresql_keeps(
    database: Database, settle: Settle
) -> None:
    filler = " ".join(f"w{number}" for number in range(17_000))
    await settle(message(f"{filler} the quick brown fox"), message("fox, brown and quick"))
    answer = await ask(database, '"quick brown fox"')
    assert answer.ways["phrase"] == 1
    assert answer.hits[0].entry.content.endswith("the quick brown fox")


async def test_equal_content_is_shown_once_and_counted(database: Database, settle: Settle) -> None:
    await settle(
        message("run the linter", source_client="claude"),
        message("run the linter", source_client="codex"),
        message("run the linter twice"),
    )
    answer = await ask(database, "linter")
    assert sorted(contents(answer)) == ["run the linter", "run the linter twice"]
    assert sorted(hit.copies for hit in answer.hits) == [1, 2]
    assert answer.total == 3


async def test_a_superseded_value_is_marked_and_ranks_below_its_head(
    database: Database, settle: Settle
) -> None:
    project = await new_project(database, "hermes")
    first, second, third = await settle(
        value(Kind.FACT, "broker", "the broker is RabbitMQ, RabbitMQ it is", project_id=project),
        value(Kind.FACT, "broker", "the broker is Kafka now, no RabbitMQ", project_id=project),
        value(Kind.FACT, "broker", "the broker is NATS", project_id=project),
    )
    answer = await ask(database, "broker RabbitMQ")
    assert [hit.entry.id for hit in answer.hits] == [third, second, first]
    assert [hit.superseded_by for hit in answer.hits] == [None, third, second]
    scores = [hit.score for hit in answer.hits]
    assert scores == sorted(scores, reverse=True)


async def test_the_key_of_a_value_is_searched_too(database: Database, settle: Settle) -> None:
    await settle(value(Kind.FACT, "deploy target", "eu-west-1"))
    answer = await ask(database, "where do we deploy?")
    assert contents(answer) == ["eu-west-1"]
    assert answer.hits[0].snippet == "\u00abdeploy\u00bb target eu-west-1"


@pytest.mark.parametrize(
    "asked", ["", "   ", "what did we do", "?!…", "&|!():*", '""', "\x00", "'"]
)
async def test_a_query_without_a_word_is_refused(database: Database, asked: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        await ask(database, asked)
    assert caught.value.code == "empty_query"


@pytest.mark.parametrize(
    "asked",
    [
        "needle' OR '1'='1",
        "needle:* & !hay | (straw",
        "needle <-> \\ \\' '' %_",
        'needle "unclosed',
        "needle\x00needle",
        "needle \ud800",
        "needle " + "x" * 10_000,
        "needle " + "word " * 2_000,
        "needle " + " ".join(f"w{number}" for number in range(2_000)),
        "needle " + "数据" * 3_000,
        "needle :name ::text $1 {0} %s",
        "=kind/message =role/user needle",
        "'needle':1A",
    ],
)
async def test_hostile_queries_have_defined_answers(
    database: Database, settle: Settle, asked: str
) -> None:
    await settle(message("the needle"), message("hay % _ ' \\ and more hay"))
    answer = await ask(database, asked)
    assert "the needle" in contents(answer)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"limit": 0}, "invalid_argument"),
        ({"limit": -1}, "invalid_argument"),
        ({"limit": 101}, "invalid_argument"),
        ({"kinds": ("massage",)}, "invalid_argument"),
        ({"since": NOON.replace(tzinfo=None)}, "bad_timestamp"),
        ({"since": NOON, "until": NOON - timedelta(1)}, "invalid_argument"),
    ],
)
async def test_a_bad_argument_is_refused(
    database: Database, changes: dict[str, object], code: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        await ask(database, "needle", **changes)
    assert caught.value.code == code


async def test_an_empty_ledger_says_that_nothing_matches(database: Database) -> None:
    answer = await ask(database, "anything")
    assert answer == Answer(
        hits=[],
        total=0,
        total_is_exact=True,
        ways={"words": 0, "recent": 0, "exact": 0, "phrase": 0},
        unindexed=0,
        note="No entry matches.",
    )


async def test_the_limit_bounds_the_hits_and_not_the_total(
    database: Database, settle: Settle
) -> None:
    await settle(*(message(f"needle {number}") for number in range(30)))
    answer = await ask(database, "needle", limit=7)
    assert len(answer.hits) == 7
    assert answer.total == 30


async def test_a_search_changes_nothing(database: Database) -> None:
    await append(database, message("needle"))

    async def read_only(session: AsyncSession) -> Answer:
        await session.execute(text("SET TRANSACTION READ ONLY"))
        return await search.search(session, Request("needle"))

    assert contents(await database.transact(read_only)) == ["needle"]


async def test_the_beginning_of_a_word_finds_every_word_that_begins_so(
    database: Database, settle: Settle
) -> None:
    await settle(
        message("the deployment went fine"),
        message("deployKey is in the vault"),
        message("two deploys failed"),
        message("we depend on it"),
    )
    answer = await ask(database, "deplo*")
    assert (answer.total, answer.note) == (3, "")
    assert all(hit.why.words == ("deplo*",) for hit in answer.hits)
    assert "\u00abdeployKey\u00bb" in "".join(hit.snippet for hit in answer.hits)
    assert (await ask(database, "deplo")).total == 0
    assert (await ask(database, "depl* vault")).hits[0].entry.content.startswith("deployKey")
    assert (await ask(database, "zzz*")).total == 0


@pytest.mark.parametrize("query", ["**deplo**", "src/*", "2*depl", "de*", "*deplo"])
async def test_other_stars_mean_nothing(database: Database, settle: Settle, query: str) -> None:
    await settle(message("the deployment went fine"))
    assert (await ask(database, query)).total == 0


async def test_words_of_a_date_are_no_content_where_others_are(
    database: Database, settle: Settle
) -> None:
    session = await start(database, "dates", started_at=NOON)
    shift = "the layout jumped as the images came"
    await settle(
        message("27 files may be left of 2026, 27 May be damned", occurred_at=NOON),
        message(shift, session_id=session, occurred_at=NOON.replace(month=5)),
    )
    answer = await ask(database, "what about the layout on 27 May 2026?")
    assert contents(answer)[0] == shift
    alone = await ask(database, "27 May 2026")
    assert [hit.why.parts["words"] for hit in alone.hits] == [1.0]


async def test_a_whole_error_ranks_above_a_message_that_only_repeats_its_path(
    database: Database, settle: Settle
) -> None:
    error = (
        "src/lib/basket.ts:57:14 - error TS2532: Object is possibly 'undefined'. The build stopped"
        " here and nothing behind it was looked at, as the log of the night says."
    )
    others = [f"open src/lib/basket.ts once more, step {n}" for n in range(6)]
    await settle(*(message(each) for each in others), message(error))
    answer = await ask(database, "src/lib/basket.ts:57:14 - error TS2532: Object is possibly")
    assert contents(answer)[0] == error
    assert "TS2532:" not in {word for hit in answer.hits[1:] for word in hit.why.words}
