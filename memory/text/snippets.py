"""The passage of a text that answers a query best."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from memory.text.cleaning import displayable
from memory.text.folding import normalised
from memory.text.tokeniser import MAX_CHARS, without_data
from memory.text.words import analyse, chunk_pattern, run_pattern

__all__ = ["MARKS", "MAX_MATCHES", "signs_of", "snippet"]

MARKS: Final = ("\u00ab", "\u00bb")
"""What stands before and behind a match; a text's own are shown as single ones."""

MAX_MATCHES: Final = 2_000
"""Matches in one text among which the best passage is looked for."""

_SINGLE: Final = ("\u2039", "\u203a")
CUT: Final = "\N{HORIZONTAL ELLIPSIS}"
_LETTERS: Final = re.compile(r"[^\W_]+")
_SHORT_STEM: Final = 3
_STEP: Final = 16  # characters that are looked back at first, and times as many each time again
_SPACE: Final = re.compile(r"\s+")
_LONGEST_STEP: Final = 24  # characters that are given up to end between two words


@dataclass(frozen=True, slots=True)
class _Match:
    start: int
    end: int
    lexemes: frozenset[str]


def snippet(
    text: str,
    terms: Collection[str],
    *,
    width: int = 240,
    marks: tuple[str, str] = MARKS,
) -> str:
    """Return the passage with the most distinct terms, its matches between marks.

    ``terms`` are lexemes, as ``Query.words`` and ``Query.terms`` give them. At most ``width`` code
    points of the text, cleaned for display, in one line; besides them the marks, and "…" where text
    is cut off. Without a match it is the beginning of the text. Marks of the text's own give way to
    single ones, so that no text can pretend a match.
    """
    shown = displayable(text[:MAX_CHARS])
    for mark, single in zip(MARKS, _SINGLE, strict=True):
        shown = shown.replace(mark, single)
    matches = _matches(shown, frozenset(terms))
    best = _best(matches, width)
    start, end = _window(shown, best, width)
    # What the window cannot hold whole is marked as far as it is shown.
    inside = [match for match in matches if match.start < end and match.end > start]
    pieces = []
    at = start
    for match in inside:
        first, last = max(match.start, at), min(match.end, end)
        if first < last:
            pieces += [shown[at:first], marks[0], shown[first:last], marks[1]]
            at = last
    line = _SPACE.sub(" ", "".join([*pieces, shown[at:end]])).strip()
    before = CUT if shown[:start].strip() else ""
    after = CUT if shown[end:].strip() or len(text) > MAX_CHARS else ""
    return f"{before}{line}{after}"


def _matches(text: str, terms: frozenset[str]) -> list[_Match]:
    found: list[_Match] = []
    if not terms:
        return found
    for chunk in _promising(without_data(text), signs_of(terms)):
        written = chunk[0]
        normal = normalised(written)
        hits = terms.intersection([lexeme for lexeme, _, _ in analyse(normal)[0]])
        if hits:
            found += _spans(chunk, hits)
            if len(found) >= MAX_MATCHES:
                break
    return found


def _promising(text: str, signs: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Give the chunks of those runs of a text in which a sign stands."""
    runs, chunks = run_pattern(text), chunk_pattern(text)
    # Of all characters this one alone would become two, and move those behind it.
    lowered = text.replace("\u0130", "i").lower()
    at = 0
    while sign := signs.search(lowered, at):
        begin = sign.start()
        run = runs.match(text, begin)
        if run is None:
            at = sign.end()
            continue
        begin = _begin_of_run(runs, text, at, begin)
        at = run.end()
        yield from chunks.finditer(text, begin, at)


def _begin_of_run(runs: re.Pattern[str], text: str, least: int, inside: int) -> int:
    """Return where the run begins that a place lies in; it does before ``least`` at the earliest."""
    width = _STEP
    while True:
        low = max(least, inside - width)
        begin = inside
        for run in runs.finditer(text, low, inside):
            begin = run.start() if run.end() == inside else inside
        if begin > low or low == least:
            return begin
        width *= _STEP


def signs_of(terms: Collection[str]) -> re.Pattern[str]:
    """Return what stands, in lower case, in every chunk that gives one of some lexemes.

    Taking chunks apart costs ten times as much as looking for the lexemes' first letters. What is
    not ASCII may become anything. A stem of four letters begins as its word does; a shorter one may
    share the first letter alone (die, from dying).
    """
    begun: set[str] = set()
    for term in terms:
        letters = _LETTERS.search(term)
        if letters is None:
            begun.add(term)
        elif letters[0].isascii():
            begun.add(letters[0][: 3 if len(letters[0]) > _SHORT_STEM else 1])
    return re.compile("|".join([*map(re.escape, sorted(begun)), r"[^\x00-\x7f]"]))


def _spans(chunk: re.Match[str], hits: frozenset[str]) -> Sequence[_Match]:
    """Return where the hits stand in a chunk: in a run of CJK, the characters that match."""
    written, start = chunk[0], chunk.start()
    if written.isascii() or len(written) <= 2:
        return [_Match(start, chunk.end(), hits)]
    places = sorted(
        (at.start(), at.end(), hit)
        for hit in hits
        if not hit.isascii() and len(hit) <= 2
        for at in re.finditer(f"(?={re.escape(hit)})", written)
    )
    merged: list[_Match] = []
    for first, _, hit in places:
        last = first + len(hit)
        if merged and start + first <= merged[-1].end:
            before = merged[-1]
            end = max(before.end, start + last)
            merged[-1] = _Match(before.start, end, before.lexemes | {hit})
        else:
            merged.append(_Match(start + first, start + last, frozenset({hit})))
    return merged or [_Match(start, chunk.end(), hits)]


def _best(matches: Sequence[_Match], width: int) -> Sequence[_Match]:
    """Return the neighbours within the width that hold the most distinct terms."""
    best: tuple[int, int, int] = (0, 0, 0)
    slice_of_best = (0, 0)
    inside: Counter[str] = Counter()
    last = 0
    for first, match in enumerate(matches):
        last = max(last, first)
        while last < len(matches) and (last == first or matches[last].end - match.start <= width):
            inside.update(matches[last].lexemes)
            last += 1
        distinct = sum(count > 0 for count in inside.values())
        score = (distinct, last - first, -first)
        if score > best:
            best, slice_of_best = score, (first, last)
        inside.subtract(match.lexemes)
    return matches[slice_of_best[0] : slice_of_best[1]]


def _window(text: str, best: Sequence[_Match], width: int) -> tuple[int, int]:
    """Return start and end of at most ``width`` characters around the matches."""
    if not best:
        return 0, _step_back(text, min(width, len(text)), 0)
    first, last = best[0].start, best[-1].end
    if last - first >= width:
        return first, first + width
    # A third of the room before the matches, the rest after; none is wasted at either end.
    start = max(0, first - (width - (last - first)) // 3)
    end = min(len(text), start + width)
    start = max(0, end - width)
    return _step_forward(text, start, first), _step_back(text, end, last)


def _step_forward(text: str, start: int, limit: int) -> int:
    if start == 0 or text[start - 1].isspace():
        return start
    for at in range(start, min(limit, start + _LONGEST_STEP)):
        if text[at].isspace():
            return at + 1
    return start


def _step_back(text: str, end: int, limit: int) -> int:
    if end == len(text) or text[end].isspace():
        return end
    for at in range(end - 1, max(limit, end - _LONGEST_STEP) - 1, -1):
        if text[at].isspace():
            return at
    return end
