"""Planted credentials of every kind, in any surroundings, are found and gone (F1-F3)."""

import json
import traceback
import unicodedata
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted import ALL, ASSIGNED, OPEN_ENDED, PREFIXED, Planted, private_key

from memory.crud_secret import Finding, find, redact, redact_json, refuse
from memory.errors import Credential, InvalidInput
from memory.text import displayable

Plant = Callable[[str], Planted]

seeds = st.text(min_size=1, max_size=8)
plants = st.sampled_from(sorted(ALL))
# What may stand directly before and after: everything but what would make the token longer.
before = st.sampled_from(
    [*" \n\t\"'`(,>|{", "", '\\"', "\\n", "\\t", "\\u0022", "%20", "\x1b[32m", "= ", "; ", "\u201c"]
)
after = st.sampled_from([*" \n\t\"'`),;<|}", "", '\\"', "\\n", "\u201d", "\x1b[0m"])
prose = st.lists(
    st.sampled_from(
        ["the", "deploy", "failed", "because", "réseau", "42", "ключ", "鍵", "ran,", "log.", "It's"]
    ),
    max_size=12,
).map(" ".join)


@pytest.mark.parametrize("plant", ALL.values(), ids=ALL.keys())
def test_a_credential_is_found_as_its_kind(plant: Plant) -> None:
    for seed in map(str, range(200)):
        planted = plant(seed)
        text, counts = redact(planted.text)
        assert planted.secret not in text, seed
        assert counts == {planted.kind: 1}, (seed, counts)


@given(name=plants, seed=seeds, left=st.text(max_size=60), right=st.text(max_size=60))
def test_no_surroundings_hide_a_credential(name: str, seed: str, left: str, right: str) -> None:
    planted = ALL[name](seed)
    text, counts = redact(f"{left} {planted.text} {right}")
    assert planted.secret not in text
    assert counts[planted.kind] >= 1
    assert redact(text) == (text, {})


@given(name=plants, seed=seeds, edges=st.tuples(before, after), around=st.tuples(prose, prose))
def test_nothing_but_the_credential_is_replaced(
    name: str, seed: str, edges: tuple[str, str], around: tuple[str, str]
) -> None:
    planted = ALL[name](seed)
    # Without an edge the words would be the token's own.
    left = around[0] + edges[0] if edges[0] else ""
    blank = " " if name in OPEN_ENDED else ""
    right = blank + edges[1] + around[1] if edges[1] else ""
    text, counts = redact(left + planted.text + right)
    assert counts == {planted.kind: 1}
    whole = text.removeprefix(left).removesuffix(right)
    assert left + whole + right == text
    assert whole.count("[redacted:") == 1
    kept_before, _, kept_after = whole.partition(f"[redacted:{planted.kind}]")
    assert planted.text.startswith(kept_before)
    assert planted.text.endswith(kept_after)
    assert redact(text) == (text, {})


@given(texts=st.lists(st.tuples(plants, seeds, prose), max_size=5))
def test_findings_are_ordered_and_apart(texts: list[tuple[str, str, str]]) -> None:
    text = "\n".join(f"{words} {ALL[name](seed).text}" for name, seed, words in texts)
    findings = find(text)
    assert len(findings) == len(texts)
    for one, next_one in pairwise(findings):
        assert one.start < one.end <= next_one.start


@given(text=st.text(), parts=st.lists(st.sampled_from(["sk-", "key=", "ghp_", "eyJ", "://", ":"])))
def test_redacting_any_text_twice_changes_nothing_more(text: str, parts: list[str]) -> None:
    mixed = text.join(parts)
    once, _ = redact(mixed)
    assert redact(once) == (once, {})


def test_a_finding_never_shows_the_credential() -> None:
    planted = PREFIXED["github classic"]("a")
    (finding,) = find(f"see {planted.text}.")
    assert finding == Finding("github-token", 4, 4 + len(planted.text))
    assert planted.secret not in repr(finding)


@pytest.mark.parametrize(
    "glue", ["token={}", "?key={}&a=1", "'{}',", '{{\\"a\\":\\"{}\\"}}', "[{}](x)"]
)
def test_a_token_glued_to_other_text_is_found(glue: str) -> None:
    for name, plant in PREFIXED.items():
        text = glue.format(plant("g").text)
        redacted, counts = redact(text)
        assert plant("g").secret not in redacted, name
        assert sum(counts.values()) == 1, name


def test_the_most_specific_kind_names_a_finding() -> None:
    token = PREFIXED["github classic"]("n").text
    assert [found.kind for found in find(f"Authorization: Bearer {token}")] == ["github-token"]
    assert [found.kind for found in find(f"API_TOKEN={token}")] == ["github-token"]
    assert redact(f'password="a1!{token}"')[0] == 'password="[redacted:github-token]"'


@pytest.mark.parametrize(
    "tail",
    [
        "abcdefghijklmnop1234567890",
        "test1234567890abcdef",
        "a" * 48,
        "x" * 20,
        "1234567890abcdef1234567890abcdef",
        "550e8400-e29b-41d4-a716-446655440000",
    ],
)
def test_an_sk_key_of_realistic_length_is_refused(tail: str) -> None:
    with pytest.raises(Credential):
        refuse("my key is sk-" + tail, where="content")
    with pytest.raises(Credential):
        refuse("sk-" + "ant-api03-" + tail, where="content")


def test_a_refusal_names_kind_and_place_and_never_the_credential() -> None:
    secret = PREFIXED["openai project"]("r").text
    for value in (f"use {secret}", {"a": [{"b": secret}]}, {secret: 1}, [["x", secret]]):
        with pytest.raises(Credential) as caught:
            refuse(value, where="payload")
        error = caught.value
        assert error.code == "credential"
        assert "openai-key" in str(error)
        assert "in payload" in str(error)
        shown = "".join(traceback.format_exception(error)) + repr(error.details)
        assert secret not in shown
        assert error.details == {"kinds": ["openai-key"], "where": "payload"}


def test_ordinary_values_are_not_refused() -> None:
    for value in ("risk-averse", {"a": [1, None, True, 1.5, "task-123"]}, 7, None):
        refuse(value, where="content")


@pytest.mark.parametrize("key", ["password", "db_password", "apiKey", "API_KEY", "clientSecret"])
def test_a_json_member_named_like_a_secret_is_redacted(key: str) -> None:
    value = {"user": "ann", key: "hunter2" * 2 + "Xy9z", "n": 1}
    redacted, counts = redact_json(value)
    assert redacted == {"user": "ann", key: "[redacted:assignment]", "n": 1}
    assert counts == {"assignment": 1}
    with pytest.raises(Credential):
        refuse(value, where="payload")


def test_json_is_redacted_in_lists_keys_and_depth() -> None:
    first, second = (PREFIXED["npm"](seed).text for seed in "ab")
    value = {first: [f"a {second}", {"passwords": ["hunter2" * 2]}], second: 2}
    redacted, counts = redact_json(value)
    assert redacted == {
        "[redacted:npm-token]": [
            "a [redacted:npm-token]",
            {"passwords": ["[redacted:assignment]"]},
        ],
        "[redacted:npm-token] (2)": 2,
    }
    assert counts == {"npm-token": 3, "assignment": 1}
    assert redact_json(redacted) == (redacted, {})


@given(name=st.sampled_from(sorted(ASSIGNED)), seed=seeds)
def test_json_within_json_holds_no_credential_after_redaction(name: str, seed: str) -> None:
    planted = ASSIGNED[name](seed)
    nested = {"output": json.dumps({"text": planted.text, "more": [planted.text]})}
    redacted, _ = redact_json(nested)
    assert planted.secret not in json.dumps(redacted)
    json.loads(redacted["output"])


def test_json_that_is_nested_too_deep_is_refused_as_input() -> None:
    value: object = "x"
    for _ in range(5_000):
        value = [value]
    with pytest.raises(InvalidInput, match="nested"):
        redact_json(value)


def test_a_cut_off_key_is_redacted_to_its_last_line() -> None:
    planted = private_key("cut", end=False)
    text, counts = redact(f"cat key\n{planted.text}\nand then prose goes on")
    assert text == "cat key\n[redacted:private-key]\nand then prose goes on"
    assert counts == {"private-key": 1}


# What an answer strips on display, and what it strips with its neighbours.
VEILS = ["\u200b", "\u202e", "\u00ad", "\ufeff", "\U000e0041", "\x08", "\x1b[31m", "\u2060\u200d"]


@pytest.mark.parametrize("veil", VEILS, ids=map(ascii, VEILS))
def test_a_hidden_character_hides_no_credential(veil: str) -> None:
    for name, plant in ALL.items():
        planted = plant("h")
        middle = planted.text.index(planted.secret) + len(planted.secret) // 2
        places = {planted.text.index(planted.secret) + 2, middle}
        for place in places:
            written = planted.text[:place] + veil + planted.text[place:]
            text, counts = redact(f"see {written} there")
            assert planted.secret not in displayable(text), (name, place)
            assert planted.text[middle:][:8] not in text or name.startswith("pem"), (name, place)
            assert sum(counts.values()) >= 1
            assert redact(text) == (text, {})
            with pytest.raises(Credential):
                refuse({"a": [written]}, where="payload")


@given(name=st.sampled_from(sorted(PREFIXED)), seed=seeds, veil=st.sampled_from(VEILS))
def test_a_veil_between_all_characters_is_redacted_with_the_token(
    name: str, seed: str, veil: str
) -> None:
    planted = PREFIXED[name](seed)
    text, counts = redact(f"see {veil.join(planted.text)} there")
    assert counts == {planted.kind: 1}
    assert text.endswith(f"[redacted:{planted.kind}] there")


def test_no_rest_of_a_token_stays_behind_a_hidden_character() -> None:
    token = PREFIXED["github classic"]("r").text + "word"
    for veil in ("\u200b", "\u202e"):
        assert redact(f"a {token[:-4]}{veil}word b")[0] == "a [redacted:github-token] b"


def test_a_colour_after_a_token_does_not_make_the_next_word_its_own() -> None:
    token = PREFIXED["github classic"]("r").text
    assert redact(f"{token}\x1b[0mdeploy")[0] == "[redacted:github-token]\x1b[0mdeploy"
    assert redact(f"{token[:30]}\x1b[0m{token[30:]}")[0] == "[redacted:github-token]"


def test_a_full_width_credential_is_found() -> None:
    for name, plant in ALL.items():
        planted = plant("w")
        wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in planted.text)
        text, counts = redact(wide)
        assert counts == {planted.kind: 1}, name
        assert planted.secret not in unicodedata.normalize("NFKC", text), name


def test_a_hidden_character_in_a_key_or_its_value_hides_no_secret() -> None:
    secret = "hunter2" * 2 + "Xy9z"
    for veil in VEILS:
        value = {f"pass{veil}word": secret, "password": secret[:5] + veil + secret[5:]}
        redacted, counts = redact_json(value)
        assert counts == {"assignment": 2}
        assert set(redacted.values()) == {"[redacted:assignment]"}
        token = PREFIXED["github classic"]("k").text
        assert redact_json({token[:9] + veil + token[9:]: 1})[0] == {"[redacted:github-token]": 1}


PASSWORD = "s3cr" + "3tXq9"


@pytest.mark.parametrize(
    "form",
    [
        "PGPASSWORD={} psql -h db",
        "run PGPASSWORD='{}' psql",
        "MYSQLPWD={}",
        "PGPASSWD={}",
        "Passwort: {}",
        '"passwort": "{}"',
        "sshpass -p {} ssh pi@host",
        "sshpass -p '{}' ssh pi@host",
        "sshpass -p{} scp a b:",
        "sshpass -v -p {} ssh b",
        'run("sshpass -p \\"{}\\" ssh b")',
        "mysql -uroot -p{} shop",
        "mysql -u root -h db -p'{}' < dump.sql",
        "mysqldump --all-databases -p{} > a.sql",
        "docker exec db mariadb -u root -p{}",
        "/usr/bin/mysql -p{}",
    ],
)
def test_a_password_on_a_command_line_or_in_german_is_found(form: str) -> None:
    for password in (PASSWORD, "kX!z" + "PwRt" + "vB"):
        text, counts = redact(form.format(password))
        assert password not in text
        assert sum(counts.values()) == 1


def test_a_short_password_of_a_shell_variable_is_found() -> None:
    for password in ("s3c" + "r3t", "kXqz" + "PwRt", "hunt" + "er22"):
        assert redact(f"PGPASSWORD={password} psql")[0] == "PGPASSWORD=[redacted:assignment] psql"
    for name in ("GHTOKEN", "APPSECRET"):
        assert redact(f"{name}={PASSWORD}7a1b2c")[0] == f"{name}=[redacted:assignment]"
