"""The spool: signals of clients, as small files, until what they point to is in the ledger.

``MEMORY_HOME/spool`` holds one ``<client>.<session>[.<agent>].json`` for each conversation that has
something new; a later signal takes the place of the one before it. Ids and paths stand in them, never
what was said. Beside them: ``.taken`` is what an importer reads now, ``<client>.lock`` is held by
whoever reads the spool, the time of ``<client>.last`` is that of the last hook, that of ``<client>.failed``
when reading failed last, that of ``<client>.unmatched`` when a signal fitted no store; ``<client>.log``
is what the importer said that a hook started last, and ``damaged`` holds what cannot be understood.

A client waits for its hooks, so this module takes the quick parts of the standard library alone:
not even typing, pathlib or dataclasses, each of which costs more than all the work done here.
"""

import errno
import fcntl
import os
import time

from importers import quick_json

TYPE_CHECKING = False  # typing's own costs an import; checkers know this name
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

__all__ = [
    "DAMAGED",
    "DRAFT",
    "FAILED",
    "LAST",
    "MAX_FILE_BYTES",
    "MAX_WAITING",
    "TAKEN",
    "UNMATCHED",
    "WAITING",
    "Full",
    "Signal",
    "folder_of",
    "forget",
    "home_of",
    "is_any_new",
    "is_name",
    "lock",
    "lock_path",
    "make",
    "noted",
    "open_log",
    "parsed",
    "sync",
    "touch",
    "waiting",
    "write",
]

FORMAT = 1
"""What is written; anything else is set aside when it is read."""

MAX_WAITING = 2000
"""Conversations that wait at most; beyond, an importer that reads everything finds them too."""

MAX_FILE_BYTES = 16 * 1024
MAX_PATH = 4096
MAX_NAME = 100

WAITING = ".json"
TAKEN = ".taken"
DRAFT = ".draft"
LOCK = ".lock"
LAST = ".last"
FAILED = ".failed"
UNMATCHED = ".unmatched"
LOG = ".log"
DAMAGED = "damaged"

_ACCOUNT = "shared-memory"  # memory.settings.SERVICE_ACCOUNT; a test holds them together
_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")


class Full(OSError):
    """So many signals wait that one more changes nothing."""


class Signal:
    """What a client said: this conversation has something new.

    ``path`` is the file that the client named, if it did. ``told`` is a checksum of the last thing
    that was said, to be looked for in the file; ``at`` is a time in seconds.
    """

    __slots__ = ("agent", "at", "client", "event", "path", "session", "told")

    def __init__(
        self,
        *,
        client: str,
        session: str,
        agent: str = "",
        event: str = "",
        path: str = "",
        told: str = "",
        at: float = 0.0,
    ) -> None:
        """Keep the values; `write` and `parsed` check them."""
        self.client = client
        self.session = session
        self.agent = agent
        self.event = event
        self.path = path
        self.told = told
        self.at = at

    @property
    def name(self) -> str:
        """The name of its file, without what says how far it is."""
        return ".".join(each for each in (self.client, self.session, self.agent) if each)

    def facts(self) -> "dict[str, Any]":
        """Return it as JSON-safe values."""
        return {name: getattr(self, name) for name in self.__slots__}


def home_of(environment: "Mapping[str, str]") -> str:
    """Return MEMORY_HOME as `memory.settings` reads it. Raises OSError where there is no home."""
    chosen = environment.get("MEMORY_HOME", "")
    if chosen:
        return os.path.abspath(os.path.expanduser(chosen))  # noqa: PTH100, PTH111 - see above
    if os.geteuid() == 0:
        return f"/var/lib/{_ACCOUNT}"
    data = environment.get("XDG_DATA_HOME", "")
    if not data:
        user = os.path.expanduser("~")  # noqa: PTH111 - see above
        if not os.path.isabs(user):  # noqa: PTH117 - see above
            raise OSError(errno.ENOENT, "there is no home folder; set MEMORY_HOME")
        data = f"{user}/.local/share"
    return f"{data}/{_ACCOUNT}"


def folder_of(home: str) -> str:
    """Return the spool's folder in a home."""
    return f"{home}/spool"


def is_name(text: object) -> bool:
    """Tell whether a client's id can be part of a file's name as it is."""
    return isinstance(text, str) and 0 < len(text) <= MAX_NAME and _SAFE.issuperset(text)


def write(folder: str, signal: Signal) -> None:
    """Put a signal where the importer finds it, in the place of an older one of its name.

    It is whole and on the disk when it has its name. That it is still there when the power fails
    now is seen to by `sync`, which the reader calls, since the client waits here. Raises Full, OSError.
    """
    make(folder)
    name = f"{signal.name}{WAITING}"
    if len(os.listdir(folder)) >= MAX_WAITING and not os.path.exists(f"{folder}/{name}"):  # noqa: PTH208, PTH110 - see above
        raise Full(errno.ENOSPC, "too many signals wait; the next import reads everything anyway")
    raw = quick_json.dumps({"format": FORMAT, **signal.facts()}).encode()
    draft = f"{folder}/{signal.client}.{os.getpid()}-{time.time_ns()}{DRAFT}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        try:
            if os.write(descriptor, raw) != len(raw):
                raise OSError(errno.ENOSPC, "no room for a signal", draft)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(draft, f"{folder}/{name}")  # noqa: PTH104 - see above
    except BaseException:
        os.unlink(draft)  # noqa: PTH108 - see above
        raise


def parsed(raw: bytes) -> Signal:
    """Return the signal that a file holds. Raises ValueError for what is none."""
    try:
        facts = quick_json.loads(raw)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(facts, dict) or facts.pop("format", None) != FORMAT:
        raise ValueError("no signal of this format")
    if set(facts) != set(Signal.__slots__) or not isinstance(facts["at"], int | float):
        raise ValueError("not the fields of a signal")
    signal = Signal(**facts)
    texts = [facts[name] for name in Signal.__slots__ if name != "at"]
    if not all(isinstance(text, str) and len(text) <= MAX_PATH for text in texts):
        raise ValueError("not the values of a signal")
    names = (signal.client, signal.session, *([signal.agent] if signal.agent else ()))
    if not all(is_name(name) for name in names):
        raise ValueError("no names")
    return signal


def waiting(folder: str) -> "Iterator[os.DirEntry[str]]":
    """Yield the files of signals, whole or cut off, none where there is no spool.

    Raises OSError.
    """
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith((WAITING, TAKEN, DRAFT)):
                    yield entry
    except FileNotFoundError:
        return


def is_any_new(folder: str, clients: "Iterable[str]") -> bool:
    """Tell whether a signal of these clients came since an importer looked. Raises OSError."""
    wanted = set(clients)
    names = (entry.name for entry in waiting(folder) if entry.name.endswith(WAITING))
    return any(name.partition(".")[0] in wanted for name in names)


def touch(folder: str, client: str, what: str) -> None:
    """Note the time at which something happened to a client. Raises OSError.

    It called (LAST), its signals could not be read (FAILED), one fitted no store (UNMATCHED).
    """
    make(folder)
    path = f"{folder}/{client}{what}"
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    os.utime(path)


def noted(folder: str, client: str, what: str) -> float:
    """Return the time that was noted last, in seconds; 0 for never. Raises OSError."""
    try:
        return os.stat(f"{folder}/{client}{what}").st_mtime  # noqa: PTH116 - see above
    except FileNotFoundError:
        return 0.0


def forget(folder: str, client: str, what: str) -> None:
    """Take back what was noted. Raises OSError."""
    try:
        os.unlink(f"{folder}/{client}{what}")  # noqa: PTH108 - see above
    except FileNotFoundError:
        return


def open_log(folder: str, client: str) -> int:
    """Return a descriptor of a client's empty log. Raises OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    return os.open(f"{folder}/{client}{LOG}", flags, 0o600)


def lock_path(folder: str, client: str) -> str:
    """Return the file that whoever reads a client's signals holds."""
    return f"{folder}/{client}{LOCK}"


def lock(folder: str, client: str) -> int | None:
    """Return a descriptor that holds the reading of a client's signals; None when another does.

    Whoever has the descriptor, or a copy of it, holds it; it goes with the process. Raises OSError.
    """
    make(folder)
    descriptor = os.open(lock_path(folder, client), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def make(folder: str) -> None:
    """Make a folder of MEMORY_HOME for this account alone, unless it exists. Raises OSError."""
    try:
        os.mkdir(folder, 0o700)  # noqa: PTH102 - see above
    except FileExistsError:
        return
    except FileNotFoundError:
        # The embedded server's account has to pass through a home that root makes.
        os.makedirs(os.path.dirname(folder), 0o755 if os.geteuid() == 0 else 0o700, exist_ok=True)  # noqa: PTH103, PTH120 - see above
        os.makedirs(folder, 0o700, exist_ok=True)  # noqa: PTH103 - see above


def sync(folder: str) -> None:
    """Bring to the disk which signals there are. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
