"""Asking: what is found, in which order, and what the answer says about it."""

import pytest
from search_fixtures import append, ask, contents, index_all, message

from memory.database import Database

pytestmark = pytest.mark.parametrize("is_indexed", [True, False], ids=["indexed", "fresh"])


async def prepare(database: Database, *drafts: object, is_indexed: bool) -> list[object]:
    ids = await append(database, *drafts)  # type: ignore[arg-type] # drafts
    if is_indexed:
        await index_all(database)
    return list(ids)


async def test_a_plain_question_finds_its_answer(database: Database, is_indexed: bool) -> None:
    await prepare(
        database,
        message("The nightly backup runs at two o'clock."),
        message("We decided to retry uploads three times before giving up."),
        message("Lunch was good."),
        is_indexed=is_indexed,
    )
    answer = await ask(database, "How often do we retry an upload?")
    assert contents(answer) == ["We decided to retry uploads three times before giving up."]
    assert answer.total == 1
    assert answer.total_is_exact
    assert "\u00abretry\u00bb \u00abuploads\u00bb" in answer.hits[0].snippet
    assert answer.hits[0].why.words == ("retry", "upload")
