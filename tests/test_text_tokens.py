"""Words, identifiers and paths as the index knows them (D8)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.text import MAX_CHARS, MAX_TOKENS, Tokens, normalised, query, snippet, tokens
from memory.text.folding import MAX_MARKS, MAX_TOKEN_BYTES, MAX_TOKEN_CHARS

any_text = st.text(st.characters(exclude_categories=()))
letters = st.text("abcxyzABCXYZ019_-./:@\\'\u00e9\u0451\u0439\u732b\u304c\ud55c \n", max_size=40)


def found(text: str) -> set[str]:
    return set(tokens(text).positions)


def finds(question: str, text: str) -> bool:
    """Tell whether every word and at least one whole term of the question is in the text."""
    asked = query(question)
    index = found(text)
    return bool(asked) and set(asked.words) <= index


@pytest.mark.parametrize(
    ("question", "text"),
    [
        *[
            (one, other)
            for one in ("getUserById", "get_user_by_id", "user by id", "get-user-by-id")
            for other in ("getUserById", "get_user_by_id", "GetUserByID", "get user by id")
        ],
        ("http server", "class HTTPServer2Foo"),
        ("bar baz", "see src/foo/bar_baz.py:12"),
        ("verify", "git commit --no-verify"),
        ("migration", "the migrations ran"),
        ("python 3", "on Python3 only"),
        ("utf", "UTF8 and utf-8"),
        ("cafe", "le Caf\u00e9"),
        ("caf\u00e9", "caf\u00e9s\u202f: caf\u00e9"),
        ("\u0435\u043b\u043a\u0430", "\u0451\u043b\u043a\u0438"),
        ("\u043d\u0430\u0441\u0442\u0440\u043e\u0439\u043a\u0438", "\u043d\u0430\u0441\u0442\u0440\u043e\u0439\u043a\u0430 \u0441\u0435\u0440\u0432\u0435\u0440\u0430"),
        ("\u732b", "\u9ed2\u732b\u304c\u597d\u304d"),
        ("\u9ed2\u732b", "\u4eca\u65e5\u306f\u9ed2\u732b\u304c\u597d\u304d\u3067\u3059"),
        ("\u5165\u9580", "Python\u5165\u9580"),
        ("\ud55c\uad6d\uc5b4", "\ud55c\uad6d\uc5b4\ub97c \ubc30\uc6b4\ub2e4"),
        ("\uff26\uff55\uff4c\uff4c", "full width"),
        ("stra\u00dfe", "STRASSE"),
        ("traceback", "failed\\nTraceback (most recent call last)"),
    ],
)  # fmt: skip
def test_a_question_finds_the_text(question: str, text: str) -> None:
    assert finds(question, text)


@pytest.mark.parametrize(
    ("term", "text"),
    [
        ("bar_baz", "src/foo/bar_baz.py"),
        ("foo/bar_baz", "src/foo/bar_baz.py"),
        ("foo/bar_baz.py", "/home/me/src/foo/bar_baz.py:12"),
        ("bar_baz.py", "src/foo/bar_baz.py"),
        ("src/foo/bar_baz.py", "edit ./src/foo/bar_baz.py."),
        ("claude/projects", "in ~/.claude/projects now"),
        ("os.path.join", "os.path.join(a, b)"),
        ("path.join", "os.path.join(a, b)"),
        ("v1.2.3", "release v1.2.3 is out"),
        ("1.2.3", "release v1.2.3-beta is out"),
        ("1.26.4", "numpy-1.26.4-cp311.whl"),
        ("--no-verify", "git commit --no-verify"),
        ("no-verify", "git commit --no-verify"),
        ("e1234", "error E1234: no"),
        ("econnrefused", "Error: connect ECONNREFUSED 127.0.0.1:5433"),
        ("127.0.0.1", "Error: connect ECONNREFUSED 127.0.0.1:5433"),
        ("3f78685", "commit 3f786850e387550fdab836ed7e6dc881de23001b"),
        ("3f786850e387550fdab836ed7e6dc881de23001b", "3f786850e387550fdab836ed7e6dc881de23001b"),
        ("550e8400-e29b-41d4-a716-446655440000", "a/550E8400-e29b-41d4-a716-446655440000.jsonl"),
        ("550e8400", "550e8400-e29b-41d4-a716-446655440000"),
        ("std::vector", "a std::vector<int>"),
        ("@scope/pkg".strip("@"), "npm i @scope/pkg"),
        ("c++", "in C++ and C#"),
        ("c#", "in C++ and C#"),
        ("2024-10-11", "at 2024-10-11T12:30:00Z"),
        ("__init__.py", "pkg/__init__.py"),
        ("getuserbyid", "obj.getUserById()"),
    ],
)
def test_an_identifier_is_found_whole(term: str, text: str) -> None:
    assert term in found(text)
    assert set(query(term).lexemes) & found(text)


def test_an_abbreviated_hash_finds_the_whole_and_the_reverse() -> None:
    whole, short = "3f786850e387550fdab836ed7e6dc881de23001b", "3f786850e3"
    assert set(query(short).terms) & found(whole)
    assert set(query(whole).terms) & found(short)


def test_positions_count_words_and_parts_in_order() -> None:
    cut = tokens("The getUserById of user")
    assert cut.positions["getuserbyid"] == cut.positions["get"] == [1]
    assert cut.positions["user"] == [2, 6]
    assert cut.positions["id"] == [4]
    assert cut.length == 7
    assert "the" not in cut.positions


@pytest.mark.parametrize("text", ["", "what did we do", "!?! ...", "--- ___ ***", "the and of"])
def test_function_words_and_punctuation_give_no_tokens(text: str) -> None:
    assert tokens(text).positions == {}


@given(any_text)
def test_any_text_can_be_cut(text: str) -> None:
    cut = tokens(text)
    for lexeme, places in cut.positions.items():
        assert 0 < len(lexeme) <= MAX_TOKEN_CHARS
        assert len(lexeme.encode()) <= MAX_TOKEN_BYTES
        assert places == sorted(places)
        assert places[-1] < cut.length
    assert not cut.truncated


@given(any_text | letters)
def test_every_word_of_a_text_finds_it(text: str) -> None:
    index = found(text)
    for word in text.split():
        assert set(query(word).lexemes) <= index | found(word)
    assert set(query(text).lexemes) <= index


@given(st.lists(st.from_regex(r"[a-z]{2,9}([_./-][a-z]{2,9}){0,3}", fullmatch=True), max_size=9))
def test_a_word_among_others_is_found_alone(words: list[str]) -> None:
    index = found(" ".join(words))
    assert all(set(query(word).lexemes) <= index for word in words)


def test_a_long_token_is_cut_and_marked() -> None:
    (lexeme,) = found("a1" * 200)
    assert lexeme == ("a1" * 32)[: MAX_TOKEN_CHARS - 1] + "\u2026"
    assert lexeme in query("a1" * 200).lexemes
    assert all(len(each.encode()) <= MAX_TOKEN_BYTES for each in found("\U00010400" * 100))


def test_text_beyond_the_limits_is_not_indexed_and_said_so() -> None:
    assert not tokens("word " * 100).truncated
    many = tokens(" ".join(f"w{number}" for number in range(MAX_TOKENS)))
    assert many.truncated
    assert "w0" in many.positions
    long = tokens("x" * MAX_CHARS + " beyond")
    assert long.truncated
    assert "beyond" not in long.positions


def test_an_image_in_base64_is_no_text() -> None:
    image = "iVBORw0KGgo" * 5_000
    assert found(f"data:image/png;base64,{image} shows") == {"data", "image/png", "imag", "png",
                                                             "base64", "base", "64", "show"}  # fmt: skip


HOSTILE = [
    *("a", "a/", "a.", "a-", "a_", "::", "aA", "a1", "--", "-", "/", ".", "@", "+", "#", "1."),
    *("\\n", "\u732b", "\ufdfa", "e\u0301", "v1.", "0a", "base64,", "C:\\", "a--"),
]


@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_text_is_cut_in_linear_time(unit: str) -> None:
    text = unit * (400_000 // len(unit))
    cut = tokens(text)
    assert isinstance(cut, Tokens)
    assert sum(map(len, cut.positions)) < 4_000_000
    query(text)


def test_marks_piled_on_a_letter_are_left_out_from_some_number_on() -> None:
    piled = "zalgo e" + "\u0316\u0301" * 50_000 + " end"
    assert len(normalised(piled)) <= len("zalgo e end") + MAX_MARKS
    assert {"zalgo", "end"} <= tokens(piled).positions.keys()
    kept = "e" + "\u0316" * MAX_MARKS + "\N{BULLET}" * 100
    assert normalised(kept) == kept
    assert "\u00abend\u00bb" in snippet(piled, ["end"])
