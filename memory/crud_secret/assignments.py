"""Secrets known by the name they are assigned to: ``DB_PASSWORD=…``, ``"api_key": "…"``."""

import re
from collections.abc import Iterator
from typing import Final, Literal

from memory.crud_secret.values import is_placeholder, is_reference, is_wordy, random_length

__all__ = ["find_assigned", "is_secret_under"]

LONGEST_VALUE: Final = 512
"""Characters of an assigned value that are read."""

_Strength = Literal["password", "token", "key"]

_ANCHORS: Final = ("pass", "pwd", "secret", "token", "key", "credential", "authorization")

_KEYWORD: Final = (
    r"(?:pass(?:word|wd|phrase|code)?|pwd|secret(?:[_-]?key)?(?:[_-]?base)?|token|key|credentials?"
    r"|authorization)"
)
# What stands between name and value: a closing quote or bracket, a type, an operator. Quotes may
# be escaped, several times over, where JSON holds JSON.
_BETWEEN: Final = (
    r"[0-9]{0,2}(?:\\{0,7}[\"'`])?\]?[ \t]{0,8}"
    r"(?::[ \t]{0,4}[A-Za-z_][\w.\[\]|]{0,40}[ \t]{1,4}=(?!=)|=>|:=|={1,2}|:|>(?=[^<\s]{4,256}</))"
    r"[ \t]{0,8}"
)
_VALUE: Final = (
    r"(?:(?i:bearer|basic|token|apikey|digest)[ \t]{1,4})?"
    rf"(?:[a-zA-Z]{{0,2}}(?P<quote>\\{{0,7}}[\"'`])(?P<quoted>(?:[^\s\"'`\\]|\\[^nrt\"'`\s\\]){{4,{LONGEST_VALUE}}})"
    rf"|(?P<bare>[^\s\"'`\\,;&<>(){{}}|\[\]]{{4,{LONGEST_VALUE}}}))"
)
_ASSIGNMENT: Final = re.compile(rf"(?i:{_KEYWORD}){_BETWEEN}{_VALUE}")
_OPTION: Final = re.compile(rf"(?i:{_KEYWORD})[ \t]{{1,4}}{_VALUE}")
_OPTION_NAME: Final = re.compile(r"--[\w-]{0,40}\Z", re.ASCII)

_NAME_LENGTH: Final = 48
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]*\Z")
_PASSWORD_NAME: Final = re.compile(r"pass(?:word|wd|phrase|code)?[0-9]{0,2}\Z|pwd[0-9]{0,2}\Z")
_KEY_NAME: Final = re.compile(
    r"(?:api|access|secret|private|auth|encrypt(?:ion)?|signing|account|client|service|master"
    r"|license|subscription|storage|deploy|admin|consumer|webhook|session|jwt|hmac|shared)"
    r"[_.-]?keys?[0-9]{0,2}\Z"
)
_TOKEN_NAME: Final = re.compile(
    r"(?:token|secret(?:[_-]?key)?(?:[_-]?base)?|credentials?|authorization)[0-9]{0,2}\Z"
)
# Names that end like a secret's and are none: places in a listing, marks in a vocabulary.
_HARMLESS_NAME: Final = re.compile(
    r"(?:next|page|previous|prev|continuation|sync|end|start|eos|bos|pad|unk|sep|cls|mask|max|min"
    r"|stop|special|public|cancellation)[_-]?(?:page)?[_-]?(?:token|key)[0-9]{0,2}\Z"
)
_VARIABLE: Final = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|->|::)[A-Za-z_$][\w$]*)*[!?]?\Z", re.ASCII)
_SECRET_WORD: Final = re.compile(r"pass|pwd|pw|token|secret|key|cred|arg|val|param|user|str|opt")


def find_assigned(text: str, lowered: str) -> Iterator[tuple[str, int, int]]:
    """Yield kind, start and end of every value assigned to a secret's name."""
    for anchor in _ANCHORS:
        start = lowered.find(anchor)
        while start >= 0:
            found = _ASSIGNMENT.match(text, start) or _option(text, start)
            if found and (span := _secret_span(text, start, found)):
                yield "assignment", *span
            start = lowered.find(anchor, start + len(anchor))


def is_secret_under(name: str, value: str) -> bool:
    """Tell whether a JSON member of this name and value is a secret."""
    strength = _strength(name[-_NAME_LENGTH:])
    if strength is None or len(value) > LONGEST_VALUE or any(map(str.isspace, value)):
        return False
    return _is_secret(strength, value)


def _option(text: str, start: int) -> re.Match[str] | None:
    if text.find("--", max(0, start - _NAME_LENGTH), start) < 0:
        return None
    if not _OPTION_NAME.search(text, max(0, start - _NAME_LENGTH), start):
        return None
    return _OPTION.match(text, start)


def _secret_span(text: str, start: int, found: re.Match[str]) -> tuple[int, int] | None:
    group = "quoted" if found["quoted"] is not None else "bare"
    value = found[group]
    if group == "bare":
        value = value.rstrip(".:?")
    strength = _strength(_name(text, start, found))
    if strength is None or not _is_secret(strength, value):
        return None
    if group == "bare" and _is_code(value, text[found.end() : found.end() + 1]):
        return None
    return found.start(group), found.start(group) + len(value)


def _name(text: str, start: int, found: re.Match[str]) -> str:
    before = _NAME.search(text, max(0, start - _NAME_LENGTH), start)
    word = re.match(r"[A-Za-z_-]+[0-9]{0,2}", found[0])
    return (before[0] if before else "") + (word[0] if word else "")


def _strength(name: str) -> _Strength | None:
    lowered = name.lower()
    if _HARMLESS_NAME.search(lowered):
        return None
    password = _PASSWORD_NAME.search(lowered)
    if password:
        # "bypass" and "compass" end like a name of a password.
        before = name[: password.start()]
        short = password[0].startswith("pass") and len(password[0]) < 6
        glued = before[-1:].islower() and not name[password.start()].isupper()
        return None if short and glued else "password"
    if _TOKEN_NAME.search(lowered) or _KEY_NAME.search(lowered):
        return "token"
    if lowered.endswith("_key") and name.isupper():
        return "token"
    if re.search(r"[_-]key[0-9]{0,2}\Z", lowered) or re.search(r"[a-z]Key[0-9]{0,2}\Z", name):
        return "key"
    return None


def _is_secret(strength: _Strength, value: str) -> bool:
    if "[redacted:" in value or is_placeholder(value) or is_reference(value):
        return False
    if strength == "password":
        return _is_password(value)
    if value.isdigit() or not value.isascii():
        return False
    if strength == "token":
        return len(value) >= 12 and random_length(value) >= 10
    mixed = value != value.lower() and value != value.upper() and not value.isalpha()
    return len(value) >= 20 and mixed and random_length(value) >= 20


def _is_password(value: str) -> bool:
    if len(value) < 7:
        return False
    letters = any(map(str.isalpha, value))
    digits = any(map(str.isdigit, value))
    if letters and digits:
        return True
    if digits:
        return len(value) >= 8 and not value.isdigit()
    symbols = any(not (char.isalnum() or char in "-_./:") for char in value)
    return (symbols and len(value) >= 8) or not is_wordy(value)


def _is_code(value: str, after: str) -> bool:
    """Tell whether a bare value is a variable, an attribute or a call."""
    if after in ("(", "["):
        return True
    if not _VARIABLE.match(value) or not is_wordy(value.replace("_", "-")):
        return False
    return "." in value or bool(_SECRET_WORD.search(value.lower()))
