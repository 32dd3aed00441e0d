"""A hook's JSON is that of the standard library, without what that costs to import."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from importers import quick_json

ROOT = Path(__file__).resolve().parent.parent
TEXTS = st.text(st.characters(codec=None, exclude_categories=()))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
)


@given(VALUES)
def test_what_the_library_writes_is_read_alike(value: object) -> None:
    text = json.dumps(value)
    assert repr(quick_json.loads(text)) == repr(json.loads(text))
    raw = f"\n {text}\t\r".encode()
    assert repr(quick_json.loads(raw)) == repr(json.loads(raw))


@given(TEXTS | st.text('{}[]":,0123456789.eE+-nultrfas \\/b'))
def test_any_text_is_read_alike_or_refused_alike(text: str) -> None:
    try:
        expected = repr(json.loads(text))
    except ValueError:
        with pytest.raises(ValueError):  # noqa: PT011 - whichever, as the library does
            quick_json.loads(text)
    else:
        assert repr(quick_json.loads(text)) == expected


@given(st.dictionaries(TEXTS, TEXTS | st.floats(allow_nan=False, allow_infinity=False)))
def test_what_is_written_is_what_the_library_writes(values: dict[str, str | float]) -> None:
    assert quick_json.dumps(values) == json.dumps(values)


@pytest.mark.parametrize("raw", [b"\xff", b"", b"\xef\xbb\xbf", b"[", b"{}{}", b"nope"])
def test_what_is_no_json_is_a_value_error(raw: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - bad UTF-8 is one as well
        quick_json.loads(raw)


def test_a_hook_loads_nothing_that_is_slow_to_import() -> None:
    slow = ("re", "enum", "json", "typing", "dataclasses", "pathlib", "subprocess", "tempfile")
    code = (
        f"import sys; sys.path.append({str(ROOT)!r}); import importers.hooks;"
        f" print([name for name in {slow} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
