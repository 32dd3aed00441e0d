"""Secrets known by the login they are part of: headers, URLs, options, files of logins."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from memory.crud_secret.anchors import Places
from memory.crud_secret.values import decoded, is_placeholder, is_reference, is_wordy, random_length

__all__ = ["ANCHORS", "WORDS", "find_logins"]

ANCHORS: Final = ("://", "-u", "--user", "login", "sshpass", "mysql", "mariadb")
WORDS: Final = ("bear", "basi", "auth")
"""Their beginnings are enough: the patterns look at the rest."""

_Found = tuple[str, int, int]

_SPACE: Final = r"(?:[ \t]|%20|\+){1,4}"
_BEARER: Final = re.compile(rf"(?i:bearer){_SPACE}([\w.~+/-]{{12,}}={{0,2}})", re.ASCII)
_BASIC: Final = re.compile(rf"(?i:basic){_SPACE}([A-Za-z0-9+/_-]{{8,}}={{0,2}})", re.ASCII)

_URL: Final = re.compile(
    r"""://([^\s/?#@:"'`<>\\]{0,256}+)(?::([^\s/?#@:"'`<>\\]{1,512}+))?@(?=[\w\[$<{%*])"""
)
SHORTEST_URL_PASSWORD: Final = 6
SHORTEST_URL_TOKEN: Final = 16
# curl -u user:password; a number is a user of the system (docker run -u 1000:1000).
_USER_OPTION: Final = re.compile(
    r"""(?<=[ \t"'])(?:-u|--user)[ =]["']?([^\s:"'`\\/]{1,64}):([^\s"'`\\]{4,256})"""
)
# sshpass -p password, mysql -u root -ppassword: after a few other words of the same command.
_ARGUMENT: Final = r"(?:\\{0,7}[\"'])?(?P<value>[^\s\"'`\\;|&<>()-][^\s\"'`\\;|&<>()]{3,255})"
_SSHPASS: Final = re.compile(
    rf"sshpass(?:[ \t]{{1,4}}-[a-z]{{1,4}}){{0,3}}?[ \t]{{1,4}}-p[ \t]{{0,4}}{_ARGUMENT}"
)
_MYSQL: Final = re.compile(
    r"(?<![\w-])(?:mysql(?:dump|admin|show|check|import)?|mariadb(?:-(?:dump|admin))?)(?:\.exe)?"
    r"(?:[ \t]{1,4}(?!-p[^ \t])[^\s;|&<>]{1,64}){0,12}?[ \t]{1,4}-p" + _ARGUMENT
)
_PORTS: Final = re.compile(r"[\d.:]+(?:/(?:tcp|udp))?\Z")  # docker run --name mysql -p3306:3306
# A line of .netrc, and what Docker and npm write: user and password in base64.
_NETRC: Final = re.compile(r"login[ \t]+(\S{1,128})\s+password[ \t]+([^\s\"'`\\]{4,256})")
_STORED: Final = re.compile(r"""auth(?:\\{0,7}"[ \t]*:[ \t]*\\{0,7}"|=)([A-Za-z0-9+/]{8,}={0,2})""")


def find_logins(text: str, places: Places) -> Iterator[_Found]:
    """Yield kind, start and end."""
    yield from _headers(text, places)
    yield from _urls(text, places.get("://", ()))
    for anchor, pattern in (("-u", _USER_OPTION), ("--user", _USER_OPTION), ("login", _NETRC)):
        for found in _at(pattern, text, places.get(anchor, ())):
            user, password = found[1], found[2].rstrip(",.;)")
            if _is_login(user, password):
                yield "login", found.start(2), found.start(2) + len(password)
    for anchor, pattern in (("sshpass", _SSHPASS), ("mysql", _MYSQL), ("mariadb", _MYSQL)):
        for found in _at(pattern, text, places.get(anchor, ())):
            if _is_argument(found["value"]):
                yield "login", *found.span("value")
    for found in _at(_STORED, text, places.get("auth", ())):
        if _is_basic(found[1]):
            yield "basic", found.start(1), found.end(1)


def _is_login(user: str, password: str) -> bool:
    """Tell a login from a pair of ids and from prose."""
    mixed = not (password.isalpha() or password.isdigit())
    return mixed and not user.isdigit() and not _is_dummy(user, password)


def _is_argument(password: str) -> bool:
    """Tell a password on a command line from a word of prose, a number and a mapping of ports."""
    if _PORTS.match(password) or _is_dummy("", password):
        return False
    return not (password.isalpha() and is_wordy(password))


def _headers(text: str, places: Places) -> Iterator[_Found]:
    for found in _at(_BEARER, text, places.get("bear", ())):
        value = found[1]
        if random_length(value) >= 10 and not is_placeholder(value):
            yield "bearer", found.start(1), found.end(1)
    for found in _at(_BASIC, text, places.get("basi", ())):
        if _is_basic(found[1]):
            yield "basic", found.start(1), found.end(1)


def _at(pattern: re.Pattern[str], text: str, starts: Iterable[int]) -> Iterator[re.Match[str]]:
    resume = 0
    for start in starts:
        found = pattern.match(text, start) if start >= resume else None
        if found:
            yield found
            resume = found.end()


def _is_basic(value: str) -> bool:
    """Tell whether the value decodes to user and password (RFC 7617)."""
    try:
        pair = decoded(value).decode()
    except ValueError:
        return False
    user, colon, password = pair.partition(":")
    return bool(colon) and pair.isprintable() and not _is_dummy(user, password)


def _urls(text: str, starts: Iterable[int]) -> Iterator[_Found]:
    for start in starts:
        found = _URL.match(text, start)
        if found and text[start - 1 : start].isalnum() and "[redacted" not in found[1]:
            user, password = found[1], found[2]
            if password is None:
                if len(user) >= SHORTEST_URL_TOKEN and random_length(user) >= 12:
                    yield "url-password", found.start(1), found.end(1)
            elif not _is_dummy(user, password):
                yield "url-password", found.start(2), found.end(2)


def _is_dummy(user: str, password: str) -> bool:
    if len(password) < SHORTEST_URL_PASSWORD and (len(password) < 4 or password.isalpha()):
        return True
    return (
        is_placeholder(password)
        or (is_reference(password) and not password.startswith("%"))
        or ("%(" in password or password in ("%s", "%d"))
        or password.lower() == user.lower()
    )
