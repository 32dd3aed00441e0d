"""Text for storage and for the screen."""

import json
import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text as sql
from sqlalchemy.ext.asyncio import AsyncSession

from memory.database import Database
from memory.errors import InvalidInput
from memory.text import MAX_DEPTH, clean, clean_json, displayable

# Whatever a client's JSON may hold after decoding: lone surrogates and NUL as well.
any_text = st.text(st.characters(exclude_categories=()) | st.sampled_from("\x00\ud83d\ude00\x1b["))
any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=20,
)


@given(any_text)
def test_clean_text_is_utf_8_without_nul(text: str) -> None:
    cleaned, count = clean(text)
    assert "\x00" not in cleaned
    assert cleaned.encode().decode() == cleaned
    assert clean(cleaned) == (cleaned, 0)
    assert (count == 0) == (cleaned == text)


def test_only_what_postgresql_refuses_is_replaced() -> None:
    assert clean("a\x00b") == ("a\u2400b", 1)
    assert clean("\ud800 and \udfff") == ("\ufffd and \ufffd", 2)
    assert clean("\ud83d\ude00") == ("\U0001f600", 1)
    untouched = "\\u0000 \u2400 \ufffd \x1b[0m \u202e \U0001f600 \r\n\t"
    assert clean(untouched) == (untouched, 0)


@given(any_json)
def test_clean_json_can_be_written_as_strict_json(value: object) -> None:
    cleaned, count = clean_json(value)
    written = json.dumps(cleaned, allow_nan=False, ensure_ascii=False)
    assert "\\u0000" not in json.dumps(cleaned)
    assert written.encode().decode() == written
    assert clean_json(cleaned) == (cleaned, 0)
    if count == 0:
        assert cleaned == value


def test_numbers_that_json_has_not_are_spelled_out() -> None:
    value = {"a": [math.nan, math.inf, -math.inf, 1.5, 10**30]}
    assert clean_json(value) == ({"a": ["NaN", "Infinity", "-Infinity", 1.5, 10**30]}, 3)


def test_keys_that_become_equal_stay_apart() -> None:
    value = {"a\x00": 1, "a\u2400": 2, "b": {"\x00": 3}}
    assert clean_json(value) == ({"a\u2400": 1, "a\u2400 (2)": 2, "b": {"\u2400": 3}}, 2)


def test_what_is_no_json_is_refused() -> None:
    for value in (b"bytes", {1: "a"}, {"a": {1, 2}}):
        with pytest.raises(InvalidInput):
            clean_json(value)


def test_nesting_is_bounded() -> None:
    value: object = 1
    for _ in range(MAX_DEPTH):
        value = [value]
    assert clean_json(value) == (value, 0)
    for wrapped in ([value], {"a": value}):
        with pytest.raises(InvalidInput, match=str(MAX_DEPTH)):
            clean_json(wrapped)


async def test_postgresql_takes_every_cleaned_text(database: Database) -> None:
    planes = (0, 0xD7F0, 0xFFF0, 0x1F5F0, 0x10FFF0)
    written = "".join(chr(start + step) for start in planes for step in range(0x120)
                      if start + step <= 0x10FFFF)  # fmt: skip
    cleaned, _ = clean(written)
    payload, _ = clean_json({written: [written, math.nan]})

    async def ask(session: AsyncSession) -> Sequence[object]:
        statement = sql("SELECT CAST(:a AS text), CAST(:b AS jsonb)")
        return (await session.execute(statement, {"a": cleaned, "b": json.dumps(payload)})).one()

    row = await database.transact(ask)
    assert row[0] == cleaned
    assert row[1] == payload


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("plain \u00e9 \u9375 \U0001f600\ttab\n", "plain \u00e9 \u9375 \U0001f600\ttab\n"),
        ("\x1b[1;31mred\x1b[0m \x1b[2J\x1b[Hhome", "red home"),
        ("\x9b31mred \x1b(B\x1bc", "red "),
        ("\x1b]8;;http://a\x07link\x1b]8;;\x1b\\ \x1b]0;title\x07.", "link ."),
        ("\x1b]0;never ended\nnext", "\nnext"),
        ("\x1bPdevice\x1b\\x \x1b_app\x1b\\y", "x y"),
        ("bell\x07 back\x08 del\x7f \x85", "bell back del \n"),
        ("one\r\ntwo\rthree\u2028four", "one\ntwo\nthree\nfour"),
        ("zero\u200bwidth\ufeff\u2060 soft\u00adhyphen", "zerowidth softhyphen"),
        ("\u202eabc\u202c \u2066x\u2069 \u200f", "abc x "),
        ("".join(chr(0xE0000 + ord(char)) for char in "hidden") + "seen", "seen"),
        ("\u2764\ufe0f \u2764\ufe0f\ufe0f\U000e0101", "\u2764\ufe0f \u2764\ufe0f"),
        ("\u3164\u115f\u180e.", "."),
        ("nul\x00 \ud800", "nul\u2400 \ufffd"),
        ("\x1b\u200b[31mred", "[31mred"),
    ],
)
def test_only_what_is_seen_is_displayed(written: str, shown: str) -> None:
    assert displayable(written) == shown


@given(any_text)
def test_displayed_text_holds_nothing_hidden(text: str) -> None:
    shown = displayable(text)
    assert displayable(shown) == shown
    assert not set(shown) & {*map(chr, range(9)), *map(chr, range(11, 32)), "\x7f", "\x9b"}
    assert not set(shown) & {*"\u200b\u200d\u202e\u2066\ufeff\u2028\U000e0041"}
    assert len(shown) <= len(text)


@pytest.mark.parametrize(
    "unit", ["\x1b[", "\x1b]", "\x1b", "\x1b]a\x1b", "\ufe0f\u200b", "\r", "\x9d"]
)
def test_hostile_text_is_cleaned_in_linear_time(unit: str) -> None:
    text = unit * (500_000 // len(unit))
    assert displayable(displayable(text)) == displayable(text)
    assert clean(text) == (text, 0)
