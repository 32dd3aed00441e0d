"""The quick scan finds what every rule finds that is tried by itself at every place of a text."""

import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted import ALL

from memory.crud_secret import anchors, assignments, blocks, find, logins, prefixes, redact_json
from memory.crud_secret import scan as scanning
from memory.crud_secret.anchors import Anchors, encoded
from memory.crud_secret.veils import unveil
from memory.text import clean, displayable

EXACT = (*prefixes.ANCHORS, *blocks.ANCHORS, *logins.ANCHORS)
WORDS = (*logins.WORDS, *assignments.WORDS)
# Halves of anchors, words that hold one, signs that patterns ask for, veils, letters that ignore
# case beyond ASCII, halves of characters, and characters of every length in UTF-8.
PIECES = [
    *"\n\t \"'`=:()[]{}<>@/\\.,;-_%$&|+*#0aA",
    *("sk", "-ant-", "pass", "word", "PASS", "Key", "KEY", "token", "secret", "bypass", "monkey"),
    *(
        "auth",
        "author",
        "Bearer ",
        "basic ",
        "login ",
        " -u ",
        "--user=",
        "mysql -p",
        "sshpass -p ",
    ),
    *(
        "://",
        "a://b:c0d1e2f3@d",
        "-----BEGIN ",
        "PRIVATE KEY-----",
        "eyJ",
        "AKIA",
        "SK",
        "SG.",
        ":AA",
    ),
    *(
        "12345678",
        "hunter2x9Q!",
        "export ",
        "PGPASSWORD=",
        "\\n",
        "\\u0022",
        "[redacted:",
        "EXAMPLE",
    ),
    *("to\u212aen", "\u212aey=", "author\u0130zation", "\u0131", "\u017f"),
    *(
        "\x1b[31m",
        "\x1b]0;t\x07",
        "\x9b1m",
        "\u200b",
        "\u202e",
        "\ufeff",
        "\ufe0f",
        "\ufe0e",
        "\x00",
    ),
    *("\uff53\uff4b", "\U0001d5c9", "\x0b", "\u2028", "\ud800", "\udc00", "é", "鍵", "🔑"),
]
SECRETS = st.builds(
    lambda name, seed: ALL[name](seed).text, st.sampled_from(sorted(ALL)), st.text(max_size=3)
)
TEXTS = st.lists(st.one_of(st.sampled_from(PIECES), SECRETS, st.text(max_size=8)), max_size=30).map(
    "".join
)


class Everywhere:
    """Has every rule tried alone: a word's pattern at each character, a prefix' where it stands."""

    def places(self, text: str, _written: bytes) -> dict[str, Sequence[int]]:
        found: dict[str, Sequence[int]] = dict.fromkeys(WORDS, range(len(text)))
        for anchor in EXACT:
            found[anchor] = [at for at in range(len(text)) if text.startswith(anchor, at)]
        return found


def test_no_rule_finds_anything_that_the_quick_scan_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    @given(text=TEXTS)
    def same(text: str) -> None:
        quick = find(text)
        with monkeypatch.context() as patched:
            patched.setattr(scanning, "_ANCHORS", Everywhere())
            assert find(text) == quick

    same()


@pytest.mark.parametrize("chunk", [1, 7, 64])
def test_an_anchor_across_two_chunks_is_found_once(
    chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anchors, "CHUNK", chunk)
    search = Anchors(exact=EXACT, words=WORDS)

    @given(text=TEXTS)
    def same(text: str) -> None:
        found = search.places(text, encoded(text))
        lowered = text.replace("\u0130", "i").lower()
        expected = {name: list(_found(text, name)) for name in EXACT}
        expected |= {name: list(_found(lowered, name)) for name in WORDS}
        assert {name: list(places) for name, places in found.items()} == {
            name: places for name, places in expected.items() if places
        }

    same()


def test_only_two_characters_beyond_ascii_have_a_letter_of_it_as_lower_case() -> None:
    letters = {char for char in map(chr, range(0x80, 0x110000)) if char.lower()[:1].isascii()}
    assert letters == {"\u212a", "\u0130"}


@given(text=TEXTS)
def test_an_unveiled_text_is_what_display_shows_and_knows_where_it_stood(text: str) -> None:
    text = clean(text)[0]
    shown = unveil(text, encoded(text))
    if shown is None:
        assert _plain(displayable(text)) == _plain(text)
        return
    assert _plain(displayable(shown.text)) == _plain(shown.text)
    places = [shown.written(index, index + 1)[0] for index in range(len(shown.text))]
    assert places == sorted(set(places))
    for char, place in zip(shown.text, places, strict=True):
        assert char in {text[place], unicodedata.normalize("NFKC", text[place]), "\n"}
    for place in range(len(text)):
        assert shown.shown(place) == bisect_left(places, place)


@given(
    value=st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), TEXTS),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(
                st.one_of(st.sampled_from(["password", "apiKeys", "p\u200bwd", "n"]), TEXTS),
                inner,
                max_size=3,
            ),
        ),
        max_leaves=6,
    )
)
def test_a_json_value_that_comes_back_itself_holds_nothing(value: object) -> None:
    redacted, counts = redact_json(value)
    assert (redacted is value) == (not counts) or isinstance(value, str)
    assert redact_json(redacted) == (redacted, {})


def _plain(text: str) -> str:
    """Leave the line ends out, which `displayable` writes in one way."""
    return "".join(text.splitlines())


def _found(text: str, anchor: str) -> Iterator[int]:
    start = text.find(anchor)
    while start >= 0:
        yield start
        start = text.find(anchor, start + 1)
