"""A throw-away server for benchmarks, with the settings that are shipped, and the machine's name."""

import contextlib
import os
import platform
import shutil
import socket
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil

from memory import postgres
from memory.settings import Settings

__all__ = ["machine", "pss", "server"]


@contextlib.contextmanager
def server(keep: Path | None = None) -> Iterator[Settings]:
    """Start a server in a temporary folder and remove both at the end.

    With ``keep`` it lies in that folder and stays there, so that another run finds what is in it.
    """
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
    base = (keep or Path(tempfile.mkdtemp(prefix="shared-memory-bench-"))).resolve()
    base.chmod(0o755)  # the server's own account has to reach its home when this runs as root
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    settings = Settings(home=base / "home", port=port, machine="bench")
    try:
        postgres.ensure(settings)
        yield replace(
            settings,
            database_url=postgres.application_url(settings),
            owner_url=postgres.owner_url(settings),
        )
    finally:
        postgres.stop(settings)
        if keep is None:
            shutil.rmtree(base, ignore_errors=True)


def machine() -> str:
    """Return one line that says where a table was measured."""
    load = os.getloadavg()[0]
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, load {load:.1f},"
        f" Python {platform.python_version()}"
    )


def pss(pid: int) -> float:
    """Return the share of memory of a process and its children in MB, nan where no system tells."""
    process = psutil.Process(pid)
    try:
        whole = [each.memory_full_info() for each in (process, *process.children(recursive=True))]
        return sum(each.pss for each in whole) / 2**20
    except (AttributeError, psutil.Error):
        return float("nan")
