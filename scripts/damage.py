"""Damage to a client's store, of every kind that a disk, a kill or an attacker may do to it."""

import json
import os
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

__all__ = ["damage"]

_DEEP: Final = 2_000
_HUGE: Final = (10**400, -(2**63) - 1, 2**64, 1e308, 10**5000, -1, 0)
_ODD_TEXTS: Final = ("\x00", "a\x00b", "\u2028", "\r", "\ud800", "\udc00\ud800", "", "x" * 70_000)
_ODD_BYTES: Final = (
    b"\xff\xfe",
    b"\xc0\xaf",
    b"\xed\xa0\x80",
    b"\x00\x00",
    b"\xf8\x88\x80\x80\x80",
)
_JSON: Final = (".json", ".jsonl")

_Way = Callable[[random.Random, Path], None]


def damage(chance: random.Random, root: Path) -> set[Path]:
    """Do one to three kinds of damage to files under a folder; return the files that were met."""
    met: set[Path] = set()
    for _ in range(chance.randint(1, 3)):
        files = sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
        if not files:
            break
        path = chance.choice(files)
        ways: tuple[_Way, ...] = (*_BYTES, *_BYTES, *_PLACES)
        if path.suffix in _JSON:
            ways = (*ways, *(3 * _LINES))
        elif path.suffix == ".db":
            ways = (*ways, *(9 * (_rows,)))
        chance.choice(ways)(chance, path)
        met.add(path)
    return met


def _flip(chance: random.Random, path: Path) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(chance.randint(1, 8)):
        if data:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def _cut(chance: random.Random, path: Path) -> None:
    os.truncate(path, chance.randrange(path.stat().st_size + 1))


def _leave_out(chance: random.Random, path: Path) -> None:
    data = path.read_bytes()
    start = chance.randrange(len(data) + 1)
    path.write_bytes(data[:start] + data[start + chance.randint(1, 300) :])


def _insert(chance: random.Random, path: Path) -> None:
    data = path.read_bytes()
    start = chance.randrange(len(data) + 1)
    path.write_bytes(data[:start] + chance.choice(_ODD_BYTES) + data[start:])


def _glue(chance: random.Random, path: Path) -> None:
    """Put one half of a line behind another half, as two writers without a lock do."""
    lines = path.read_bytes().split(b"\n")
    first, second = chance.choice(lines), chance.choice(lines)
    half, rest = chance.randrange(len(first) + 1), chance.randrange(len(second) + 1)
    lines.insert(chance.randrange(len(lines)), first[:half] + second[rest:])
    path.write_bytes(b"\n".join(lines))


def _swap(chance: random.Random, path: Path) -> None:
    """Put something of another type, of a huge size or of odd characters at some place."""
    _change_lines(chance, path, lambda value: _changed(chance, value))


def _double_a_key(chance: random.Random, path: Path) -> None:
    lines = path.read_bytes().split(b"\n")
    number = chance.randrange(len(lines))
    odd = json.dumps(_odd(chance)).encode()
    name = chance.choice((b"type", b"uuid", b"payload", b"message", b"id", b"timestamp"))
    lines[number] = lines[number].replace(b"{", b'{"' + name + b'":' + odd + b",", 1)
    path.write_bytes(b"\n".join(lines))


def _windows(_chance: random.Random, path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


def _folder(_chance: random.Random, path: Path) -> None:
    path.unlink()
    path.mkdir()


def _pipe(_chance: random.Random, path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _loop(_chance: random.Random, path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def _loop_of_folders(_chance: random.Random, path: Path) -> None:
    (path.parent / "again").unlink(missing_ok=True)
    (path.parent / "again").symlink_to(path.parent, target_is_directory=True)


def _forbid(chance: random.Random, path: Path) -> None:
    chance.choice((path, path.parent)).chmod(0)  # no harm to root, who may read everything


def _remove(_chance: random.Random, path: Path) -> None:
    path.unlink()


def _rows(chance: random.Random, path: Path) -> None:
    """Change the JSON in some rows of a database, or the type of a column's value."""
    connection = sqlite3.connect(path)
    try:
        for _ in range(chance.randint(1, 4)):
            table = chance.choice(("message", "part", "session"))
            column = chance.choice(("data", "data", "time_created", "time_updated", "id"))
            row = connection.execute(
                f"SELECT rowid, {column} FROM {table} ORDER BY random() LIMIT 1"  # noqa: S608 - our own names
            ).fetchone()
            if row is None:
                continue
            value = _new_cell(chance, row[1])
            connection.execute(
                f"UPDATE OR IGNORE {table} SET {column} = ? WHERE rowid = ?",  # noqa: S608 - our own names
                (value, row[0]),
            )
        connection.commit()
    except (sqlite3.Error, OverflowError, UnicodeError):
        pass  # an earlier kind of damage has met this database, or it takes no such value
    finally:
        connection.close()


def _new_cell(chance: random.Random, old: Any) -> Any:
    if isinstance(old, str) and old.startswith("{") and chance.random() < 0.7:
        try:
            return json.dumps(_changed(chance, json.loads(old)))
        except (ValueError, RecursionError):
            return old
    return chance.choice((None, 5, -(2**63), 2**63 - 1, 1.5, "text", b"\xff\x00", "{", "[]", ""))


def _change_lines(chance: random.Random, path: Path, change: Callable[[Any], Any]) -> None:
    whole = path.suffix == ".json"
    lines = [path.read_bytes()] if whole else path.read_bytes().split(b"\n")
    for _ in range(chance.randint(1, 4)):
        number = chance.randrange(len(lines))
        try:
            lines[number] = json.dumps(change(json.loads(lines[number]))).encode()
        except (ValueError, RecursionError):
            continue  # damaged before
    path.write_bytes(b"\n".join(lines))


def _changed(chance: random.Random, value: Any) -> Any:
    """Return a JSON value with one of its nodes replaced, or taken away."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice(list(value))
        if chance.random() < 0.1:
            return {name: each for name, each in value.items() if name != key}
        return {**value, key: _changed(chance, value[key])}
    if isinstance(value, list) and value and chance.random() < 0.9:
        place = chance.randrange(len(value))
        return [*value[:place], _changed(chance, value[place]), *value[place + 1 :]]
    return _odd(chance)


def _odd(chance: random.Random) -> Any:
    deep: Any = "deep"
    if chance.random() < 0.1:
        for _ in range(chance.choice((50, 250, 900))):
            deep = chance.choice(([deep], {"a": deep}))
    simple = (
        None,
        True,
        3.5,
        [],
        {},
        [[]],
        {"text": 1},
        "text",
        ["text"],
        chance.choice(_ODD_TEXTS),
    )
    return chance.choice((*simple, chance.choice(_HUGE[:4] + _HUGE[5:]), deep))


def _nest(chance: random.Random, path: Path) -> None:
    lines = path.read_bytes().split(b"\n")
    number = chance.randrange(len(lines))
    lines[number] = chance.choice((b"[", b'{"a":')) * _DEEP + lines[number]
    path.write_bytes(b"\n".join(lines))


def _grow(chance: random.Random, path: Path) -> None:
    """Put a number of thousands of digits into a line."""
    lines = path.read_bytes().split(b"\n")
    number = chance.randrange(len(lines))
    lines[number] = lines[number].replace(b"{", b'{"timestamp":' + b"9" * 5000 + b",", 1)
    path.write_bytes(b"\n".join(lines))


_BYTES: Final[tuple[_Way, ...]] = (_flip, _cut, _leave_out, _insert)
_LINES: Final[tuple[_Way, ...]] = (
    _glue,
    _swap,
    _swap,
    _swap,
    _double_a_key,
    _windows,
    _nest,
    _grow,
)
_PLACES: Final[tuple[_Way, ...]] = (_folder, _pipe, _loop, _loop_of_folders, _forbid, _remove)
