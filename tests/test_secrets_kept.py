"""Ordinary text stays as it is (F4), and hostile text takes no time to speak of."""

import base64
import hashlib
import sysconfig
import uuid
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.crud_secret import find, redact

# What stands in documentation as an example of a key, put together here.
EXAMPLE_ID = "AK" + "IAIOSFODNN7EXAMPLE"
EXAMPLE_SECRET = "wJalrXUtn" + "FEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"

ORDINARY = [
    "risk-averse",
    "task-123",
    "sk-learn",
    "sk-learn-contrib-something-long",
    "sk-circle-fade-dot-py3-v2",
    f"aws_access_key_id = {EXAMPLE_ID}",
    f"aws_secret_access_key = {EXAMPLE_SECRET}",
    "token: refreshed every hour",
    "the password is required",
    "password: str",
    'password: str = "changeme"',
    "password: ********",
    "password = getpass.getpass()",
    "password=args.password2",
    "PASSWORD=<your password>",
    "PASSWORD=$DB_PASSWORD",
    'PASSWORD="${DB_PASSWORD:-postgres}"',
    "password_file=/run/secrets/db1",
    "PWD=/home/user1",
    "password: (at least 8 characters)",
    "challenge_password: SetOfDirectoryString",
    'API_KEY=os.environ["X"]',
    "API_KEY=${API_KEY}",
    'api_key="YOUR_API_KEY_HERE"',
    "api_key: {{ api_key1 }}",
    "client.get(api_key=api_key2, x=1)",
    "token=token",
    "token=token1",
    "token = self.get_token(key1)",
    "token: ${{ secrets.GITHUB_TOKEN }}",
    '"token": "string"',
    "tokens=12345678",
    "max_tokens: 4096",
    "secret = hashlib.sha256(b'x1')",
    "secret_name: my-app-secret-v2",
    "private_key: Ed25519PrivateKey",
    'LOG_LEVEL_META_KEY = "io.modelcontextprotocol/logLevel"',
    "def get_token(key): return key",
    'key = "user:1234:profile"',
    'cache_key = "report_2024_10_11_v2"',
    'public_key = "ssh-ed25519 AAAA"',
    "postgres://user:password@localhost/db",
    "postgres://user:pass@localhost",
    "postgres://u:secret@localhost",
    "postgres://user:***@db",
    "postgres://u:$PASS@db",
    "postgres://u:<password>@db",
    "postgres://u:xxx@db",
    "postgres://u:example@db",
    "postgres://memory:memory@localhost:5433/memory",
    "https://user:changeme@x.org",
    "http://[::1]:8080/a@b",
    "Basic authentication is on",
    "Bearer authentication",
    "Bearer token-based-scheme",
    "-----BEGIN PRIVATE KEY-----",
    "'-----BEGIN RSA PRIVATE KEY-----' and '-----END RSA PRIVATE KEY-----' enclose it",
    "ghp_my_long_function_name_goes_here_again",
    "github_pat_your_token_name_goes_here",
    "sk-" + "ant-your-api-key-here",
    "docker run -u 1000:1000 --user app:app -v a:/b1",
    "ssh -u root:wheel host",
    "login with your password today",
    "login <name> password <password>",
    "auth=sha256hash0",
    "-----BEGIN PRIVATE KEY-----\nyour key here\n-----END PRIVATE KEY-----",
    "eyJhbGciOi is how a JWT begins",
    "[redacted:github-token]",
    "password=[redacted:assignment]",
    "Authorization: Bearer [redacted:bearer]",
    "PGPASSWORD=$PW1 psql -h db",
    "PGPASSWORD=password psql",
    "PGPASSWORD=... psql",
    "OLDPWD=/home/user1",
    "GHTOKEN=$GITHUB_TOKEN",
    "Passwort: vergessen",
    "Passwort: dein-passwort",
    "das Passwort ist nötig",
    "sshpass -p $PASS ssh host",
    "sshpass -p password ssh host",
    "sshpass -p <password> ssh host",
    "sshpass -p reads the password from its argument",
    "mysql -u root -p shop1",
    "mysql -u root -p$PW1 shop",
    "mysql -uroot -ppassword shop",
    "docker run --name mysql -p3306:3306 mysql:8",
    "docker run --name mysql -p 3306:3306 -e A=b mysql:8",
    "mysql; mkdir -p4b5c6d7e",
    "mkdir -p4b5c6d7e",
    "ssh -p2222abc host",
    "\u200brisk-averse\ufeff",
    "\uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff44\uff1a str",
    "the pass\u00adword is required",
]

# Passwords and keys in the standard library's documentation and examples.
IN_THE_LIBRARY = {("request.py", "assignment")}

WORDS = (
    "token key secret password auth api user get set from the a refreshed is hour "
    "risk task desk sk pk url http postgres monkey keyboard tokenizer compass bypass"
)
words = st.sampled_from(WORDS.split())
names = st.lists(words, min_size=1, max_size=4).flatmap(
    lambda parts: st.sampled_from(
        ["_".join(parts), "-".join(parts), parts[0] + "".join(map(str.title, parts[1:]))]
    )
)
digests = st.binary().map(lambda data: hashlib.sha256(data).hexdigest())
values = st.one_of(
    digests,
    digests.map(lambda digest: digest[:40]),
    digests.map(lambda digest: digest[:7]),
    st.uuids().map(str),
    st.integers(min_value=0).map(str),
    names,
)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text: str) -> None:
    for edges in ("{}", "see {}, ok", '"{}"', "({})", "`{}`", "\n{}\n"):
        written = edges.format(text) if "{" not in text else text
        assert redact(written) == (written, {})


@given(st.lists(st.one_of(names, values), max_size=20), st.sampled_from([" ", ", ", "\n", " - "]))
def test_names_numbers_and_digests_stay(parts: list[str], separator: str) -> None:
    text = separator.join(parts)
    assert redact(text) == (text, {})


@given(names, names, st.sampled_from(["{} = {}", "{}: {},", "{}={}", "def {}({}):", "{}.{}()"]))
def test_code_without_literals_stays(left: str, right: str, form: str) -> None:
    code = form.format(left, right)
    assert redact(code) == (code, {})


@given(st.text())
def test_the_findings_in_any_text_stand_within_it(text: str) -> None:
    assert all(0 <= found.start < found.end <= len(text) for found in find(text))


def test_an_image_stays() -> None:
    noise = b"".join(hashlib.sha512(bytes([a, b])).digest() for a in range(256) for b in range(64))
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        text = f'{{"url": "data:image/png;base64,{encode(noise).decode()}"}}'
        assert find(text) == []


def test_hashes_uuids_and_lock_files_stay() -> None:
    lines = []
    for number in range(2_000):
        digest = hashlib.sha512(str(number).encode()).digest()
        lines += [
            digest[:20].hex(),
            str(uuid.UUID(bytes=digest[:16])),
            f"sha256:{digest[:32].hex()}",
            f'"integrity": "sha512-{base64.b64encode(digest).decode()}"',
            f"name.py,sha256={base64.urlsafe_b64encode(digest[:32]).decode().rstrip('=')},1234",
            f"commit {digest[:20].hex()}  file-{digest[:6].hex()}.js",
        ]
    assert find("\n".join(lines)) == []


def test_the_standard_library_stays() -> None:
    found = set()
    size = 0
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        if {"site-packages", "test", "tests", "idle_test"} & set(path.parts):
            continue
        text = path.read_text("utf-8", errors="replace")
        size += len(text)
        found |= {(path.name, finding.kind) for finding in find(text)}
    assert size > 1_000_000
    assert found <= IN_THE_LIBRARY


HOSTILE = [
    *("a", "-", "\\", "'", '"\\"', "sk-", "ask-", "sk-a1", "ghp_", "AKIA", "eyJ", "eyJ."),
    *("eyJhbGciOiJub25lIn0.", "key=", "key:1", "password=", 'password="', "token1=", "--token "),
    *("a_key=a", "://", "a://b:c", "bearer ", "Basic ", "-----BEGIN ", "[redacted:", "aB3x/"),
    *("-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n" + "a" * 40 + "\n"),
    "pwd=abc1def ",
    *("sshpass -p ", "mysql a ", "mariadb -p", "\u200b", "\x1b[", "g\u200bhp_", "\ufe0f", "\uff53"),
]


@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_text_is_read_in_linear_time(unit: str) -> None:
    # No clock: the run's own time limit fails what is quadratic in a quarter of a million characters.
    text = unit * (250_000 // len(unit))
    once, _ = redact(text)
    assert redact(once) == (once, {})
