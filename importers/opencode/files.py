"""Reading sessions from files, as OpenCode wrote them before 1.2 and left them behind.

Each session, message and part is a JSON file, rewritten in place. The checkpoint of a session:
``session`` is how its own file looked, ``messages`` how each message looked with all its parts (a
hash of their times and sizes), since the client may change a part long after the message. ``begun``
is the time by which the messages are known again: it stays, whatever becomes of the first of them.
``titles`` counts the titles that it had. ``torn`` is how the session's own file looked when it
could not be read.
"""

import copy
import hashlib
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

_NAMING: Final = 4  # messages at the beginning, one of which names the directory
_LOOK_DIGITS: Final = 16
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
        self._looks = _looks(layout.messages)
        self.known: dict[str, str] = dict(state.get("messages") or {})

    def changed(self) -> list[tuple[str, str]]:
        """Return the messages that look otherwise than when they were read, and how they look.

        What changes after this look is seen by the next one.
        """
        looks = {name: self._look(name, own) for name, own in self._looks.items()}
        return [(name, look) for name, look in looks.items() if look != self.known.get(name)]

    def begun(self) -> int | None:
        """Return when the first message that can be read was made, in milliseconds."""
        first = next(self._readable(), None)
        return None if first is None else time_of(first, "created")

    def directory(self) -> str | None:
        """Return the directory that an answer names, for a session that names none."""
        for data in islice(self._readable(), _NAMING):
            if isinstance(data.get("path"), dict) and data["path"].get("cwd"):
                return str(data["path"]["cwd"])
        return None

    def read(self, name: str, look: str, reading: Reading, conversation: Conversation) -> None:
        """Read a message with its parts into the batch."""
        path = self._layout.messages / f"{name}{_JSON}"
        parts = self._part_files(name)
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
            reading.add_message(message, conversation, is_row=False)
        self.known[name] = look

    def _readable(self) -> Iterator[dict[str, Any]]:
        for name in self._looks:
            with suppress(Malformed):  # counted when the message itself is read
                yield _decoded(self._layout.messages / f"{name}{_JSON}")[1]

    def _look(self, name: str, own: str) -> str:
        looks = [own, *(f"{part} {look}" for part, look in _looks(self._parts_of(name)).items())]
        whole = "\n".join(looks).encode(errors="surrogatepass")
        return hashlib.sha256(whole).hexdigest()[:_LOOK_DIGITS]

    def _part_files(self, message: str) -> list[Path]:
        folder = Path(self._parts_of(message))
        return [folder / f"{name}{_JSON}" for name in _looks(folder)]

    def _parts_of(self, message: str) -> str:
        return f"{self._layout.parts}/{message}"


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


def _look(path: Path) -> str:
    """Return what changes when a file does, or when it can be read at last. Raises OSError."""
    return _look_of(status_of(path))


def _look_of(status: os.stat_result) -> str:
    return f"{status.st_mtime_ns}:{status.st_size}:{status.st_mode:o}:{status.st_uid}"


def _looks(folder: Path | str) -> dict[str, str]:
    """Return how the files in a folder look, by their ids, which are in order of time."""
    found: dict[str, str] = {}
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(_JSON):
                    found[entry.name.removesuffix(_JSON)] = _look_of_one(entry)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    return dict(sorted(found.items()))


def _look_of_one(entry: "os.DirEntry[str]") -> str:
    """Return the look of one file of many, which must not keep the others back."""
    try:
        return _look_of(entry.stat())
    except FileNotFoundError:
        return "!"  # a link to nothing, or it went just now
    except OSError as error:
        if error.errno not in NO_FILE:
            raise
        return f"!{error.errno}"
