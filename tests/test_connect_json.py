"""Edits of JSON as text: the value becomes what was wanted, and no other byte moves."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.connect.edits import Text, append_item, remove_value, set_value
from memory.connect.jsonc import NotJson, parse

WANTED = {"command": ["python", "-P"], "environment": {"A": ""}}
SHAPES = [
    "{}",
    '{"a": 1}',
    '{"a":1,"b":{"c":[1,2]}}',
    '{\n  "a": 1\n}\n',
    '{\n\t// note\n\t"a": 1, // why\n}\n',
    "{\n  // only a note\n}",
    '{\n  "a": 1 // no comma\n}',
    '{"a": 1 // on the first line\n}',
    '{\n  "mcp": {}\n}',
    '{\n  "mcp": {"other": [1]}\n}',
    '{\n  "mcp": {\n    "other": 1\n  }, /* after , this */\n  "z": "// no comment, }"\n}',
    '{"a": 1, "mcp": {"x": 1}, "a": 2}',
]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_value_is_put_in_and_taken_out_without_a_trace(shape: str) -> None:
    before = Text(shape, comments=True)
    after = set_value(before, ("mcp", "ours"), WANTED)
    held = after.root().value
    assert held["mcp"].pop("ours") == WANTED
    assert {k: v for k, v in held.items() if k != "mcp"} == {
        k: v for k, v in before.root().value.items() if k != "mcp"
    }
    back = remove_value(after, ("mcp", "ours"))
    if before.at(("mcp",)) is None:
        back = remove_value(back, ("mcp",))
    assert back.text == shape


@pytest.mark.parametrize(
    ("shape", "left"),
    [
        ('{"ours": 1, "b": 2}', '{"b": 2}'),
        ('{"a": 1, "ours": 2, "b": 3}', '{"a": 1, "b": 3}'),
        ('{"a": 1, // why\n "ours": 2, "b": 3}', '{"a": 1, // why\n "b": 3}'),
        ('{"a": 1, // why\n "ours": 2 }', '{"a": 1 // why\n }'),
        ('{ // why\n "ours": 1 }', "{ // why\n }"),
        ('{"ours": 1,}', "{}"),
    ],
)
def test_a_comment_never_swallows_what_follows_a_value_that_went(shape: str, left: str) -> None:
    after = remove_value(Text(shape, comments=True), ("ours",))
    assert after.text == left
    parse(after.text, comments=True)


def test_items_are_added_changed_and_removed() -> None:
    text = append_item(Text('{"plugin": ["a"]}', comments=False), ("plugin",), ["b", {"c": 1}])
    assert text.text == '{"plugin": ["a", ["b", {"c": 1}]]}'
    text = set_value(text, ("plugin", 1), "d")
    assert text.text == '{"plugin": ["a", "d"]}'
    assert remove_value(text, ("plugin", 0)).text == '{"plugin": ["d"]}'
    assert append_item(Text("{}", comments=False), ("plugin",), 1).root().value == {"plugin": [1]}


def test_a_new_value_takes_the_indentation_that_is_there() -> None:
    after = set_value(Text('{\n\t"a": {\n\t\t"b": 1\n\t}\n}', comments=False), ("a", "c"), {"d": 1})
    assert after.text == '{\n\t"a": {\n\t\t"b": 1,\n\t\t"c": {\n\t\t\t"d": 1\n\t\t}\n\t}\n}'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"a": 1',
        '{"a": 1,}',
        '{"a": 1 "b": 2}',
        '{"a" 1}',
        "{a: 1}",
        "{} {}",
        '{"a": NaN}',
        '{"a": "\n"}',
        '{"a": 1} // end',
        "[" * 300 + "]" * 300,
    ],
)
def test_what_is_no_json_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(NotJson, match=r"line \d+, column \d+"):
        parse(text, comments=False)


def test_an_open_comment_is_refused() -> None:
    with pytest.raises(NotJson, match="comment"):
        parse('{"a": 1 /* }', comments=True)


def test_a_value_below_something_that_is_no_object_is_refused() -> None:
    with pytest.raises(NotJson, match="mcp is no object"):
        set_value(Text('{"mcp": [1]}', comments=False), ("mcp", "ours"), 1)
    with pytest.raises(NotJson, match="plugin is no array"):
        append_item(Text('{"plugin": {"a": 1}}', comments=False), ("plugin",), 1)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(
    value=st.dictionaries(st.text(max_size=4), VALUES, max_size=4),
    indent=st.sampled_from([None, 2, "\t"]),
)
def test_any_object_keeps_its_text_when_a_member_comes_and_goes(
    value: dict[str, Any], indent: int | str | None
) -> None:
    value.pop("ours", None)
    text = json.dumps(value, indent=indent)
    after = set_value(Text(text, comments=False), ("ours",), WANTED)
    assert json.loads(after.text) == {**value, "ours": WANTED}
    assert remove_value(after, ("ours",)).text == text
