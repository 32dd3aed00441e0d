"""Secrets that are blocks of their own: private keys and JSON web tokens."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final

from memory.crud_secret.anchors import Places
from memory.crud_secret.values import decoded, is_wordy

__all__ = ["ANCHORS", "find_blocks"]

_BEGIN_LINE: Final = "-----BEGIN "
_JWT_HEAD: Final = "eyJ"
ANCHORS: Final = (_BEGIN_LINE, _JWT_HEAD)

LONGEST_BLOCK: Final = 65_536
"""Characters after a BEGIN line within which its END line is looked for."""

_BEGIN: Final = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----", re.ASCII
)
_END: Final = re.compile(r"-----END (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----", re.ASCII)
_KEY_LINE: Final = re.compile(r"[A-Za-z0-9+/=]{32,}")
_SHORT_BODY: Final = re.compile(
    r"(?:\s|\\+[nrt]){1,64}+(?:[A-Za-z0-9+/=]++(?:\s|\\+[nrt]){1,64}+)++"
)
# A block cut off before its END: key lines with what clients put between them (line numbers,
# diff and quote marks, escaped line ends), and a last line that may be short.
_GAP: Final = r"(?:\\+[nrt]|[\s\d|>+\u2192:]){0,64}+"
_CUT_BODY: Final = re.compile(
    # Greedy, not possessive: Python before 3.11.5 loses its place in such a group, and as nothing
    # behind it has to match, it never goes back.
    rf"(?:{_GAP}[A-Za-z0-9+/]{{32,}}+){{1,2000}}"
    rf"(?:={{1,2}}|(?=[\s\\]){_GAP}[A-Za-z0-9+/]{{4,}}(?:==?|(?=[ \t]*(?:[\r\n\\\"'`]|\Z))))?"
)

_JWT: Final = re.compile(r"eyJ[\w-]{12,}+(?:\.[\w-]++){2,4}", re.ASCII)
_JWT_RUN: Final = re.compile(r"[\w-]*+", re.ASCII)
LONGEST_HEADER: Final = 8192
"""Characters of a JWT's first part that are decoded; longer is no header."""


def find_blocks(text: str, places: Places) -> Iterator[tuple[str, int, int]]:
    """Yield kind, start and end of private keys (PEM) and JWTs."""
    yield from _key_blocks(text, places.get(_BEGIN_LINE, ()))
    yield from _jwts(text, places.get(_JWT_HEAD, ()))


def _key_blocks(text: str, starts: Iterable[int]) -> Iterator[tuple[str, int, int]]:
    resume = 0
    for start in starts:
        begin = _BEGIN.match(text, start) if start >= resume else None
        if begin:
            end = _block_end(text, begin.end())
            if end:
                yield "private-key", start, end
            resume = end or begin.end()


def _block_end(text: str, body: int) -> int:
    """Return where the block ends, 0 if no key follows: a BEGIN line alone is no secret."""
    limit = body + LONGEST_BLOCK
    dashes = text.find("-----", body, limit)
    end = _END.match(text, dashes) if dashes >= 0 else None
    if end:
        return end.end() if _is_key(text, body, dashes) else 0
    cut = _CUT_BODY.match(text, body, limit)
    return cut.end() if cut else 0


def _is_key(text: str, start: int, end: int) -> bool:
    if _KEY_LINE.search(text, start, end):
        return True
    short = _SHORT_BODY.fullmatch(text, start, end)
    return short is not None and not all(map(is_wordy, short[0].split()))


def _jwts(text: str, starts: Iterable[int]) -> Iterator[tuple[str, int, int]]:
    resume = 0
    for start in starts:
        if start < resume:
            continue
        found = _JWT.match(text, start)
        if found and _is_jwt_header(text[start : text.index(".", start)]):
            yield "jwt", start, found.end()
            resume = found.end()
        else:
            # Nothing later in this run can be a header either: it ends at the same character.
            run = _JWT_RUN.match(text, start)
            resume = run.end() if run else 0


def _is_jwt_header(part: str) -> bool:
    if len(part) > LONGEST_HEADER:
        return False
    try:
        header = json.loads(decoded(part))
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and ("alg" in header or "enc" in header)
