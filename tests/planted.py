"""Credentials for tests, made at run time so that none stands in the tree."""

import base64
import hashlib
import json
import string
from collections.abc import Callable
from dataclasses import dataclass

BASE62 = string.ascii_letters + string.digits
BASE64URL = BASE62 + "-_"
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + "234567"


@dataclass(frozen=True)
class Planted:
    """A credential, the text it comes in, and the kind it is to be found as."""

    kind: str
    text: str
    secret: str


def body(seed: str, alphabet: str, length: int) -> str:
    """Return random-looking characters that depend on the seed alone."""
    drawn: list[str] = []
    block = hashlib.sha512(seed.encode()).digest()
    while len(drawn) < length:
        drawn += [alphabet[byte % len(alphabet)] for byte in block]
        block = hashlib.sha512(block).digest()
    return "".join(drawn[:length])


def _prefixed(
    kind: str, prefix: str, alphabet: str, length: int, *, last: str = "a"
) -> Callable[[str], Planted]:
    def plant(seed: str) -> Planted:
        # The last character is a letter, so that the token's end is plain to see.
        secret = prefix + body(seed, alphabet, length - 1) + last
        return Planted(kind, secret, secret)

    return plant


def _inside(
    kind: str, before: str, alphabet: str, length: int, after: str = ""
) -> Callable[[str], Planted]:
    def plant(seed: str) -> Planted:
        secret = body(seed, alphabet, length - 2) + "7a"
        return Planted(kind, before + secret + after, secret)

    return plant


def _telegram(secret: str) -> Planted:
    return Planted("telegram-token", "1234567890:" + secret, secret)


def jwt(seed: str) -> Planted:
    """Return a signed token of three parts."""
    parts = (
        json.dumps({"alg": "HS256", "typ": "JWT"}).encode(),
        json.dumps({"sub": seed[:8], "iat": 1}).encode(),
        hashlib.sha256(seed.encode()).digest(),
    )
    token = ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)
    return Planted("jwt", token, token)


def private_key(
    seed: str, *, name: str = "RSA ", line_end: str = "\n", end: bool = True
) -> Planted:
    """Return a PEM block, whole or without its last line."""
    lines = [body(seed + str(number), BASE62 + "+/", 64) for number in range(6)]
    block = ["-----BEGIN " + name + "PRIVATE KEY-----", *lines, body(seed, BASE62, 30) + "=="]
    if end:
        block.append("-----END " + name + "PRIVATE KEY-----")
    text = line_end.join(block)
    return Planted("private-key", text, lines[3])


def basic(seed: str) -> Planted:
    """Return a header with user and password."""
    pair = base64.b64encode(f"user:{body(seed, BASE62, 12)}".encode()).decode()
    return Planted("basic", "Authorization: Basic " + pair, pair)


def _stored(before: str, seed: str, after: str) -> Planted:
    pair = basic(seed).secret
    return Planted("basic", before + pair + after, pair)


def _small_key(secret: str) -> Planted:
    begin, end = "-----BEGIN " + "PRIVATE KEY-----", "-----END " + "PRIVATE KEY-----"
    return Planted("private-key", f"{begin}\n{secret}\n{end}", secret)


PREFIXED: dict[str, Callable[[str], Planted]] = {
    "anthropic": _prefixed("anthropic-key", "sk-" + "ant-api03-", BASE64URL, 95),
    "anthropic oauth": _prefixed("anthropic-key", "sk-" + "ant-oat01-", BASE64URL, 95),
    "openai project": _prefixed("openai-key", "sk-" + "proj-", BASE64URL, 120),
    "openai legacy": _prefixed("openai-key", "sk-", BASE62, 48),
    "github classic": _prefixed("github-token", "gh" + "p_", BASE62, 36),
    "github oauth": _prefixed("github-token", "gh" + "o_", BASE62, 36),
    "github server": _prefixed("github-token", "gh" + "s_", BASE62, 36),
    "github fine": _prefixed("github-token", "github" + "_pat_11AB", BASE62 + "_", 70),
    "gitlab": _prefixed("gitlab-token", "gl" + "pat-", BASE62, 20),
    "gitlab runner": _prefixed("gitlab-token", "gl" + "rt-t1_", BASE62, 20),
    "aws id": _prefixed("aws-key-id", "AK" + "IA", UPPER, 16, last="A"),
    "google": _prefixed("google-key", "AI" + "za", BASE64URL, 35),
    "google oauth secret": _prefixed("google-oauth-secret", "GOC" + "SPX-", BASE64URL, 28),
    "google oauth token": _prefixed("google-oauth-token", "ya" + "29.a0", BASE64URL, 120),
    "slack bot": _prefixed("slack-token", "xo" + "xb-123456789012-1234567890123-", BASE62, 24),
    "slack user": _prefixed("slack-token", "xo" + "xp-123456789012-1234567890123-", BASE62, 32),
    "slack app": _prefixed("slack-token", "xa" + "pp-1-A0123456789-", HEX, 64),
    "slack hook": _inside(
        "slack-webhook", "https://hooks." + "slack.com/services/T01234567/B01234567/", BASE62, 24
    ),
    "stripe live": _prefixed("stripe-key", "sk" + "_live_", BASE62, 24),
    "stripe test": _prefixed("stripe-key", "sk" + "_test_", BASE62, 24),
    "stripe restricted": _prefixed("stripe-key", "rk" + "_live_", BASE62, 24),
    "stripe hook": _prefixed("stripe-webhook-secret", "wh" + "sec_", BASE62, 32),
    "npm": _prefixed("npm-token", "np" + "m_", BASE62, 36),
    "pypi": _prefixed("pypi-token", "py" + "pi-AgEIcHlwaS5vcmc", BASE64URL, 120),
    "hugging face": _prefixed("huggingface-token", "h" + "f_", string.ascii_letters, 34),
    "sendgrid": _prefixed(
        "sendgrid-key", "S" + "G." + body("id", BASE64URL, 22) + ".", BASE64URL, 43
    ),
    "twilio": _prefixed("twilio-key", "S" + "K", HEX, 32),
    "digitalocean": _prefixed("digitalocean-token", "do" + "p_v1_", HEX, 64),
    "databricks": _prefixed("databricks-token", "da" + "pi", HEX, 32),
    "telegram": lambda seed: _telegram("A" + "A" + body(seed, BASE62, 33)),
    "vault": _prefixed("vault-token", "hv" + "s.", BASE62, 24),
    "groq": _prefixed("service-token", "g" + "sk_", BASE62, 52),
    "xai": _prefixed("service-token", "x" + "ai-", BASE62, 80),
}
SHAPED: dict[str, Callable[[str], Planted]] = {
    "jwt": jwt,
    "pem": private_key,
    "pem, PKCS 8": lambda seed: private_key(seed, name=""),
    "pem, OpenSSH": lambda seed: private_key(seed, name="OPENSSH "),
    "pem in JSON": lambda seed: private_key(seed, line_end="\\n"),
    "pem in JSON in JSON": lambda seed: private_key(seed, line_end="\\\\n"),
    "pem, Windows": lambda seed: private_key(seed, line_end="\r\n"),
    "pem, cut off": lambda seed: private_key(seed, end=False),
    "pem, numbered": lambda seed: private_key(seed, line_end="\n    12\u2192"),
    "basic": basic,
    "bearer": _inside("bearer", "Authorization: Bearer ", BASE62, 32),
    "url": _inside("url-password", "postgres://app:", BASE62, 14, "@db.internal:5432/app"),
    "url with token": _inside("url-password", "https://oauth2:", BASE62, 24, "@git.internal/a.git"),
    "url with token alone": _inside("url-password", "https://", BASE62, 40, "@git.internal/a.git"),
    "curl": _inside("login", "curl -u admin:", BASE62, 14, " https://api.internal"),
    "curl, quoted": _inside("login", "curl --user 'admin:", BASE62, 14, "' https://api.internal"),
    "netrc": _inside("login", "machine api.internal login ann password ", BASE62, 14),
    "docker": lambda seed: _stored('{"auths": {"r.internal": {"auth": "', seed, '"}}}'),
    "npmrc, basic": lambda seed: _stored("//registry.internal/:_auth=", seed, ""),
    "pem, small": lambda seed: _small_key(body(seed, BASE62, 18)),
    "redis": _inside("url-password", "redis://:", BASE62, 14, "@cache:6379/0"),
}

ASSIGNED: dict[str, Callable[[str], Planted]] = {
    name: _inside("assignment", before, alphabet, length, after)
    for name, (before, alphabet, length, after) in {
        "env": ("DB_PASSWORD=", BASE62, 16, ""),
        "env, exported": ("export MAIL_API_KEY=", BASE62, 32, ""),
        "env, quoted": ('SESSION_SECRET="', BASE62, 32, '"'),
        "env, with signs": ("export DB_PASSWORD=Q", BASE62 + "&|;,{}!#@", 24, ""),
        "django": ("SECRET_KEY = 'django-insecure-", BASE62 + "!@#$%^&*(-_=+)", 50, "'"),
        "quoted, with signs": ('  "password": "', BASE62 + "!@#$%^&*(-_=+)[]{}<>", 20, '"'),
        "env, any key": ("MAPS_KEY=", BASE62, 32, ""),
        "ini": ("aws_secret_access_key = ", BASE62 + "/", 40, ""),
        "yaml": ("password: ", BASE62, 14, ""),
        "yaml, quoted": ("  client_secret: '", BASE62, 30, "'"),
        "json": ('{"password": "', BASE62, 14, '"}'),
        "json, camel": ('{"apiKey":"', BASE62, 32, '"}'),
        "json in json": ('"{\\"token\\": \\"', HEX, 40, '\\"}"'),
        "json in json in json": ('{\\\\\\"secret\\\\\\":\\\\\\"', HEX, 40, '\\\\\\"}'),
        "python": ('api_key = "', BASE62, 32, '"'),
        "python, typed": ('password: str = "', BASE62, 14, '"'),
        "python, dict": ('os.environ["AUTH_TOKEN"] = "', BASE62, 32, '"'),
        "python, keyword": ("connect(user='a', passwd='", BASE62, 14, "')"),
        "typescript": ('const accessToken: string = "', BASE62, 32, '"'),
        "go": ('dbPassword := "', BASE62, 14, '"'),
        "ruby": (":password => '", BASE62, 14, "'"),
        "xml": ("<password>", BASE62, 14, "</password>"),
        "option": ("mysqldump --password ", BASE62, 14, ""),
        "option, equals": ("login --token=", BASE62, 32, ""),
        "header": ("X-Api-Key: ", BASE62, 32, ""),
        "header, token": ("Authorization: token ", HEX, 40, ""),
        "azure": ("AccountName=a;AccountKey=", BASE62 + "+/", 86, "=="),
        "npmrc": ("//registry.internal/:_authToken=", HEX, 40, ""),
        "query": ("https://api.internal/v1?api_key=", BASE62, 32, "&x=1"),
    }.items()
}

ALL: dict[str, Callable[[str], Planted]] = {**PREFIXED, **SHAPED, **ASSIGNED}

# Without quotes these go on to the next blank, whatever sign comes before it.
OPEN_ENDED = {"curl", "netrc", "env", "env, exported", "env, with signs", "env, any key"}
