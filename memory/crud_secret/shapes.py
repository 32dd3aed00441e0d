"""Secrets known by the form around them: key blocks, JWTs, Authorization headers, URLs."""

import base64
import binascii
import json
import re
from collections.abc import Iterator
from typing import Final

from memory.crud_secret.values import is_placeholder, is_reference, random_length

__all__ = ["find_shaped"]

LONGEST_BLOCK: Final = 65_536
"""Characters after a BEGIN line within which its END line is looked for."""

_Found = tuple[str, int, int]

_BEGIN: Final = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----", re.ASCII
)
_END: Final = re.compile(r"-----END (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----", re.ASCII)
_KEY_LINE: Final = re.compile(r"[A-Za-z0-9+/=]{32,}")
# A block cut off before its END: key lines with what clients put between them (line numbers,
# diff and quote marks, escaped line ends), and a last line that may be short.
_GAP: Final = r"(?:\\+[nrt]|[\s\d|>+\u2192:]){0,64}+"
_CUT_BODY: Final = re.compile(
    rf"(?:{_GAP}[A-Za-z0-9+/]{{32,}}+){{1,2000}}+"
    rf"(?:={{1,2}}|(?=[\s\\]){_GAP}[A-Za-z0-9+/]{{4,}}(?:==?|(?=[ \t]*(?:[\r\n\\\"'`]|\Z))))?"
)

_JWT: Final = re.compile(r"eyJ[\w-]{12,}+(?:\.[\w-]++){2,4}", re.ASCII)
_JWT_RUN: Final = re.compile(r"[\w-]*+", re.ASCII)
LONGEST_HEADER: Final = 8192
"""Characters of a JWT's first part that are decoded; longer is no header."""

_SPACE: Final = r"(?:[ \t]|%20|\+){1,4}"
_BEARER: Final = re.compile(rf"(?i:bearer){_SPACE}([\w.~+/-]{{12,}}={{0,2}})", re.ASCII)
_BASIC: Final = re.compile(rf"(?i:basic){_SPACE}([A-Za-z0-9+/_-]{{8,}}={{0,2}})", re.ASCII)

_URL: Final = re.compile(
    r"""://([^\s/?#@:"'`<>\\]{0,256}+)(?::([^\s/?#@:"'`<>\\]{1,512}+))?@(?=[\w\[$<{%*])"""
)
SHORTEST_URL_PASSWORD: Final = 6
SHORTEST_URL_TOKEN: Final = 16


def find_shaped(text: str, lowered: str) -> Iterator[_Found]:
    """Yield kind, start and end; ``lowered`` is the text in lower case, index by index."""
    yield from _key_blocks(text)
    yield from _jwts(text)
    yield from _headers(text, lowered)
    yield from _urls(text)


def _key_blocks(text: str) -> Iterator[_Found]:
    start = text.find("-----BEGIN ")
    while start >= 0:
        resume = start + 1
        begin = _BEGIN.match(text, start)
        if begin:
            resume = begin.end()
            end = _block_end(text, begin.end())
            if end:
                yield "private-key", start, end
                resume = end
        start = text.find("-----BEGIN ", resume)


def _block_end(text: str, body: int) -> int:
    """Return where the block ends, 0 if no key follows: a BEGIN line alone is no secret."""
    limit = body + LONGEST_BLOCK
    dashes = text.find("-----", body, limit)
    end = _END.match(text, dashes) if dashes >= 0 else None
    if end:
        return end.end() if _KEY_LINE.search(text, body, dashes) else 0
    cut = _CUT_BODY.match(text, body, limit)
    return cut.end() if cut else 0


def _jwts(text: str) -> Iterator[_Found]:
    start = text.find("eyJ")
    while start >= 0:
        found = _JWT.match(text, start)
        if found and _is_jwt_header(text[start : text.index(".", start)]):
            yield "jwt", start, found.end()
            resume = found.end()
        else:
            # Nothing later in this run can be a header either: it ends at the same character.
            run = _JWT_RUN.match(text, start)
            resume = max(run.end() if run else 0, start + 3)
        start = text.find("eyJ", resume)


def _is_jwt_header(part: str) -> bool:
    if len(part) > LONGEST_HEADER:
        return False
    try:
        header = json.loads(_decode(part))
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and ("alg" in header or "enc" in header)


def _headers(text: str, lowered: str) -> Iterator[_Found]:
    for found in _at(_BEARER, text, lowered, "bearer"):
        value = found[1]
        if random_length(value) >= 10 and not is_placeholder(value):
            yield "bearer", found.start(1), found.end(1)
    for found in _at(_BASIC, text, lowered, "basic"):
        if _is_basic(found[1]):
            yield "basic", found.start(1), found.end(1)


def _at(pattern: re.Pattern[str], text: str, lowered: str, anchor: str) -> Iterator[re.Match[str]]:
    start = lowered.find(anchor)
    while start >= 0:
        found = pattern.match(text, start)
        if found:
            yield found
        start = lowered.find(anchor, found.end() if found else start + len(anchor))


def _is_basic(value: str) -> bool:
    """Tell whether the value decodes to user and password (RFC 7617)."""
    try:
        pair = _decode(value).decode()
    except ValueError:
        return False
    user, colon, password = pair.partition(":")
    return bool(colon) and pair.isprintable() and not _is_dummy(user, password)


def _urls(text: str) -> Iterator[_Found]:
    start = text.find("://")
    while start >= 0:
        found = _URL.match(text, start)
        if found and text[start - 1 : start].isalnum() and "[redacted" not in found[1]:
            user, password = found[1], found[2]
            if password is None:
                if len(user) >= SHORTEST_URL_TOKEN and random_length(user) >= 12:
                    yield "url-password", found.start(1), found.end(1)
            elif not _is_dummy(user, password):
                yield "url-password", found.start(2), found.end(2)
        start = text.find("://", start + 3)


def _is_dummy(user: str, password: str) -> bool:
    if len(password) < SHORTEST_URL_PASSWORD and (len(password) < 4 or password.isalpha()):
        return True
    return (
        is_placeholder(password)
        or (is_reference(password) and not password.startswith("%"))
        or ("%(" in password or password in ("%s", "%d"))
        or password.lower() == user.lower()
    )


def _decode(part: str) -> bytes:
    """Decode base64 in either alphabet, padded or not; ValueError for anything else."""
    try:
        return base64.b64decode(part.rstrip("=") + "=" * (-len(part.rstrip("=")) % 4), b"-_")
    except binascii.Error as error:
        raise ValueError(str(error)) from error
