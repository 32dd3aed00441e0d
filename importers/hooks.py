"""What a client calls when something was said: ``--hook`` and ``--notify``.

It leaves a signal in the spool and sees to it that somebody reads it. The client waits meanwhile, so
whatever happens it is over at once, ends with 0 and leaves standard output empty: some clients give
what stands there to the model. It starts on the standard library alone, see `importers.spool`; by
`importers/hook.py` it does not even wait for the list of installed packages.
"""

import os
import select
import sys
import time
import zlib

from importers import quick_json, spool

TYPE_CHECKING = False  # typing's own costs an import; checkers know this name
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "DEPTH",
    "INSIDE",
    "OPTIONS",
    "Call",
    "Wrong",
    "call_of",
    "checksum",
    "main",
    "signal_of",
]

OPTIONS = ("--hook", "--notify")
"""What a command line begins with that is for this module."""

CLIENTS = ("claude", "codex", "opencode")

DEPTH = "MEMORY_HOOK_DEPTH"
"""How deep a call stands inside of our own work: 1 in a chained program, 2 in an importer."""

INSIDE = 2

RETRY_SECONDS = 30
"""After an importer that a hook started has met no database, hooks start none for so long."""

MAX_DESCRIPTOR = 4096
"""Up to here what a client has left open is closed for the importer that a hook starts."""

MAX_INPUT = 4 * 1024 * 1024
FIRST_BYTE_SECONDS = 0.05
INPUT_SECONDS = 0.5

_READING = frozenset({"Stop", "SubagentStop", "PreCompact", "PostCompact", "SessionEnd"})


class Wrong(Exception):
    """The call is not what a client makes; the message says what is wrong."""


class Call:
    """A command line: which client calls, with which environment, and whom to call after it.

    ``text`` is the JSON of ``--notify``, None for ``--hook``, whose JSON comes on standard input.
    ``then`` is the program that is called after it with the same JSON, empty for none.
    """

    __slots__ = ("client", "environment", "text", "then")

    def __init__(
        self,
        *,
        client: str,
        environment: "dict[str, str]",
        text: str | None = None,
        then: "Sequence[str]" = (),
    ) -> None:
        """Keep the values."""
        self.client = client
        self.environment = environment
        self.text = text
        self.then = list(then)


def call_of(arguments: "Sequence[str]", environment: "Mapping[str, str]") -> Call:
    """Read a command line. Raises Wrong.

    ``--hook CLIENT [-e NAME=VALUE]...`` or
    ``--notify CLIENT [-e NAME=VALUE]... [--then PROGRAM [ARGUMENT]...] JSON``.
    """
    left = list(arguments)
    kind = left.pop(0) if left else ""
    client = left.pop(0) if left else ""
    if kind not in OPTIONS or client not in CLIENTS:
        raise Wrong(f"takes --hook or --notify, and one of {', '.join(CLIENTS)}")
    given = dict(environment)
    while left and left[0] == "-e":
        name, is_given, value = (left[1] if len(left) > 1 else "").partition("=")
        if not name or not is_given:
            raise Wrong("-e takes NAME=VALUE")
        given[name] = value
        del left[:2]
    text = None
    if kind == "--notify":
        if not left:
            raise Wrong("--notify takes the client's JSON as its last argument")
        text = left.pop()
    then: list[str] = []
    if left and left[0] == "--then" and text is not None:
        then, left = left[1:], []
    if left:
        raise Wrong(f"does not take {left[0][:40]!r}")
    return Call(client=client, environment=given, text=text, then=then)


def main(arguments: "Sequence[str]") -> int:
    """Leave the signal and call the next program, if there is one; return 0 whatever happens."""
    call = None
    try:
        _open_streams()
        call = call_of(arguments, os.environ)
        if _depth(call.environment) == 0:
            _signal(call)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the edge: a client must never notice
        _say(error)
    if call is not None and call.then and _depth(call.environment) < INSIDE:
        _become(call)
    return 0


def signal_of(client: str, payload: object) -> spool.Signal | None:
    """Return the signal in what a client says, None when there is nothing to read. Raises Wrong.

    Claude Code 2.1 and Codex 0.171 name alike what they give to hooks, Codex' ``notify`` has
    hyphens; an event of an OpenCode 1.18 plugin has its session under ``properties``.
    """
    if not isinstance(payload, dict):
        raise Wrong("the client's JSON is no object")
    inner = payload.get("properties")
    values = {**inner, **payload} if isinstance(inner, dict) else payload
    event = _text(values, "hook_event_name", "type")
    if "hook_event_name" in values and event not in _READING:
        return None
    session = _text(values, "session_id", "thread-id", "sessionID")
    agent = _text(values, "agent_id")
    if not spool.is_name(session) or (agent and not spool.is_name(agent)):
        raise Wrong("the client's JSON names no session")
    last = _text(values, "last_assistant_message", "last-assistant-message")
    path = _text(values, "agent_transcript_path", "transcript_path")
    return spool.Signal(
        client=client,
        session=session,
        agent=agent,
        event=event[: spool.MAX_NAME],
        path=path if len(path) <= spool.MAX_PATH else "",
        told=checksum(last) if last.strip() else "",
        at=time.time(),
    )


def checksum(text: str) -> str:
    """Return a checksum of a text that does not depend on its white space."""
    return f"{zlib.crc32(' '.join(text.split()).encode('utf-8', 'surrogatepass')):08x}"


def _open_streams() -> None:
    """Let no file of ours become a standard stream that the client has closed. Raises OSError."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free


def _signal(call: Call) -> None:
    text = _input() if call.text is None else call.text
    folder = spool.folder_of(spool.home_of(call.environment))
    spool.touch(folder, call.client, spool.LAST)
    signal = signal_of(call.client, quick_json.loads(text))
    if signal is None:
        return
    spool.write(folder, signal)
    if abs(time.time() - spool.noted(folder, call.client, spool.FAILED)) < RETRY_SECONDS:
        spool.sync(
            folder
        )  # the database is away, so that it may be long until an importer reads it
        return
    held = spool.lock(folder, call.client)
    if held is not None:
        _start_reader(call, folder, held)


def _input() -> bytes:
    """Return the JSON on standard input, without waiting for a client that never ends it.

    Raises Wrong when there is none, or too much.
    """
    raw = bytearray()
    until = time.monotonic() + FIRST_BYTE_SECONDS
    while (left := until - time.monotonic()) > 0 and select.select([0], [], [], left)[0]:
        piece = os.read(0, 1 << 16)
        if not piece:
            break
        if not raw:
            until = time.monotonic() + INPUT_SECONDS
        if len(raw) <= MAX_INPUT:  # the rest is read as well: a client may trip over a closed pipe
            raw += piece
        if _is_whole(raw, piece):
            break
    if not raw.strip():
        raise Wrong("nothing came on standard input")
    if len(raw) > MAX_INPUT:
        raise Wrong(f"more than {MAX_INPUT} bytes came on standard input")
    return bytes(raw)


def _is_whole(raw: bytearray, piece: bytes) -> bool:
    if len(raw) > MAX_INPUT or not piece.rstrip().endswith(b"}"):
        return False
    try:
        quick_json.loads(raw)
    except ValueError:
        return False
    return True


def _start_reader(call: Call, folder: str, held: int) -> None:
    """Start an importer for the signals of this client, which goes on when the client ends.

    It inherits the lock, so that a second hook starts no second one. What it says is kept in the
    spool until the next one is started.
    """
    command = [sys.executable, "-P", "-m", "importers", "--drain", "--client", call.client]
    command += ["--lock", str(held)]
    if os.fork():
        os.close(held)
        return
    try:
        os.setsid()
        os.chdir("/")
        null = os.open(os.devnull, os.O_RDWR)
        said = spool.open_log(folder, call.client)
        for number, to in ((0, null), (1, null), (2, said)):  # a client waits until its pipes close
            os.dup2(to, number)
        os.set_inheritable(held, True)
        os.closerange(3, held)
        os.closerange(held + 1, MAX_DESCRIPTOR)
        os.execve(command[0], command, {**call.environment, DEPTH: str(INSIDE)})  # noqa: S606 - our own program
    finally:
        os._exit(127)


def _become(call: Call) -> None:
    """Become the program that stands after ``--then``, with the client's JSON as last argument."""
    command = [*call.then, call.text or ""]
    inner = {**os.environ, DEPTH: str(_depth(call.environment) + 1)}
    try:
        os.execvpe(command[0], command, inner)  # noqa: S606 - what the user has set
    except (OSError, ValueError) as error:
        _say(error)


def _depth(environment: "Mapping[str, str]") -> int:
    """Return how deep inside of our own work a call stands; what is no number is deep."""
    text = environment.get(DEPTH, "") or "0"
    return int(text) if text.isascii() and text.isdigit() and len(text) < 4 else INSIDE


def _text(values: "Mapping[str, object]", *names: str) -> str:
    for name in names:
        value = values.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def _say(error: BaseException) -> None:
    """Tell on standard error; that it is closed is no reason to fail."""
    words = str(error) if isinstance(error, Wrong | OSError) else type(error).__name__
    line = f"memory-import: the signal was not kept: {words}\n"
    try:
        os.write(2, line.encode(errors="replace"))
    except OSError:
        return  # nobody listens
