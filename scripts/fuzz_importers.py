"""Import thousands of damaged stores and see that nothing crashes, hangs, or goes uncounted.

Run: python scripts/fuzz_importers.py [--seed 1] [--inputs 10000] [--first 0] [--ledger 100] [--only N]
An input is a store of tests/data with one to three kinds of damage (scripts/damage.py), chosen by
the seed and the input's number; ``--only N`` runs that one again. Of each input is asked: every
source is read to its end in time, nothing but OSError is raised, records = imported + skipped +
unreadable in every batch, the checkpoint is JSON, a second read from it gives nothing, no credential
rule stumbles. Whole files give the same identities as before, unless they copy a damaged one; those
that do not are counted. The first of every ``--ledger`` inputs
goes through a whole pass into a throw-away server, too, where nothing may be refused by the
database as a whole, and a second pass appends nothing.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts"), str(ROOT / "scripts" / "bench")]

from damage import damage  # noqa: E402 - beside this program, which is found by its path

from importers.base import Source, Store  # noqa: E402
from importers.ready import prepare  # noqa: E402
from importers.registry import IMPORTERS  # noqa: E402
from importers.run import Runner  # noqa: E402
from memory.database import Database  # noqa: E402
from memory.errors import LedgerError  # noqa: E402

__all__ = ["Found", "client_of", "fuzz", "pass_twice", "read", "sources"]

DATA: Final = ROOT / "tests" / "data"
SECONDS: Final = 300  # for one input; a thousand times what one takes on an idle machine
MOST_BATCHES: Final = 10_000
PASSES: Final = 3

_Identities = dict[str, set[str]]
"""What each source of a store gives, by its path there."""


class Hang(BaseException):
    """An input took too long; no importer may catch this."""


@dataclass(slots=True)
class Found:
    """What reading inputs came to."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def fault(self, number: int, client: str, what: str) -> None:
        """Note that an input was not read as it should be."""
        self.faults.append(f"input {number} ({client}): {what}")
        print(self.faults[-1], flush=True)


def fuzz(seed: int, numbers: Iterator[int], folder: Path, found: Found) -> Iterator[Path]:
    """Read one damaged store after the other; give each store as it was read."""
    stores = sorted(path.parent for path in DATA.glob("*/*/store"))
    baseline = {each: _identities(each) for each in stores}
    for number in numbers:
        chance = random.Random(f"{seed}/{number}")  # noqa: S311 - the same for the same seed
        original = chance.choice(stores)
        client = original.parent.name
        root = folder / f"input-{number}"
        shutil.copytree(original / "store", root, symlinks=True)
        met = damage(chance, root)
        found.counts["inputs"] += 1
        with _deadline():
            try:
                given = {"original": original, "met": met, "baseline": baseline[original]}
                _check(number, root, **given, found=found)
            except Hang:
                found.fault(number, client, f"hangs: {traceback.format_exc(limit=-4)}")
        yield root
        _removed(root)


def _identities(original: Path) -> _Identities:
    """Return the identities that each source of an undamaged store gives."""
    found = Found()
    root = original / "store"
    return {
        str(source.path.relative_to(root)): read(0, original.parent.name, source, reader, found)
        for reader, source in sources(original.parent.name, root)
    }


def sources(client: str, root: Path) -> list[tuple[Any, Source]]:
    """Return what there is to read in a store, each with the importer that found it."""
    reader = IMPORTERS[client]()
    return [(reader, source) for source in reader.sources(Store(provider=client, root=root))]


def _check(
    number: int,
    root: Path,
    *,
    original: Path,
    met: set[Path],
    baseline: _Identities,
    found: Found,
) -> None:
    client = original.parent.name
    is_apart = not any(path.suffix in {".json", ".db", ".db-wal"} for path in met)
    try:
        listed = sources(client, root)
    except OSError:
        found.counts["stores that cannot be listed"] += 1
        return
    except Exception:  # noqa: BLE001 - what is looked for
        found.fault(number, client, f"listing: {traceback.format_exc(limit=-4)}")
        return
    for reader, source in listed:
        gave = read(number, client, source, reader, found)
        if is_apart and source.path not in met:
            missing = baseline.get(str(source.path.relative_to(root)), set()) - gave
            found.counts["identities of whole files that hang on a damaged one"] += len(missing)


def read(number: int, client: str, source: Source, reader: Any, found: Found) -> set[str]:
    """Read a source to its end, and check every batch; return the identities it gave."""
    state: dict[str, Any] | None = None
    gave: set[str] = set()
    try:
        for _ in range(MOST_BATCHES):
            batch = reader.read(source, state)
            skipped, unreadable = batch.skipped.total(), len(batch.unreadable)
            if batch.records != batch.imported + skipped + unreadable:
                found.fault(number, client, f"records do not add up in {source.path.name}")
            found.counts["records"] += batch.records
            found.counts["imported"] += batch.imported
            found.counts["skipped"] += skipped
            found.counts["unreadable"] += unreadable
            ready = prepare(source, batch, machine="fuzz")
            gave |= {str(draft.source_id) for draft in ready.drafts}
            state = json.loads(json.dumps(batch.state))
            if batch.finished:
                break
        else:
            found.fault(number, client, f"no end of batches in {source.path.name}")
        again = reader.read(source, state)
        if any(draft.source_id not in gave for draft in again.drafts if draft.source_id):
            found.fault(number, client, f"a second read of {source.path.name} gives something new")
    except OSError:
        found.counts["sources that cannot be read"] += 1
    except Exception:  # noqa: BLE001 - what is looked for
        found.fault(number, client, f"{source.path.name}: {traceback.format_exc(limit=-4)}")
    return gave


async def pass_twice(
    number: int, client: str, root: Path, database: Database, found: Found
) -> None:
    """Import a damaged store into a ledger until nothing is new, and check what is said of it."""
    appended = []
    try:
        for _ in range(PASSES):
            runner = Runner(
                database=database,
                importers=[IMPORTERS[client]()],
                environment={},
                home=Path("/nonexistent"),
                root=root,
            )
            (report,) = (await runner.run()).clients
            appended.append(report.appended)
            found.counts["entries in the ledger"] += report.appended
            found.counts["refused by the ledger"] += report.refused
            if not report.adds_up:
                found.fault(number, client, "the report does not add up")
            if any(each.reason.startswith(("Internal", "Unavailable")) for each in report.failed):
                found.fault(number, client, f"failed: {report.failed[0].reason}")
        if appended[-1]:
            found.fault(number, client, f"passes go on appending: {appended}")
        found.counts["passes into a ledger"] += 1
    except LedgerError as error:
        found.fault(number, client, f"the pass ended with {error.code}: {error}")
    except Exception:  # noqa: BLE001 - what is looked for
        found.fault(number, client, f"the pass: {traceback.format_exc(limit=-5)}")


@contextlib.contextmanager
def _deadline() -> Iterator[None]:
    def late(_number: int, _frame: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _removed(root: Path) -> None:
    for folder, _, _ in os.walk(root):
        Path(folder).chmod(0o700)
    shutil.rmtree(root, ignore_errors=True)


async def _run(given: argparse.Namespace, found: Found) -> None:
    from throwaway import server  # noqa: PLC0415 - the readers alone need no server

    numbers = (
        iter([given.only]) if given.only is not None else iter(range(given.first, given.inputs))
    )
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fuzz-")))
        database = Database(stack.enter_context(server())) if given.ledger else None
        for root in fuzz(given.seed, numbers, folder, found):
            number = int(root.name.rpartition("-")[2])
            if database is not None and (number % given.ledger == 0 or given.only is not None):
                client = client_of(given.seed, number)
                await pass_twice(number, client, root, database, found)
            if number % 500 == 499:
                print(f"{number + 1} inputs, {len(found.faults)} faults", flush=True)
        if database is not None:
            await database.close()
    print(f"seed {given.seed}, {time.monotonic() - began:.0f} s")


def client_of(seed: int, number: int) -> str:
    """Return the client whose store an input is."""
    chance = random.Random(f"{seed}/{number}")  # noqa: S311 - the same for the same seed
    return chance.choice(sorted(path.parent for path in DATA.glob("*/*/store"))).parent.name


def main() -> int:
    """Fuzz, print what was counted and every fault; 1 when there was a fault."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    parser.add_argument("--ledger", type=int, default=100, help="0: none goes into a ledger")
    parser.add_argument("--only", type=int, help="the number of a single input")
    given = parser.parse_args()
    found = Found()
    asyncio.run(_run(given, found))
    for name, count in sorted(found.counts.items()):
        print(f"{count:10,} {name}")
    print(f"{len(found.faults)} faults")
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(main())
