"""Text as PostgreSQL can store it, and as a terminal or a model can safely read it."""

import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from memory.errors import InvalidInput

__all__ = [
    "ANSI",
    "HIDDEN",
    "INVISIBLE",
    "MAX_DEPTH",
    "clean",
    "clean_json",
    "displayable",
    "is_storable",
    "rebuild",
]

MAX_DEPTH: Final = 200
"""Levels of nesting a JSON value may have; more would exhaust the interpreter's stack."""

NUL_SYMBOL: Final = "\N{SYMBOL FOR NULL}"
REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"

# A high and a low half side by side are one character that somebody decoded in two steps.
_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")

# ECMA-48: CSI … final byte; OSC, DCS, SOS, PM, APC … terminator; the other two-byte sequences.
# A string sequence without its terminator ends at the line, so that no text is swallowed.
ANSI: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\r\n]*+(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*+[0-~]?"
)
_LINE_END: Final = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")

# What takes no room on the screen or changes the order of what does, as members of a class.
HIDDEN: Final = (
    "\x00-\x08\x0e-\x1f\x7f-\x9f"  # control characters; line ends and tab are dealt with apart
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, joiners, fillers
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f"  # zero width, bidi overrides and isolates
    "\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"  # fillers, variation selectors, BOM
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # shorthand and musical format controls
    "\U000e0000-\U000e0fff"  # tags and further variation selectors: hidden text
)
# Two selectors choose between text and emoji; a second in a row can only carry data.
INVISIBLE: Final = re.compile(f"[{HIDDEN}]|(?<=[\ufe0e\ufe0f])[\ufe0e\ufe0f]")


def clean(text: str) -> tuple[str, int]:
    """Replace what PostgreSQL refuses, and say how many characters that were.

    NUL becomes U+2400, a lone surrogate U+FFFD; a pair of surrogates becomes the character it
    stands for. All other text comes back unchanged.
    """
    if _is_clean(text):
        return text, 0
    count = text.count("\x00")
    text, pairs = _PAIR.subn(_join, text)
    text, lone = _SURROGATE.subn(REPLACEMENT, text)
    return text.replace("\x00", NUL_SYMBOL), count + pairs + lone


def is_storable(*values: Any) -> bool:
    """Tell, quickly, that JSON values need no cleaning, which is nearly always so.

    Of what is doubtful `clean` and `clean_json` decide. To build a value anew would cost an append
    more than its statements.
    """
    found: list[str] = []
    return all(_gather(each, MAX_DEPTH, found) for each in values) and _is_clean("".join(found))


def clean_json(value: Any) -> tuple[Any, int]:
    """Clean every string and key of a JSON value, and say how many replacements that took.

    NaN and the infinities, which JSON has not, become the strings "NaN", "Infinity" and
    "-Infinity". Where nothing is to be done, the value itself comes back. Raises InvalidInput for
    what is no JSON, or nested deeper than MAX_DEPTH.
    """
    if is_storable(value):
        return value, 0
    count = 0

    def replace(text: str, _name: str) -> str:
        nonlocal count
        text, found = clean(text)
        count += found
        return text

    def spell(number: float) -> float | str:
        nonlocal count
        if math.isfinite(number):
            return number
        count += 1
        return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"

    return rebuild(value, replace, number=spell), count


def displayable(text: str) -> str:
    """Return what a reader would see: no escape sequences, no hidden or reordering characters.

    Line feeds and tabs stay, other line ends become line feeds, NUL and lone surrogates become
    visible. Idempotent.
    """
    text, _ = clean(text)
    if text.replace("\n", "").replace("\t", "").isprintable():
        # No control or format character at all; only fillers, which count as printable, can be.
        return text if text.isascii() else INVISIBLE.sub("", text)
    # Removing one sequence can bring the halves of another together.
    while (shorter := INVISIBLE.sub("", _LINE_END.sub("\n", ANSI.sub("", text)))) != text:
        text = shorter
    return text


def rebuild(
    value: Any,
    text: Callable[[str, str], str],
    *,
    number: Callable[[float], float | str] | None = None,
) -> Any:
    """Build a JSON value anew with every string and key passed through ``text(string, name)``.

    ``name`` is the key the string stands under, through lists too; it is empty for keys and at
    the top. Floats pass through ``number``. Keys that become equal stay apart: the later one gets
    " (2)", " (3)" … Tuples become lists. Raises InvalidInput for what is no JSON, or is nested
    deeper than MAX_DEPTH.
    """
    return _Rebuild(text, number).value(value, "", 0)


@dataclass(frozen=True, slots=True)
class _Rebuild:
    text: Callable[[str, str], str]
    number: Callable[[float], float | str] | None

    def value(self, node: Any, name: str, depth: int) -> Any:
        if isinstance(node, str):
            return self.text(node, name)
        if isinstance(node, float):
            return self.number(node) if self.number else node
        if node is None or isinstance(node, bool | int):
            return node
        if depth == MAX_DEPTH:
            raise InvalidInput(
                f"This JSON is nested deeper than {MAX_DEPTH} levels; flatten it.",
                code="too_large",
            )
        if isinstance(node, list | tuple):
            return [self.value(item, name, depth + 1) for item in node]
        if isinstance(node, dict):
            return self.members(node, depth + 1)
        raise InvalidInput(f"{type(node).__name__} is no JSON type; send it as a string.")

    def members(self, node: dict[Any, Any], depth: int) -> dict[str, Any]:
        built: dict[str, Any] = {}
        twins: Counter[str] = Counter()
        for key, item in node.items():
            if not isinstance(key, str):
                raise InvalidInput(f"A JSON key is a string, not {type(key).__name__}.")
            name = free = self.text(key, "")
            while free in built:
                twins[name] += 1
                free = f"{name} ({twins[name] + 1})"
            built[free] = self.value(item, key, depth)
        return built


def _gather(node: Any, depth: int, found: list[str]) -> bool:
    """Add a JSON value's strings and keys to a list; return whether all else is fit to be stored.

    What is doubtful is not fit.
    """
    kind = type(node)
    if kind is str:
        found.append(node)
        return True
    if kind is dict:
        return depth > 0 and _gather_members(node, depth - 1, found)
    if kind is list:
        return depth > 0 and all(_gather(each, depth - 1, found) for each in node)
    if kind is float:
        return math.isfinite(node)
    return node is None or kind is int or kind is bool


def _gather_members(node: dict[Any, Any], depth: int, found: list[str]) -> bool:
    for key, each in node.items():
        if type(key) is not str:
            return False
        found.append(key)
        if type(each) is str:  # most are, and a call costs more than all the rest
            found.append(each)
        elif not _gather(each, depth, found):
            return False
    return True


def _is_clean(text: str) -> bool:
    """Tell whether PostgreSQL takes a text as it is."""
    if "\x00" in text:
        return False
    if text.isascii():
        return True
    try:  # many times faster than a search for surrogates
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _join(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")
