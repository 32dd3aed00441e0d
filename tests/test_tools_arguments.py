"""Arguments of any shape, and errors of any kind, become an answer; no process needed."""

import asyncio
import contextlib
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from mcp_process import eventually

from memory.errors import InvalidInput, Unavailable
from memory.settings import Settings
from memory.tools import TOOLS, Caller, Toolbox, arguments, toolbox
from memory.tools.readings import MAX_CONTENT_BYTES, read_place, read_time

CALLER = Caller(client="test-client")
NAMES = {parameter.name for tool in TOOLS for parameter in tool.parameters}

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(
    st.sampled_from([tool.name for tool in TOOLS]) | st.text(),
    st.dictionaries(st.sampled_from(sorted(NAMES)) | st.text(max_size=5), values) | values,
)
@hypothesis_settings(max_examples=300, deadline=None)
def test_whatever_is_sent_the_answer_is_an_object_with_its_mark_first(
    name: str, given_arguments: Any
) -> None:
    answer = json.loads(asyncio.run(Toolbox(Unavailable()).call(name, given_arguments, CALLER)))
    assert next(iter(answer)) == "is_error"
    if answer["is_error"]:
        assert answer["code"] in {
            "unavailable",
            "invalid_argument",
            "unknown_tool",
            "bad_cursor",
            "bad_timestamp",
            "too_large",
        }


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-03-01T09:30:00Z", datetime(2026, 3, 1, 9, 30, tzinfo=UTC)),
        ("2026-03-01T11:30:00+02:00", datetime(2026, 3, 1, 9, 30, tzinfo=UTC)),
        ("2026-03-01 09:30", datetime(2026, 3, 1, 9, 30, tzinfo=UTC)),
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        ("20260301T093000", datetime(2026, 3, 1, 9, 30, tzinfo=UTC)),
    ],
)
def test_times_are_read_in_every_form_of_iso_8601(text: str, moment: datetime) -> None:
    notes: list[str] = []
    assert read_time("since", text, notes) == moment
    assert read_place("since", text, []) == moment
    assert bool(notes) == ("Z" not in text and "+" not in text)


USUAL = st.datetimes(datetime(1970, 1, 1), datetime(8999, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001 - Hypothesis adds the zone


@given(USUAL)
def test_every_time_that_python_writes_is_read_back(moment: datetime) -> None:
    assert read_time("since", moment.isoformat(), []) == moment


@pytest.mark.parametrize("text", ["1e400", "", "now", "9999-12-31T23:59:59-23:59", "24:00"])
def test_what_is_no_time_is_told_with_an_example(text: str) -> None:
    with pytest.raises(InvalidInput, match="2026-03-01T09:30:00Z"):
        read_time("since", text, [])


def test_content_of_exactly_the_most_bytes_is_taken() -> None:
    parameters = [arguments.content("content")]
    for character in ("x", "ü"):
        fits = character * (MAX_CONTENT_BYTES // len(character.encode()))
        assert arguments.parse("t", parameters, {"content": fits})["content"] == fits
        with pytest.raises(InvalidInput, match="16 MiB") as told:
            arguments.parse("t", parameters, {"content": fits + character})
        assert told.value.code == "too_large"


def test_null_stands_for_an_argument_that_was_left_out() -> None:
    parameters = [arguments.count(default=5, most=9), arguments.text("title")]
    parsed = arguments.parse("t", parameters, {"limit": None, "title": None})
    assert (parsed["limit"], parsed["title"]) == (5, None)


def test_a_whole_number_may_be_written_with_a_point() -> None:
    parameters = [arguments.count(default=5, most=9)]
    assert arguments.parse("t", parameters, {"limit": 3.0})["limit"] == 3


async def test_an_error_that_nobody_foresaw_is_answered_and_its_text_is_kept_from_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, settings: Settings
) -> None:
    async def fail(_session: object, _call: object) -> dict[str, Any]:
        message = "the secret text"
        raise ZeroDivisionError(message)

    monkeypatch.setitem(toolbox._BY_NAME, "status", replaced("status", fail))
    tools = Toolbox(settings)
    answer = json.loads(await tools.call("status", {}, CALLER))
    assert (answer["is_error"], answer["code"]) == (True, "internal")
    assert "ZeroDivisionError" in caplog.text
    assert "secret" not in caplog.text + str(answer)
    assert json.loads(await tools.call("list_projects", {}, CALLER))["is_error"] is False
    await tools.close()


async def test_a_fault_in_the_background_ends_neither_the_background_nor_the_calls(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, settings: Settings
) -> None:
    rounds = 0

    async def fail(_session: object, *, limit: int) -> None:
        nonlocal rounds
        rounds += 1
        raise Unavailable if rounds % 2 else ZeroDivisionError(limit)

    monkeypatch.setattr(toolbox, "INDEX_DELAY_SECONDS", 0.0)
    monkeypatch.setattr(toolbox.search, "index", fail)
    tools = Toolbox(settings)
    house = asyncio.create_task(tools.keep_house())
    for expected in (1, 2, 3):
        written = json.loads(await tools.call("record_event", {"type": "t"}, CALLER))
        assert written["is_error"] is False

        async def was_tried(expected: int = expected) -> bool:
            return rounds >= expected

        await eventually(was_tried)
    house.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await house
    await tools.close()
    assert "indexing failed" in caplog.text


def replaced(name: str, run: Any) -> Any:
    """Return a tool that does something else."""
    return replace(next(tool for tool in TOOLS if tool.name == name), run=run)
