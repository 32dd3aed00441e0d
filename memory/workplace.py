"""Workplaces: the directory that a session works in, and the repository that it belongs to.

Read from git's own files (gitrepository-layout(5), git-config(5)), without starting git. What a
client recorded itself counts before what the disk says now, because directories vanish and are
used again. Standard library alone.
"""

import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from memory.remotes import normalised

__all__ = ["DISK", "Disk", "Workplace", "look", "settled"]

MAX_FILE_BYTES: Final = 1024 * 1024
"""The most that is read of one of git's files; a configuration takes a few hundred bytes."""
MAX_DEPTH: Final = 64  # folders above a directory that are looked at
MAX_REMOTES: Final = 20

_WORKTREES: Final = "/.claude/worktrees/"  # where Claude Code puts its own
_ORIGIN: Final = "origin"

_SECTION: Final = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_VARIABLE: Final = re.compile(r"([A-Za-z][A-Za-z0-9-]*)\s*=\s*(.*)")


def _read(path: str) -> bytes | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - a string in, as everything here
        if stat.S_ISDIR(status.st_mode):
            return b""
        if not stat.S_ISREG(status.st_mode):  # a pipe would be waited for
            return None
        with open(path, "rb") as file:  # noqa: PTH123 - as above
            return file.read(MAX_FILE_BYTES)
    except (OSError, ValueError):  # ValueError: a path with a NUL byte
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """All that is asked of a file system.

    ``read`` returns the beginning of a file, empty bytes for a folder, None for what is not there
    or cannot be read. ``real`` returns a path without symbolic links.
    """

    read: Callable[[str], bytes | None] = _read
    real: Callable[[str], str] = os.path.realpath


DISK: Final = Disk()
"""The disk of this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """Where a session works.

    ``root`` is the main folder of the repository, the same for all its worktrees; None without
    one. ``remotes`` are normalised (`memory.remotes`): the remote that counts, several when none
    of them is called origin, none when there is no remote.
    """

    directory: str
    root: str | None = None
    remotes: tuple[str, ...] = ()

    @property
    def remote(self) -> str | None:
        """The remote that counts, or None when there is none or several."""
        return self.remotes[0] if len(self.remotes) == 1 else None


def look(directory: str, *, disk: Disk = DISK) -> Workplace:
    """Return the workplace that a directory is, as far as the disk tells."""
    return settled(Workplace(directory=directory), disk=disk)


def settled(recorded: Workplace, *, disk: Disk = DISK) -> Workplace:
    """Return a recorded workplace with what the disk adds, where the client told no remote."""
    if recorded.remotes:
        return recorded
    directory = recorded.directory
    found = _in_repository(directory, disk)
    if found is not None:
        return found
    before, mark, _ = directory.partition(_WORKTREES)
    return Workplace(directory=directory, root=recorded.root or (before if mark else None))


def _in_repository(directory: str, disk: Disk) -> Workplace | None:
    """Return the workplace of a directory in a repository.

    A folder that is gone belongs to none: one above it says nothing of what it was.
    """
    if not directory.startswith("/") or disk.read(directory) != b"":
        return None
    for folder in _upwards(disk.real(directory)):
        git = _git_folder(folder, disk)
        if git is None:
            continue
        common = _common_folder(git, disk)
        sections = _sections(disk.read(f"{common}/config") or b"")
        root = disk.real(_main_folder(folder, git, common, sections, disk))
        return Workplace(directory=directory, root=root, remotes=_remotes(sections, base=root))
    return None


def _upwards(folder: str) -> Iterator[str]:
    for _ in range(MAX_DEPTH):
        yield folder
        above = os.path.dirname(folder)  # noqa: PTH120 - a string in, as everything here
        if above == folder:
            return
        folder = above


def _git_folder(folder: str, disk: Disk) -> str | None:
    """Return the folder with git's files for this one, when it is the top of a work tree or bare."""
    found = disk.read(f"{folder}/.git")
    if found is None:
        is_bare = disk.read(f"{folder}/objects") == b"" and disk.read(f"{folder}/refs") == b""
        return folder if is_bare and disk.read(f"{folder}/HEAD") else None
    if found == b"":
        return f"{folder}/.git" if disk.read(f"{folder}/.git/HEAD") else None
    return _named_folder(found, folder)


def _named_folder(file: bytes, folder: str) -> str | None:
    """Return the folder that a ``.git`` file names: of a worktree, a submodule, one kept apart."""
    first = file.decode(errors="surrogateescape").partition("\n")[0]
    if not first.startswith("gitdir:"):
        return None
    return _under(folder, first.removeprefix("gitdir:").strip())


def _common_folder(git: str, disk: Disk) -> str:
    """Return the folder that all worktrees of a repository share."""
    found = disk.read(f"{git}/commondir")
    if found:
        return _under(git, found.decode(errors="surrogateescape").strip())
    above = os.path.dirname(git)  # noqa: PTH120 - a string in, as everything here
    if above.endswith("/worktrees") and not disk.read(f"{git}/HEAD"):
        return above.removesuffix("/worktrees")  # a worktree that was pruned
    return git


def _main_folder(
    folder: str,
    git: str,
    common: str,
    sections: list[tuple[str, str, str, str]],
    disk: Disk,
) -> str:
    """Return what names the repository among those of this disk: its main work tree, if any."""
    above, name = os.path.split(common)
    if name == ".git":
        return above
    for section, _, variable, value in sections:
        if (section, variable) == ("core", "worktree") and value:  # a submodule
            return _under(common, value)
    pointing = disk.read(f"{above}/.git")
    if pointing and _named_folder(pointing, above) == common:  # beside its worktrees
        return above
    return folder if git == common else common


def _remotes(sections: list[tuple[str, str, str, str]], *, base: str) -> tuple[str, ...]:
    """Return the remote called origin, else all of them."""
    urls: dict[str, str] = {}
    for section, name, variable, value in sections:
        if (section, variable) == ("remote", "url") and name and value:
            urls.setdefault(name, value)  # the first is what is fetched from
    if _ORIGIN in urls:
        urls = {_ORIGIN: urls[_ORIGIN]}
    found = (normalised(_replaced(url, sections), base=base) for url in urls.values())
    return tuple(sorted({each for each in found if each}))[:MAX_REMOTES]


def _replaced(url: str, sections: list[tuple[str, str, str, str]]) -> str:
    """Apply the longest ``url.<base>.insteadOf`` of the same file, as git does."""
    rules = [
        (value, name)
        for section, name, key, value in sections
        if (section, key) == ("url", "insteadof") and value and url.startswith(value)
    ]
    if not rules:
        return url
    prefix, base = max(rules, key=lambda rule: len(rule[0]))
    return base + url.removeprefix(prefix)


def _sections(config: bytes) -> list[tuple[str, str, str, str]]:
    """Return (section, subsection, variable, value) of each line; includes are left out."""
    found: list[tuple[str, str, str, str]] = []
    section = subsection = ""
    text = config.decode(errors="surrogateescape").removeprefix("\ufeff")
    for line in text.replace("\r\n", "\n").replace("\\\n", "").split("\n"):
        rest = line.strip()
        if opened := _SECTION.match(rest):
            section = opened[1].lower()
            subsection = re.sub(r"\\(.)", r"\1", opened[2] or "")
            rest = rest[opened.end() :].strip()
        if variable := _VARIABLE.match(rest):
            found.append((section, subsection, variable[1].lower(), _value(variable[2])))
    return found


def _value(text: str) -> str:
    """Return a value without quotes, escapes and the comment behind it."""
    value: list[str] = []
    quoted = False
    characters = iter(text)
    for character in characters:
        if character == "\\":
            value.append(next(characters, ""))
        elif character == '"':
            quoted = not quoted
        elif character in "#;" and not quoted:
            break
        else:
            value.append(character)
    return "".join(value).strip()


def _under(folder: str, path: str) -> str:
    return os.path.normpath(os.path.join(folder, path))  # noqa: PTH118 - a string in, as everything here
