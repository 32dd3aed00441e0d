"""A slice of the thousands of damaged stores that scripts/fuzz_importers.py reads."""

import importlib.util
import random
import sys
from pathlib import Path
from types import ModuleType

import pytest

from memory.database import Database

SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "fuzz_importers.py"
SEED = 7


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """Return the script as a module; what it adds to the path of modules goes again."""
    before = list(sys.path)
    spec = importlib.util.spec_from_file_location("fuzz_importers", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path[:] = before
    return module


def test_damaged_stores_crash_nothing_and_every_record_is_accounted_for(
    script: ModuleType, tmp_path: Path
) -> None:
    found = script.Found()
    for _ in script.fuzz(SEED, iter(range(40)), tmp_path, found):
        pass
    assert not found.faults
    assert found.counts["inputs"] == 40
    assert found.counts["imported"] > found.counts["unreadable"] > 0
    assert found.counts["records"] == sum(
        found.counts[name] for name in ("imported", "skipped", "unreadable")
    )


async def test_damaged_stores_go_into_the_ledger_once(
    script: ModuleType, database: Database, tmp_path: Path
) -> None:
    found = script.Found()
    for number, root in enumerate(script.fuzz(SEED, iter(range(40, 44)), tmp_path, found), 40):
        client = script.client_of(SEED, number)
        await script.pass_twice(number, client, root, database, found)
    assert not found.faults
    assert found.counts["passes into a ledger"] == 4
    assert found.counts["entries in the ledger"] > 0


@pytest.mark.parametrize("kind", ["folder", "pipe", "loop"])
def test_what_is_no_file_in_the_place_of_one_keeps_nothing_back(
    script: ModuleType, tmp_path: Path, kind: str
) -> None:
    damage = sys.modules["damage"]
    way = getattr(damage, f"_{kind}")
    for client, pattern in (
        ("opencode/1.1.65", "part/*/*.json"),
        ("claude/2.1.197", "*.jsonl"),
        ("codex/0.122.0", "rollout*.jsonl"),
        ("opencode/1.18.33", "opencode.db"),
    ):
        root = tmp_path / client
        script.shutil.copytree(script.DATA / client / "store", root)
        name = client.partition("/")[0]
        way(random.Random(SEED), min(root.rglob(pattern)))  # noqa: S311 - the same each time
        found = script.Found()
        for reader, source in script.sources(name, root):
            script.read(0, name, source, reader, found)
        assert not found.faults
        if client != "opencode/1.18.33":  # which is one file
            assert found.counts["imported"] > 0
