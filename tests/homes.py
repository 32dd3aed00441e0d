"""Throw-away homes for the tests of the embedded server itself."""

import contextlib
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

import psutil
import pytest
from pg8000 import native

from memory import postgres
from memory.errors import ServerFailure
from memory.postgres.home import Home
from memory.settings import SERVICE_ACCOUNT, Settings

ROOT = Path(__file__).resolve().parent.parent
FAST = {"fsync": "off", "full_page_writes": "off"}
IS_ROOT = os.geteuid() == 0
ENOUGH = 2_000_000_000  # bytes of memory for the homes of one run
needs_root = pytest.mark.skipif(not IS_ROOT, reason="only root can change to another account")

NewHome = Callable[..., Settings]


def _temporary() -> Path:
    """Return where homes are made: in memory if there is plenty, which is many times quicker.

    The path is short, because those of sockets must be, and open to the account of root's server.
    """
    memory = Path("/dev/shm")  # noqa: S108 - folders in it are made by mkdtemp
    if os.access(memory, os.W_OK):
        facts = os.statvfs(memory)
        if facts.f_bavail * facts.f_frsize > ENOUGH and not facts.f_flag & os.ST_NOEXEC:
            return memory
    return Path("/tmp")  # noqa: S108 - the same


TEMPORARY = _temporary()


def copy_of(pattern: Settings, settings: Settings) -> Settings:
    """Make a home like another; much quicker than initdb."""
    source, target = Home.of(pattern), Home.of(settings)
    account = source.path.stat()
    for folder in (settings.home, target.path):
        folder.mkdir(mode=0o700)
        os.chown(folder, account.st_uid, account.st_gid)
    subprocess.run(["cp", "-al", str(source.staged), str(target.staged)], check=True)
    parts = [str(path) for path in source.path.iterdir() if path != source.staged]
    subprocess.run(["cp", "-a", *parts, str(target.path)], check=True)
    return settings


def new_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="memory-pg-", dir=TEMPORARY))
    folder.chmod(0o755)  # the service account has to pass
    return folder


def free_port() -> int:
    """Return a port nobody has, below those that the system gives to passing connections.

    Each worker of pytest-xdist has a thousand of its own, so that none takes another's.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 10
    first = 20_000 + 1_000 * worker
    while True:
        port = random.randrange(first, first + 1_000)  # noqa: S311 - no secret
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def remove(settings: Settings) -> None:
    """Stop what runs in a home, however it is, and remove it with its folder in /tmp."""
    with contextlib.suppress(ServerFailure):
        server = postgres.state(settings)
        postgres.stop(settings, timeout=10)
        if server and server.socket_dir and settings.home not in server.socket_dir.parents:
            shutil.rmtree(server.socket_dir)  # the short one, for a path that is too long
    for process in processes(settings):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    folder = next(path for path in settings.home.parents if path.parent == TEMPORARY)
    shutil.rmtree(folder, ignore_errors=True)


def processes(settings: Settings) -> list[psutil.Process]:
    """Return the living server processes of a home."""
    data = os.path.realpath(Home.of(settings).data)
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.name() == "postgres" and _lives(process.pid) and _folder(process) == data:
                found.append(process)
    return found


def _folder(process: psutil.Process) -> str:
    try:
        return process.cwd()
    except psutil.AccessDenied:  # root in a container; the account itself may look
        return subprocess.run(
            ["readlink", f"/proc/{process.pid}/cwd"],
            user=process.uids().real if IS_ROOT else None,
            group=process.gids().real if IS_ROOT else None,
            capture_output=True,
            text=True,
            check=False,
        ).stdout.rstrip("\n")


def postmasters(settings: Settings) -> list[int]:
    """Return the process ids of a home's postmasters; there is never more than one."""
    family = {process.pid: process.ppid() for process in processes(settings)}
    return [pid for pid, parent in family.items() if parent not in family]


def kill(pid: int) -> None:
    """Kill a process and wait until it is gone or a zombie."""
    os.kill(pid, signal.SIGKILL)
    until(lambda: not _lives(pid))


def _lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return False


def until(condition: Callable[[], bool], *, seconds: float = 30.0) -> None:
    """Wait for a condition that another process brings about."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


@contextlib.contextmanager
def connected(url: str) -> Iterator[native.Connection]:
    """Open a connection to an address of ours."""
    parts = urlsplit(url)
    link = socket.create_connection((parts.hostname or "", parts.port or 0), timeout=30)
    try:
        connection = native.Connection(
            unquote(parts.username or ""),
            password=unquote(parts.password or ""),
            database=unquote(parts.path[1:]),
            sock=link,
            ssl_context=False,
        )
        yield connection
        connection.close()
    finally:
        if link.fileno() != -1:
            os.close(link.detach())  # the driver leaves it open when the server is gone


def sql(url: str, statement: str, **values: object) -> list[list[object]]:
    """Run one statement and return its rows."""
    with connected(url) as connection:
        return [list(row) for row in connection.run(statement, **values) or []]


START = """
import sys
from memory import postgres
from memory.settings import Settings
settings = Settings.from_environment()
print("ready", flush=True)
sys.stdin.readline()
print(postgres.ensure(settings, options={options}).pid, flush=True)
"""


def start_at_once(settings: Settings, count: int, options: dict[str, str]) -> list[int]:
    """Let many processes start the server at the same moment; return the pids they were told."""
    starters = [
        subprocess.Popen(
            [sys.executable, "-c", START.format(options=options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(settings),
        )
        for _ in range(count)
    ]
    let_go(starters)
    answers = [starter.communicate(timeout=90)[0] for starter in starters]
    assert [starter.returncode for starter in starters] == [0] * count
    return [int(answer) for answer in answers]


def let_go(processes: Sequence[subprocess.Popen[str]]) -> None:
    """Let processes go on at the same moment, once each has said that it is ready."""
    for each in processes:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    for each in processes:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()


def environment(settings: Settings) -> dict[str, str]:
    """Return the environment of a child process that works in this home."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": os.environ["HOME"],
        "PYTHONPATH": str(ROOT),
        "MEMORY_HOME": str(settings.home),
        "MEMORY_PG_PORT": str(settings.port),
    }


def name_in_pid_file(settings: Settings, pid: int) -> None:
    """Leave a pid file that names another process, as a re-used process id does."""
    file = Home.of(settings).pid_file
    lines = file.read_text("utf-8").split("\n")
    file.write_text("\n".join([str(pid), *lines[1:]]), "utf-8")


def service_account() -> tuple[int, int]:
    """Return user and group id of the account that root's servers run as."""
    entry = pwd.getpwnam(SERVICE_ACCOUNT)
    return entry.pw_uid, entry.pw_gid
