"""Reading sessions from files, as OpenCode wrote them before 1.2 and left them behind.

Each session, message and part is a JSON file, rewritten in place. The checkpoint of a session:
``session`` is how its own file looked, ``messages`` how each message looked (``time:size``, and
behind a ``|`` the same of its parts while it is open), ``open`` which messages may still get parts,
and whether each is final. A message is open until it is final and two others follow it. ``begun``
is the time by which the messages are known again: it stays, whatever becomes of the first of them.
``titles`` counts the titles that it had. ``torn`` is how the session's own file looked when it
could not be read.
"""

import copy
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from importers.base import Batch, Source
from importers.opencode.message import Message, Part, decoded, time_of
from importers.opencode.reading import Reading
from importers.opencode.session import Conversation
from importers.regular import NO_FILE, opened, status_of
from importers.tail import Malformed

__all__ = ["Layout", "read_files"]

_STILL_OPEN: Final = 2  # messages at the end, whose parts may be missing yet
_JSON: Final = ".json"
_OLDEST: Final = "info"  # the folder of sessions in the layout that has all under session/


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where the files of one session lie."""

    session: Path
    storage: Path
    messages: Path
    parts: Path

    @classmethod
    def of(cls, session: Path) -> "Layout":
        """Return the layout that a session's file is in."""
        storage = session.parent.parent.parent
        if session.parent.name == _OLDEST:
            inner = storage / "session"
            return cls(
                session=session,
                storage=storage,
                messages=inner / "message" / session.stem,
                parts=inner / "part" / session.stem,
            )
        return cls(
            session=session,
            storage=storage,
            messages=storage / "message" / session.stem,
            parts=storage / "part",
        )


def read_files(source: Source, state: Mapping[str, Any] | None) -> Batch:
    """Read one batch of changed messages of a session.

    Raises OSError when the session's own file is gone, or cannot be opened.
    """
    layout = Layout.of(source.path)
    before = dict(state or {})
    files = _Files(layout, before)
    own = _look(source.path)
    changed = files.changed()
    if before.get("torn") == own or (before.get("session") == own and not changed):
        return Batch(state=before)
    reading = Reading()
    try:
        session = _session(layout)
    except Malformed as error:  # whose the messages are is not known: wait until it changes
        reading.add_torn(str(source.path), 0, str(error))
        reading.batch.state = {**before, "torn": own}
        return reading.batch
    begun = before.get("begun") or files.begun()
    titles = copy.deepcopy(before.get("titles", {}))
    conversation = Conversation.of(session["id"], session.get("parent_id"), begun)
    if before.get("session") != own:
        session.setdefault("directory", files.directory())
        reading.add_session(session, titles)
    after = {
        "session": own,
        "titles": titles,
        "begun": begun,
        "messages": files.known,
        "open": files.open,
    }
    for name, look in changed:
        if reading.is_full:
            reading.batch.finished = False
            break
        files.read(name, look, reading, conversation)
    reading.batch.state = after
    return reading.batch


class _Files:
    """The messages of one session, and what the checkpoint knows of them."""

    def __init__(self, layout: Layout, state: Mapping[str, Any]) -> None:
        self._layout = layout
        self._names = _names(layout.messages)
        self._last = frozenset(self._names[-_STILL_OPEN:])
        self.known: dict[str, str] = dict(state.get("messages") or {})
        self.open: dict[str, bool] = {
            name: is_final
            for name, is_final in (state.get("open") or {}).items()
            if name in self._last or not is_final
        }

    def changed(self) -> list[tuple[str, str]]:
        """Return the messages that look otherwise than when they were read, and how they look."""
        return [
            (name, look)
            for name in self._names
            if (look := self._look(name)) != self._known_look(name)
        ]

    def begun(self) -> int | None:
        """Return when the first message that can be read was made, in milliseconds."""
        first = next(self._readable(), None)
        return None if first is None else time_of(first, "created")

    def directory(self) -> str | None:
        """Return the directory that an answer names, for a session that names none."""
        for data in islice(self._readable(), _STILL_OPEN * 2):
            if isinstance(data.get("path"), dict) and data["path"].get("cwd"):
                return str(data["path"]["cwd"])
        return None

    def read(self, name: str, look: str, reading: Reading, conversation: Conversation) -> None:
        """Read a message with its parts into the batch."""
        path = self._layout.messages / f"{name}{_JSON}"
        parts = self._part_files(name)
        is_final = False
        try:
            row, data = _decoded(path)
        except Malformed as error:
            reading.add_torn(str(path), 0, str(error), parts=len(parts))
        else:
            message = Message(
                row=row,
                kind=str(data.get("role")),
                created=time_of(data, "created") or 0,
                data=data,
                parts=[_part(each) for each in parts],
            )
            is_final = message.is_final and message.is_whole
            reading.add_message(message, conversation, is_row=False)
        self.open.pop(name, None)
        if name in self._last or not is_final:
            self.open[name] = is_final
            look = look if "|" in look else f"{look}|{self._look_of_parts(name)}"
        self.known[name] = look

    def _readable(self) -> Iterator[dict[str, Any]]:
        for name in self._names:
            with suppress(Malformed):  # counted when the message itself is read
                yield _decoded(self._layout.messages / f"{name}{_JSON}")[1]

    def _known_look(self, name: str) -> str | None:
        known = self.known.get(name)
        return known if known is None or name in self.open else known.split("|", 1)[0]

    def _look(self, name: str) -> str:
        look = _look_of_one(self._layout.messages / f"{name}{_JSON}")
        return f"{look}|{self._look_of_parts(name)}" if name in self.open else look

    def _look_of_parts(self, name: str) -> str:
        return " ".join(_look_of_one(path) for path in self._part_files(name))

    def _part_files(self, message: str) -> list[Path]:
        folder = self._layout.parts / message
        return [folder / f"{name}{_JSON}" for name in _names(folder)]


def _session(layout: Layout) -> dict[str, Any]:
    """Return a session with the names of the tables' columns. Raises Malformed and OSError."""
    _, data = _parsed(layout.session, _bytes(layout.session))
    project = data.get("projectID")
    session = {
        **data,
        "id": layout.session.stem,
        "project_id": project,
        "parent_id": data.get("parentID"),
        "time_created": time_of(data, "created"),
        "time_updated": time_of(data, "updated"),
    }
    about = layout.storage / "project" / f"{project}{_JSON}"
    if project and about.is_file():
        with suppress(Malformed):  # an ornament: the session has its own directory
            session["worktree"] = _decoded(about)[1].get("worktree")
    return session


def _decoded(path: Path) -> tuple[Any, dict[str, Any]]:
    try:
        raw = _bytes(path)
    except FileNotFoundError:
        raise Malformed(f"{path.name} went away while it was read") from None
    except OSError as error:
        if error.errno not in NO_FILE:
            raise
        raise Malformed(f"{path.name} cannot be read: {error.strerror}") from error
    return _parsed(path, raw)


def _bytes(path: Path) -> bytes:
    with opened(path) as file:
        return file.read()


def _parsed(path: Path, raw: bytes) -> tuple[Any, dict[str, Any]]:
    return decoded(raw, path=str(path), place=0, name=path.stem)


def _part(path: Path) -> Part:
    try:
        row, data = _decoded(path)
    except Malformed as error:
        return Part.torn(error, path=str(path), place=0, name=path.stem)
    return Part(row=row, data=data)


def _names(folder: Path) -> list[str]:
    """Return the ids of the files in a folder, which are in order of time."""
    try:
        found = [path.name for path in folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(name.removesuffix(_JSON) for name in found if name.endswith(_JSON))


def _look(path: Path) -> str:
    """Return what changes when a file does, or when it can be read at last. Raises OSError."""
    status = status_of(path)
    readable = "" if os.access(path, os.R_OK) else "!"
    return f"{status.st_mtime_ns}:{status.st_size}{readable}"


def _look_of_one(path: Path) -> str:
    """Return the same for one of many, which must not keep the others back."""
    try:
        return _look(path)
    except OSError as error:
        if error.errno not in NO_FILE:
            raise
        return f"!{error.errno}"
