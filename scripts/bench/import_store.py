"""Measure the import of a store end to end: read, parse, normalise, redact, append; index apart.

Run: python scripts/bench/import_store.py [HOME] [--bytes 200M] [--files N] [--single-rollout 2G]
     [--client claude codex opencode] [--skip-index] [--no-split]
HOME is a folder that generate_store.py wrote; without it one is written and removed again. The
store is imported into a throw-away server by a process of its own, whose Pss is looked at while it
works. The split is taken from the product's own functions: each one's seconds are those of CPU of
the importer, and of its process that reads ahead, in which none of the others that it calls was at
work. What the server does comes on top, in a process of its own; what all other processes of the
machine took meanwhile tells how quiet it was. The stopwatch slows reading by a fifth: --no-split
leaves it away.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from generate_store import CLIENTS, generate, single_rollout, size_of
from stopwatch import PARTS, Stopwatch
from throwaway import machine, server

from importers import flow, reader
from importers.registry import importers_of
from importers.run import Runner
from importers.watch import index_all
from memory import garbage
from memory.database import Database
from memory.settings import Settings

LOOK_SECONDS = 0.1


@contextmanager
def store(given: argparse.Namespace) -> Iterator[Path]:
    """Give the home folder that is asked for; one that was written for this goes at the end."""
    if given.home is not None:
        yield given.home.absolute()
        return
    with tempfile.TemporaryDirectory(prefix="shared-memory-store-") as folder:
        home = Path(folder)
        if given.single_rollout:
            single_rollout(home, size=given.single_rollout)
        else:
            generate(home, size=given.size, files=given.files, clients=tuple(given.client))
        yield home


def sizes(home: Path, clients: tuple[str, ...]) -> tuple[int, int]:
    """Return how many files these clients' stores have, and their bytes."""
    folders = {"claude": ".claude", "codex": ".codex", "opencode": ".local/share/opencode"}
    files = [
        path
        for client in clients
        for path in (home / folders[client]).rglob("*")
        if path.is_file() and not path.name.endswith("-shm")
    ]
    return len(files), sum(path.stat().st_size for path in files)


def pss(process: int) -> float:
    """Return a process' share of memory with that of its children, in MB."""
    try:
        rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return 0.0
    own = int(rollup.split("\nPss:")[1].split()[0]) / 1024
    return own + sum(pss(int(child)) for child in children)


def busy() -> float:
    """Return the seconds of CPU that the whole machine has worked since it was started."""
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - times.iowait - times.guest - times.guest_nice)


def of_server(settings: Settings) -> float:
    """Return the seconds of CPU of the server's processes; those that ended count as well."""
    file = settings.home / "pg" / "data" / "postmaster.pid"
    try:
        postmaster = psutil.Process(int(file.read_text().split()[0]))
        times = [each.cpu_times() for each in (postmaster, *postmaster.children())]
    except (OSError, psutil.Error):
        return 0.0
    ended = times[0].children_user + times[0].children_system
    return float(ended + sum(each.user + each.system for each in times))


def clocks(settings: Settings) -> tuple[float, float, float, float]:
    """Return the time, and the CPU of this process, of the server, and of the machine."""
    return time.perf_counter(), time.process_time(), of_server(settings), busy()


def environment_of(settings: Settings) -> dict[str, str]:
    """Return the environment in which the importing process finds the throw-away server."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(settings.home),
        "PYTHONPATH": str(Path(__file__).resolve().parent.parent.parent),
        "MEMORY_HOME": str(settings.home),
        "MEMORY_MACHINE": settings.machine,
        "DATABASE_URL": settings.database_url,
        "MEMORY_OWNER_URL": settings.owner_url,
    }


def imported(home: Path, settings: Settings, given: argparse.Namespace) -> dict[str, Any]:
    """Import in a process of its own; return what it measured and its peak of memory."""
    command = [sys.executable, __file__, str(home), "--importer", "--client", *given.client]
    command += ["--skip-index"] if given.skip_index else []
    command += ["--no-split"] if given.no_split else []
    process = subprocess.Popen(command, env=environment_of(settings), stdout=subprocess.PIPE)
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, pss(process.pid))
        time.sleep(LOOK_SECONDS)
    if process.stdout is None or process.returncode:
        raise SystemExit(f"the importer ended with {process.returncode}")
    return {**json.loads(process.stdout.read()), "peak": peak}


def read_ahead(timed: Path) -> dict[str, Any]:
    """Return what the process that read ahead measured, if there was one."""
    if not timed.exists():
        return {"cpu": os.times().children_user + os.times().children_system, "parts": {}}
    found: dict[str, Any] = json.loads(timed.read_text())
    timed.unlink()
    return found


def stopwatch(timed: Path, *, is_attached: bool) -> Stopwatch:
    """Return a stopwatch at the functions of both processes; the other one's goes into a file."""
    watch = Stopwatch()
    if is_attached:
        watch.attach((flow, "keep", "append"), (reader._Child, "read", "hand over"))  # noqa: SLF001 - what waits for the other process
        os.environ["TIMED_READER"] = str(timed)
        reader.PROGRAM = (str(Path(__file__).with_name("timed_reader.py")),)
    return watch


async def run_importer(home: Path, given: argparse.Namespace) -> dict[str, Any]:
    """Import as the product does, with a stopwatch at its functions."""
    timed = Path(tempfile.gettempdir(), f"timed-reader-{os.getpid()}.json")
    watch = stopwatch(timed, is_attached=not given.no_split)
    garbage.rarely()
    database = Database(Settings.from_environment())
    runner = Runner(
        database=database,
        importers=importers_of(tuple(given.client)),
        environment={},
        home=home,
    )
    await database.ping()  # builds the schema
    began = clocks(database.settings)
    report = await runner.run()
    ended = clocks(database.settings)
    seconds, spent, server, machine = (b - a for a, b in zip(began, ended, strict=True))
    ahead = await asyncio.to_thread(read_ahead, timed)
    again, looked = time.perf_counter(), time.process_time()
    unchanged = await runner.run()
    again, looked = time.perf_counter() - again, time.process_time() - looked
    indexed = time.perf_counter()
    if not given.skip_index:
        report.indexed = await index_all(database, stop=runner.stop)
    indexed = time.perf_counter() - indexed
    await database.close()
    return {
        "seconds": seconds,
        "cpu": spent,
        "server": server,
        "others": machine - spent - server - ahead["cpu"],
        "again": (again, looked),
        "again_records": sum(client.records for client in unchanged.clients),
        "index": indexed,
        "indexed": report.indexed,
        "ahead": ahead["cpu"],
        "parts": {
            part: taken + ahead["parts"].get(part, 0.0) for part, taken in watch.seconds.items()
        },
        "clients": [client.facts() for client in report.clients],
    }


def show(found: Mapping[str, Any], files: int, size: int) -> None:
    """Print the table."""
    seconds, clients = found["seconds"], found["clients"]
    rows = sum(each["appended"] for each in clients)
    records = sum(each["records"] for each in clients)
    redacted = sum(sum(each["redacted"].values()) for each in clients)
    megabytes = size / 1e6
    print(f"{megabytes:.1f} MB, {files} files, {records:,} records, {rows:,} entries appended")
    print(f"redacted {redacted}; adds up: {all(each['adds_up'] for each in clients)}")
    print(f"import without index {seconds:8.1f} s  {megabytes / seconds:6.1f} MB/s", end="")
    print(f"  {rows / seconds:7.0f} rows/s  {files / seconds:6.0f} files/s")
    print(f"CPU of the importer  {found['cpu']:8.1f} s", end="")
    print(f"   of its process that reads ahead {found['ahead']:.1f} s", end="")
    print(f"   of the server {found['server']:.1f} s   of all others {found['others']:.1f} s")
    print(f"peak Pss of both     {found['peak']:8.0f} MB")
    again, looked = found["again"]
    print(f"a second pass        {again:8.2f} s   {found['again_records']} records", end="")
    print(f"   CPU {looked:.2f} s")
    parts, whole = found["parts"], sum(found["parts"].values())
    for name in PARTS if whole else ():
        taken = max(parts[name], 1e-9)
        print(f"  {name:12}{taken:8.1f} s CPU {taken / whole:6.1%} {megabytes / taken:7.1f} MB/s")
    if found["indexed"]:
        taken = found["index"]
        print(f"  index       {taken:8.1f} s", end="")
        print(f"            {megabytes / taken:7.1f} MB/s, {found['indexed'] / taken:.0f} rows/s")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("home", nargs="?", type=Path)
    parser.add_argument("--bytes", type=size_of, default=size_of("200M"), dest="size")
    parser.add_argument("--files", type=int, default=0)
    parser.add_argument("--single-rollout", type=size_of, default=0)
    parser.add_argument("--client", nargs="+", choices=CLIENTS, default=CLIENTS)
    parser.add_argument("--skip-index", action="store_true")
    parser.add_argument("--no-split", action="store_true", help="measure the whole alone")
    parser.add_argument("--importer", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.importer:
        print(json.dumps(asyncio.run(run_importer(given.home, given))))
        return
    with store(given) as home, server() as settings:
        files, size = sizes(home, tuple(given.client))
        print(machine())
        show(imported(home, settings, given), files, size)


if __name__ == "__main__":
    main()
