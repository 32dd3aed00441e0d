"""Secrets known by the name they are assigned to: ``DB_PASSWORD=…``, ``"api_key": "…"``."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, Literal

from memory.crud_secret.anchors import Places
from memory.crud_secret.values import is_placeholder, is_reference, is_wordy, random_length

__all__ = ["LONGEST_VALUE", "WORDS", "find_assigned", "is_secret_under", "names_secret"]

LONGEST_VALUE: Final = 512
"""Characters of an assigned value that are read."""
SHORTEST_PASSWORD: Final = 7
SHORTEST_SHELL_PASSWORD: Final = 6
"""In ``PGPASSWORD=…`` a shorter value is read, if it is no word."""
SHORTEST_TOKEN: Final = 12
LONG_TOKEN: Final = 24
"""A token without any digit is known from a name in code by its length."""
SHORTEST_KEY: Final = 20
"""A ``…_key`` that is none of the known names holds a secret only in this length and mixed."""

_Strength = Literal["password", "token", "key"]

WORDS: Final = ("pass", "pwd", "secr", "toke", "key", "cred", "auth")
"""With these the keywords begin; the pattern looks at the rest."""

_KEYWORD: Final = (
    r"(?i:pass(?:word|wd|phrase|code|wort)?|pwd|secret(?:[_-]?key)?(?:[_-]?base)?|token|key|credentials?"
    r"|authorization)[0-9]{0,2}"
)
_QUOTE: Final = "\"'`\u201c\u201d\u2018\u2019"
# What stands between name and value: a closing quote or bracket, a type, an operator. Quotes may
# be escaped, several times over, where JSON holds JSON.
_BETWEEN: Final = (
    rf"(?:\\{{0,7}}[{_QUOTE}])?\]?[ \t]{{0,8}}"
    r"(?::[ \t]{0,4}[A-Za-z_][\w.\[\]|]{0,40}[ \t]{1,4}=(?!=)|=>|:=|={1,2}|:|>(?=[^<\s]{4,256}</))"
    r"[ \t]{0,8}"
)
# A bare value holds at most two more "=" or ":", else "key=key=key=…" would be read anew from
# each of its names.
_BARE: Final = rf"[^\s\x00-\x1f{_QUOTE}\\,;&<>(){{}}|\[\]=:]{{1,{LONGEST_VALUE}}}"
_VALUE: Final = (
    r"(?:(?i:bearer|basic|token|apikey|digest)[ \t]{1,4})?"
    rf"(?:[a-zA-Z]{{0,2}}(?:\\{{0,7}}[{_QUOTE}])"
    rf"(?P<quoted>(?:[^\s\x00-\x1f{_QUOTE}\\]|\\[^nrt{_QUOTE}\s\\]){{4,{LONGEST_VALUE}}})"
    rf"|(?P<bare>{_BARE}(?:[=:]{_BARE}){{0,2}}={{0,2}}))"
)
_ASSIGNMENT: Final = re.compile(rf"(?P<name>{_KEYWORD}){_BETWEEN}{_VALUE}")
_OPTION: Final = re.compile(rf"(?P<name>{_KEYWORD})[ \t]{{1,4}}{_VALUE}")
_LINE_VALUE: Final = re.compile(rf"[^\s\x00-\x1f{_QUOTE}\\()\[\]]{{4,{LONGEST_VALUE}}}(?<![,;])")
# A client shows a file's lines with their numbers.
_LINE_START: Final = re.compile(r"(?:(?:\A|[\r\n\u2192\t\"'`]|\\[nrt])[ ]{0,8}|export[ ])\Z")
# Most values under such names are words, and told apart at once. A run of letters can be divided
# in one way only: in every way, one long name of a variable would take longer than its whole text.
_DULL: Final = re.compile(r"(?:(?:[a-z]{19}|[a-z]{1,18}(?![a-z]))[-_.:=/]?){1,8}\Z")

_CALLS: Final = ("(", "[")  # behind a value, they make it the name of a function or a list

_NAME_LENGTH: Final = 48
_NAME_BACKWARDS: Final = re.compile(r"[A-Za-z0-9_.-]*+")
_PASSWORD_NAME: Final = re.compile(r"(?:pass(?:word|wd|phrase|code|wort)?|pwd)[0-9]{0,2}\Z")
_TOKEN_NAME: Final = re.compile(
    r"(?:token|secret(?:[_-]?key)?(?:[_-]?base)?|credentials?|authorization"
    r"|(?:api|access|secret|private|auth|encrypt(?:ion)?|signing|account|client|service|master"
    r"|license|subscription|storage|deploy|admin|consumer|webhook|session|jwt|hmac|shared)"
    r"[_.-]?keys?)[0-9]{0,2}\Z"
)
_KEY_NAME: Final = re.compile(r"(?:[_-](?i:key)|[a-z]Key)[0-9]{0,2}\Z")
# Names that end like a secret's and are none: places in a listing, marks in a vocabulary.
_HARMLESS_NAME: Final = re.compile(
    r"(?:next|page|previous|prev|continuation|sync|end|start|eos|bos|pad|unk|sep|cls|mask|max|min"
    r"|stop|special|public|cancellation)[_-]?(?:page)?[_-]?(?:token|key)[0-9]{0,2}\Z"
)
_VARIABLE: Final = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|->|::)[A-Za-z_$][\w$]*)*[!?]?\Z", re.ASCII)
_CASE_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^A-Za-z0-9]")
_VARIABLE_WORD: Final = re.compile(r"pass|pwd|pw|token|secret|key|cred|arg|val|param|user|str|opt")


def find_assigned(text: str, places: Places) -> Iterator[tuple[str, int, int]]:
    """Yield kind, start and end of every value assigned to a secret's name."""
    for word in WORDS:
        for start in places.get(word, ()):
            found = _ASSIGNMENT.match(text, start) or _option(text, start)
            if found and (span := _secret_span(text, start, found)):
                yield "assignment", *span


def is_secret_under(name: str, value: str) -> bool:
    """Tell whether a JSON member of this name and value is a secret."""
    strength = _strength_of_member(name[-_NAME_LENGTH:])
    if strength is None or len(value) > LONGEST_VALUE or any(map(str.isspace, value)):
        return False
    return _is_secret(strength, value)


def names_secret(name: str) -> bool:
    """Tell whether a JSON member of this name may be a secret."""
    return _strength_of_member(name[-_NAME_LENGTH:]) is not None


@lru_cache(maxsize=4096)
def _strength_of_member(name: str) -> _Strength | None:
    return _strength(name) or (_strength(name[:-1]) if name[-1:] in "sS" else None)


def _option(text: str, start: int) -> re.Match[str] | None:
    """Match ``--password value``, where no operator stands between name and value."""
    if text.find("--", max(0, start - _NAME_LENGTH), start) < 0:
        return None
    return _OPTION.match(text, start) if _name_before(text, start).startswith("--") else None


def _secret_span(text: str, start: int, found: re.Match[str]) -> tuple[int, int] | None:
    first, last = found.span("quoted")
    is_bare = first < 0
    if not found["name"].isupper():
        # Neither a shell's variable nor a line of settings: most values are code or words.
        if is_bare:
            first, last = _plain_span(text, found)
        if _is_dull(text[first:last]) or (is_bare and text[last : last + 1] in _CALLS):
            return None
    name = _name_before(text, start) + found["name"]
    if is_bare:
        first, last = _bare_span(text, name, found)
    value = text[first:last]
    strength = _strength(name)
    if strength == "password" and _is_shell(text, name, found) and _is_shell_password(value):
        return first, last
    if strength is None or _is_dull(value) or not _is_secret(strength, value):
        return None
    if is_bare and _is_code(strength, value, text[last : last + 1]):
        return None
    return first, last


def _is_dull(value: str) -> bool:
    return len(value) < SHORTEST_PASSWORD or _DULL.match(value) is not None


def _is_shell(text: str, name: str, found: re.Match[str]) -> bool:
    """Tell whether this is ``PGPASSWORD=…``: capitals alone, no blank about the sign."""
    end = found.end("name")
    letters = name.replace("_", "")
    return (
        letters.isalpha() and name.isupper() and re.match("=[^ =]", text[end : end + 2]) is not None
    )


def _is_shell_password(value: str) -> bool:
    """Tell a password from a word, a name, a path and a placeholder."""
    return (
        len(value) >= SHORTEST_SHELL_PASSWORD
        and value.isascii()
        and value.isalnum()
        and not value.isdigit()
        and not (is_wordy(value) or _is_camel(value))
        and not (is_placeholder(value) or is_reference(value))
    )


def _bare_span(text: str, name: str, found: re.Match[str]) -> tuple[int, int]:
    first = found.start("bare")
    if name.isupper():
        # In a file of settings the value goes on to the end of its line.
        begin = found.end("name") - len(name)
        line = _LINE_VALUE.match(text, first)
        if line and _LINE_START.search(text, max(0, begin - _NAME_LENGTH), begin):
            return line.span()
    return _plain_span(text, found)


def _plain_span(text: str, found: re.Match[str]) -> tuple[int, int]:
    first, last = found.span("bare")
    return first, first + len(text[first:last].rstrip(".:?"))


def _name_before(text: str, start: int) -> str:
    """Return what of a name stands before its keyword: ``DB_`` of ``DB_PASSWORD``."""
    before = _NAME_BACKWARDS.match(text[max(0, start - _NAME_LENGTH) : start][::-1])
    if not before:
        return ""
    name = before[0][::-1]
    # The n of an escaped line end is none of the name's.
    escaped = name[:1] in "nrt" and text[start - len(name) - 1 : start - len(name)] == "\\"
    return name[1:] if escaped else name


@lru_cache(maxsize=4096)
def _strength(name: str) -> _Strength | None:
    lowered = name.lower()
    if _HARMLESS_NAME.search(lowered):
        return None
    if password := _PASSWORD_NAME.search(lowered):
        # "bypass" and "compass" end like a name of a password.
        short = password[0].startswith("pass") and len(password[0]) < 6
        glued = name[: password.start()][-1:].islower() and name[password.start()].islower()
        return None if short and glued else "password"
    if _TOKEN_NAME.search(lowered) or (lowered.endswith("_key") and name.isupper()):
        return "token"
    return "key" if _KEY_NAME.search(name) else None


def _is_secret(strength: _Strength, value: str) -> bool:
    if "[redacted:" in value or is_placeholder(value) or is_reference(value):
        return False
    if strength == "password":
        return _is_password(value)
    if value.isdigit() or not value.isascii():
        return False
    if strength == "token":
        return _is_token(value)
    mixed = value != value.lower() and value != value.upper() and not value.isalpha()
    return len(value) >= SHORTEST_KEY and mixed and random_length(value) >= SHORTEST_KEY


def _is_token(value: str) -> bool:
    if len(value) < SHORTEST_TOKEN or random_length(value) < 10:
        return False
    if any(map(str.isdigit, value)):
        return True
    return len(value) >= LONG_TOKEN and value.isalpha() and not _is_camel(value)


def _is_password(value: str) -> bool:
    if len(value) < SHORTEST_PASSWORD:
        return False
    letters = any(map(str.isalpha, value))
    digits = any(map(str.isdigit, value))
    if letters and digits:
        return True
    symbols = any(not (char.isalnum() or char in "-_./:=") for char in value)
    if symbols and len(value) >= 8:
        return True
    return letters and not is_wordy(value) and not _is_camel(value)


def _is_code(strength: _Strength, value: str, after: str) -> bool:
    """Tell whether a bare value is a variable, an attribute, a type or a call."""
    if after in _CALLS:
        return True
    if not _VARIABLE.match(value):
        return False
    if value.isalpha() and len(value) < SHORTEST_TOKEN:
        return True
    is_name = value.isalpha() or is_wordy(value.replace("_", "-"))
    if is_name and ("." in value or _VARIABLE_WORD.search(value.lower())):
        return True
    return strength != "password" and _is_camel(value)


def _is_camel(value: str) -> bool:
    """Tell whether a name is made of capitalised words and abbreviations: Ed25519PrivateKey."""
    words = _CASE_PARTS.findall(value)
    return (
        value != value.lower()
        and max(map(len, words)) >= 4
        and len(value) >= 3 * len(words)
        and sum(map(str.isdigit, words)) <= 2
        and not any(len(word) == 1 and word.islower() for word in words)
    )
