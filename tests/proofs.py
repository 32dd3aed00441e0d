"""Proving coverage of a store in a test."""

from pathlib import Path
from typing import Any

from importers.base import Importer
from importers.findings import ClientProof
from importers.proof import Prover
from memory.database import Database


async def proved(
    database: Database, root: Path, importer: Importer, *, mend: bool = False
) -> ClientProof:
    """Return how a store at this root compares with the ledger."""
    prover = Prover(
        database=database,
        importers=[importer],
        environment={},
        home=Path("/nonexistent"),
        root=root,
        mend=mend,
    )
    (client,) = await prover.run()
    for file in client.files:
        assert file.records == file.imported + file.skipped.total() + file.unreadable
    return client


def numbers(client: ClientProof) -> dict[str, Any]:
    """Return what differs from a whole coverage; nothing when the ledger has everything."""
    totals = {
        name: client.total(name)
        for name in ("missing", "changed", "older", "unreadable", "vanished")
    }
    gone = sum(each.entries for each in client.vanished)
    found = {**totals, "gone": gone, "lacking": len(client.lacking)}
    return {name: count for name, count in found.items() if count}
