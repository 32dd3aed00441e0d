"""The scan for credentials, and what is done with what it finds."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, Final

from memory.crud_secret import assignments, blocks, logins, prefixes
from memory.crud_secret.anchors import Anchors, encoded
from memory.crud_secret.assignments import find_assigned, is_secret_under, names_secret
from memory.crud_secret.blocks import find_blocks
from memory.crud_secret.logins import find_logins
from memory.crud_secret.prefixes import find_prefixed
from memory.crud_secret.values import is_wordy
from memory.crud_secret.veils import Unveiled, bare, unveil
from memory.errors import Credential
from memory.text import rebuild
from memory.text.cleaning import MAX_DEPTH

__all__ = ["RULES_VERSION", "Finding", "find", "redact", "redact_json", "refuse"]

RULES_VERSION: Final = 4
"""Raised whenever a rule changes what is found, so that a store can be scanned again."""

_Found = tuple[int, int, int, str]
"""Start, end, the kind's rank and its name."""

MARK: Final = "[redacted:"

# Texts up to this length are remembered: most are ids, names and keys, which come again and again.
_SHORT: Final = 200
_ANCHORS: Final = Anchors(
    exact=(*prefixes.ANCHORS, *blocks.ANCHORS, *logins.ANCHORS),
    words=(*logins.WORDS, *assignments.WORDS),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """Where a credential stands in a text, in code points, and of which kind; never itself."""

    kind: str
    start: int
    end: int


def find(text: str) -> list[Finding]:
    """Find the credentials in a text, in order and without overlap.

    Where several rules meet, the finding covers what all of them cover and bears the name of the
    most specific. Characters that hide a token (see ``memory.crud_secret.veils``) are read over,
    and a finding covers those within it.
    """
    written = encoded(text)
    found = _scan(text, written)
    if unveiled := unveil(text, written):
        found += _scan_unveiled(text, unveiled, found)
    return list(_merge(sorted(found))) if found else []


def _scan(text: str, written: bytes) -> list[_Found]:
    places = _ANCHORS.places(text, written)
    if not places:
        return []
    rules = (
        find_prefixed(text, places),
        find_blocks(text, places),
        find_logins(text, places),
        find_assigned(text, places),
    )
    return [
        (start, end, rank, kind)
        for rank, (kind, start, end) in enumerate(chain.from_iterable(rules))
    ]


def _scan_unveiled(text: str, unveiled: Unveiled, known: list[_Found]) -> Iterator[_Found]:
    """Yield what shows only without the veils, at its place in the text as written.

    A colour often ends where a token does, and the next word then seems to be the token's own: a
    finding that adds nothing but words to a known one is left out.
    """
    spans = sorted((start, end) for start, end, _, _ in known)
    starts = [start for start, _ in spans]
    for start, end, rank, kind in _scan(unveiled.text, encoded(unveiled.text)):
        first, last = unveiled.written(start, end)
        within = [
            (left, right)
            for left, right in spans[bisect_left(starts, first) : bisect_left(starts, last)]
            if right <= last
        ]
        if within and "\x1b" in text[first:last]:
            head = unveiled.shown(within[0][0])
            tail = unveiled.shown(max(right for _, right in within))
            if is_wordy(unveiled.text[start:head]) and is_wordy(unveiled.text[tail:end]):
                continue
        yield first, last, rank, kind


def redact(text: str) -> tuple[str, Counter[str]]:
    """Replace each credential by ``[redacted:<kind>]`` and count them by kind.

    Everything else stays as it was; redacting again changes nothing.
    """
    counts: Counter[str] = Counter()
    # A secret can hide the beginning of another; each round leaves less text that is no mark.
    while findings := find(text):
        pieces: list[str] = []
        end = 0
        for finding in findings:
            pieces += text[end : finding.start], f"{MARK}{finding.kind}]"
            end = finding.end
            counts[finding.kind] += 1
        text = "".join([*pieces, text[end:]])
    return text, counts


def redact_json(value: Any) -> tuple[Any, Counter[str]]:
    """Redact every string and key of a JSON value; a secret's name makes its value a secret.

    Where nothing is to be done, the value itself comes back. Raises InvalidInput for what is no
    JSON (see ``memory.text.rebuild``).
    """
    counts: Counter[str] = Counter()
    if _is_free(value, "", MAX_DEPTH):
        return value, counts

    def replace(text: str, name: str) -> str:
        if find(text):
            text, found = redact(text)
            counts.update(found)
        elif is_secret_under(bare(name), bare(text)):
            text = f"{MARK}assignment]"
            counts["assignment"] += 1
        return text

    return rebuild(value, replace), counts


def refuse(value: Any, *, where: str) -> None:
    """Raise Credential if a string, or anything in a JSON value, holds a credential.

    ``where`` names the argument. The error names it and the kinds, and never repeats the secret.
    """
    _, counts = redact_json(value)
    if not counts:
        return
    kinds = sorted(counts)
    raise Credential(
        f"There is a credential ({', '.join(kinds)}) in {where}, so nothing was stored. Take it "
        "out, or write the name of the variable that holds it, and call again. A credential that "
        "was sent to a model should be revoked.",
        details={"kinds": kinds, "where": where},
    )


def _merge(found: list[_Found]) -> Iterator[Finding]:
    if not found:
        return
    start, end, rank, kind = found[0]
    for next_start, next_end, next_rank, next_kind in found[1:]:
        if next_start >= end:
            yield Finding(kind, start, end)
            start, end, rank, kind = next_start, next_end, next_rank, next_kind
            continue
        end = max(end, next_end)
        if next_rank < rank:
            rank, kind = next_rank, next_kind
    yield Finding(kind, start, end)


def _is_free(node: Any, name: str, depth: int) -> bool:
    """Tell that a JSON value holds no credential; of what is doubtful, a rebuild decides."""
    kind = type(node)
    if kind is str:
        return _is_plain(node) and not (
            _is_telling(name) and is_secret_under(bare(name), bare(node))
        )
    if node is None or kind is int or kind is bool or kind is float:
        return True
    if depth == 0:
        return False
    if kind is dict:
        return all(
            type(key) is str and _is_plain(key) and _is_free(each, key, depth - 1)
            for key, each in node.items()
        )
    return kind is list and all(_is_free(each, name, depth - 1) for each in node)


def _is_plain(text: str) -> bool:
    return _is_short_plain(text) if len(text) <= _SHORT else not find(text)


@lru_cache(maxsize=4096)
def _is_short_plain(text: str) -> bool:
    return not find(text)


def _is_telling(name: str) -> bool:
    return _is_short_telling(name) if len(name) <= _SHORT else names_secret(bare(name))


@lru_cache(maxsize=4096)
def _is_short_telling(name: str) -> bool:
    return names_secret(bare(name))
