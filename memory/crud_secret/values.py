"""What tells a secret value from a word, a name in code or a placeholder."""

import base64
import binascii
import re
from typing import Final

__all__ = ["decoded", "is_placeholder", "is_reference", "is_wordy", "random_length"]

LONGEST_WORD: Final = 19
"""An unbroken run of more letters is no word of an identifier."""

_LOOKED_AT: Final = 4096  # characters that are looked at to tell a token from words

_SEPARATOR: Final = re.compile(r"[-_.~+/=:@]")
_WORD: Final = re.compile(r"(?:[a-z]*|[A-Z]+|[a-z]*(?:[A-Z][a-z]{2,})+)[0-9]{0,4}", re.ASCII)

_NOUN: Final = (
    r"pass(?:word|wd|phrase|code|wort)?|pwd|pw|secret|token|value|credentials?"
    r"|(?:api|access|secret|private|auth)?[-_]?key|user(?:name)?"
)
_COMPOSED: Final = re.compile(
    rf"(?:(?:my|your|the|mein|dein|ihr|das|db|user|some|test|new|old|a|super|top|default|database)[-_]?)*(?:{_NOUN})"
    rf"(?:[-_]?(?:{_NOUN}|here|placeholder))*[0-9]?"
    r"|change[-_]?(?:me|it|this)(?:[-_]?(?:now|please))?[0-9]?"
    r"|x+[-_x]*"
)
_LONGEST_PLACEHOLDER: Final = 64
_DUMMY: Final = re.compile(
    "none|null|nil|true|false|undefined|unset|empty|required|optional|todo|tbd|n/a|str|string|int"
    "|bool|bytes|any|object|removed|hidden|masked|filtered|foo|bar|baz|foobar|dummy|fake|sample"
    "|default|unknown|postgres|root|admin|guest"
)
_GIVEAWAYS: Final = ("example", "placeholder", "redacted", "...", "\u2026")
_INSTRUCTION: Final = re.compile(r"(?:.*[-_])?(?:your|insert|replace)[-_]")
# Where the value stands elsewhere: a variable, a template, another address.
_REFERENCE: Final = re.compile(
    r"\$[A-Za-z_]\w*\Z|\$[{(]|%\(|%[A-Za-z_]\w*%?\Z|\*\*|[A-Za-z]:[\\/]|[a-z][a-z0-9+.-]*://"
    r"|<.*>\Z|\[.*\]\Z|\(.*\)\Z|\{.*\}\Z"
    r"|arn:|op://|!(?:vault|Ref|Sub|GetAtt|ImportValue|reference|secret)\b"
    r"|(?:env|vault|file|ref|sops|secretref|ssm|var|env_var|secrets|process|import|config|settings"
    r"|self|this|os|sys|args|options|opts|params|request|req|ctx)[.:\[]"
)
_TEMPLATE: Final = re.compile(r"\$\{[A-Za-z_][^{}]{0,200}\}|\{\{[^{}]{0,200}\}\}|\$\{\{")
_PATH: Final = re.compile(r"/|\.{1,2}/|~/")


def is_wordy(text: str) -> bool:
    """Tell whether every part between separators is a word, a camelCase name or a short number."""
    return random_length(text) == 0


def random_length(text: str) -> int:
    """Count the characters in parts that are no word: digits amid letters, or overlong runs."""
    return sum(
        len(part)
        for part in _SEPARATOR.split(text[:_LOOKED_AT])
        if len(part) > LONGEST_WORD or not _WORD.fullmatch(part)
    )


def is_placeholder(value: str) -> bool:
    """Tell whether a value only says that a secret goes here."""
    lowered = value.lower()
    if any(giveaway in lowered for giveaway in _GIVEAWAYS) or len(set(lowered)) < 2:
        return True
    if len(lowered) > _LONGEST_PLACEHOLDER:
        return False
    return (
        _DUMMY.fullmatch(lowered) is not None
        or _COMPOSED.fullmatch(lowered) is not None
        or _INSTRUCTION.match(lowered) is not None
    )


def is_reference(value: str) -> bool:
    """Tell whether a value names where the secret is kept instead of being one."""
    if _REFERENCE.match(value) or _TEMPLATE.search(value):
        return True
    # Base64 may begin with a slash as well; a path is made of words.
    return _PATH.match(value) is not None and random_length(value) <= LONGEST_WORD


def decoded(part: str) -> bytes:
    """Decode base64 in either alphabet, padded or not; ValueError for anything else."""
    try:
        return base64.b64decode(part.rstrip("=") + "=" * (-len(part.rstrip("=")) % 4), b"-_")
    except binascii.Error as error:
        raise ValueError(str(error)) from error
