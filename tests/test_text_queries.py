"""Queries taken apart, and the passages that answer them."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.text import MAX_LEXEMES, MAX_QUERY_CHARS, query, snippet, tokens
from memory.text.cleaning import displayable
from memory.text.snippets import signs_of
from memory.text.words import analyse, chunk_pattern

any_text = st.text(st.characters(exclude_categories=()))
words = st.text("abcdefgxyz\u00e9\u0436_", min_size=1, max_size=9)


@pytest.mark.parametrize(
    "text",
    ["", " ", "what did we do", "!!! &|:* ()", '"to be or not"', "\x00", "the -- and", "\ud800"],
)
def test_a_query_without_a_searchable_word_is_empty(text: str) -> None:
    assert not query(text)


def test_a_query_is_taken_apart() -> None:
    asked = query('Why does "connection refused" come from getUserById in src/db/pool.py? E1234')
    assert asked.words == ("connect", "refus", "come", "get", "user", "id", "src", "db", "pool",
                           "py", "1234")  # fmt: skip
    assert asked.terms[0] == "getuserbyid"
    assert {"src/db/pool.py", "db/pool.py", "pool.py", "e1234"} >= set(asked.terms) - {
        "getuserbyid", "src/db/pool", "db/pool"
    }  # fmt: skip
    assert asked.phrases == ("connection refused",)
    assert asked.ids == ()
    assert not asked.truncated


def test_words_are_asked_for_once() -> None:
    assert query("test tests TESTING tested").words == ("test",)
    assert query("user user_id user").lexemes == ("user", "id", "user_id")


def test_operators_of_search_languages_are_punctuation() -> None:
    assert (
        query("foo & bar | !baz:* <-> (qux) 'x' \\ -v").lexemes
        == query("foo bar baz qux x v").lexemes
    )


@pytest.mark.parametrize("form", ['"{}"', "\u201c{}\u201d", "\u201e{}\u201c", "\u00ab{}\u00bb"])
def test_quoted_words_are_a_phrase(form: str) -> None:
    assert query("find " + form.format("Shared  Memory's\n ledger")).phrases == (
        "Shared Memory's ledger",
    )


def test_ids_are_kept_as_written() -> None:
    uuid = "550E8400-E29B-41D4-A716-446655440000"
    asked = query(f"{uuid} msg_01AbCdEfGhIj3 3f786850e387 toolu_vrtx_01 deadline ses_abcdef12345")
    assert asked.ids == (uuid.lower(), "msg_01AbCdEfGhIj3", "3f786850e387", "ses_abcdef12345")
    assert query(f"see {uuid}").terms[0] == uuid.lower()


def test_a_long_query_is_cut_and_said_so() -> None:
    assert query("word " * 10_000).truncated
    many = query(" ".join(f"w{number}x" for number in range(200)))
    assert many.truncated
    assert len(many.words) <= MAX_LEXEMES
    assert len(many.terms) <= MAX_LEXEMES
    assert not query("x" * MAX_QUERY_CHARS).truncated


@given(any_text)
def test_any_query_can_be_read(text: str) -> None:
    asked = query(text)
    assert bool(asked) == bool(asked.lexemes)
    assert all("".join(phrase.split()) for phrase in asked.phrases)


FILLER = "Lorem ipsum dolor sit amet. " * 30


def test_a_snippet_shows_the_passage_with_the_most_terms() -> None:
    text = f"{FILLER}user. {FILLER}The getUserById call failed for this user. {FILLER}"
    shown = snippet(text, query("user id failed").lexemes, width=80)
    assert "\u00abgetUserById\u00bb call \u00abfailed\u00bb for this \u00abuser\u00bb" in shown
    assert shown.startswith("\u2026")
    assert shown.endswith("\u2026")


def test_a_short_text_is_shown_whole() -> None:
    assert snippet("The tests\n  ran.", query("test").lexemes) == "The \u00abtests\u00bb ran."
    assert snippet("nothing here", query("test").lexemes) == "nothing here"
    assert snippet("", ["a"]) == ""


def test_a_snippet_without_a_match_is_the_beginning() -> None:
    assert snippet(FILLER, ["zebra"], width=20) == "Lorem ipsum dolor\u2026"
    assert snippet(FILLER, [], width=20) == "Lorem ipsum dolor\u2026"


def test_marks_can_be_chosen_and_cjk_is_marked_in_place() -> None:
    text = "\u4eca\u65e5\u306f\u9ed2\u732b\u304c\u597d\u304d\u3067\u3059"
    asked = query("\u9ed2\u732b").lexemes
    shown = snippet(text, asked, marks=("<b>", "</b>"))
    assert shown == text.replace("\u9ed2\u732b", "<b>\u9ed2\u732b</b>")


def test_a_match_wider_than_the_snippet_is_marked_as_far_as_it_is_shown() -> None:
    shown = snippet("see " + "a/" * 200 + "b", query("a/" * 200 + "b").lexemes, width=40)
    assert len(shown) <= 40 + 4
    assert "\u00aba/a/" in shown


def test_a_snippet_is_safe_to_display() -> None:
    shown = snippet("\x1b[31mred\u202e alert\x00", query("alert").lexemes)
    assert shown == "red \u00abalert\u00bb\u2400"


@given(
    st.lists(words, min_size=1, max_size=80),
    st.integers(min_value=0),
    st.sampled_from([" ", "\n", ", ", "  "]),
    st.integers(min_value=20, max_value=120),
)
def test_a_snippet_holds_a_match_and_is_bounded(
    parts: list[str], chosen: int, separator: str, width: int
) -> None:
    text = separator.join(parts)
    word = parts[chosen % len(parts)]
    terms = query(word).lexemes
    shown = snippet(text, terms, width=width)
    plain = shown.replace("\u00ab", "").replace("\u00bb", "").strip("\u2026")
    assert len(plain) <= width
    assert " ".join(plain.split()) in " ".join(text.split())
    assert ("\u00ab" in shown) == bool(terms)
    if terms:
        marked = shown.partition("\u00ab")[2].partition("\u00bb")[0]
        assert set(terms) & set(tokens(marked).positions)


@given(any_text, st.lists(words, max_size=3), st.integers(min_value=1, max_value=50))
def test_any_text_has_a_snippet(text: str, terms: list[str], width: int) -> None:
    shown = snippet(text, terms, width=width, marks=("", ""))
    assert len(shown) <= width + 2
    assert "\n" not in shown
    assert displayable(shown) == shown


@pytest.mark.parametrize("unit", ["a ", "a/", "\u732b", "b ", "a\u0301"])
def test_a_snippet_of_hostile_text_takes_linear_time(unit: str) -> None:
    text = unit * (400_000 // len(unit))
    assert len(snippet(text, ["a", "\u732b", "zebra"], width=200, marks=("", ""))) <= 202


WRITTEN = st.one_of(
    st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=80),
    st.from_regex(r"[A-Za-z]{1,12}(ying|ies|ied|ly|y|ing|ed|s)?([_./:@-]{1,2}\w{1,6}){0,4}"),
    st.sampled_from(
        ["dying", "skies", "idly", "a//b.py", "C++", "--no-verify", "v1.2.3", "x" * 99]
    ),
)


@given(WRITTEN)
def test_no_chunk_is_passed_over_that_gives_a_lexeme(written: str) -> None:
    for chunk in chunk_pattern(written).findall(written):
        normal = unicodedata.normalize("NFKC", chunk)
        lowered = chunk.replace("\u0130", "i").lower()
        assert len(lowered) == len(chunk)
        for lexeme, _, _ in analyse(normal)[0]:
            assert signs_of([lexeme]).search(lowered), (chunk, lexeme)


def test_what_is_no_beginning_and_no_phrase_is_kept_apart() -> None:
    parsed = query('fo* a* foo* 2*3 **bold** "to be" "foo bar" "!"')
    assert parsed.short == ("fo*", "a*")
    assert parsed.beginnings == ("foo*",)
    assert (parsed.phrases, parsed.silent) == (("foo bar",), ("to be", "!"))
