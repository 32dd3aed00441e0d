"""Measure search on DevBench: small memories about software, and questions with their answers.

Run: python scripts/bench/devbench.py path/to/devbench_dataset.json [--embeddings]
The data set (doobidoo/mcp-memory-service, Apache-2.0) is not part of this project. Each memory
becomes a session of one message, since none belongs to another; recall counts the memories expected that are among the first five, and MRR ranks
the first of them there; questions without an answer are left out, as its own rules have it.
"""

import argparse
import asyncio
import json
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from throwaway import machine, server

from memory import crud, embeddings, search
from memory.database import Database
from memory.drafts import Draft, Kind, SessionDraft
from memory.search import Request

FIRST = 5


async def load(database: Database, memories: list[dict[str, Any]]) -> None:
    """Append the memories and index them."""
    sessions = [
        SessionDraft(provider="devbench", source_session_id=each["id"], source_client="bench")
        for each in memories
    ]
    await database.transact(partial(crud.start_sessions, drafts=sessions))
    drafts = [
        Draft(
            kind=Kind.MESSAGE,
            content=memory["content"],
            source_client="bench",
            provider="devbench",
            session_id=session.id,
            source_id=memory["id"],
            role="user",
            position=0,
            occurred_at=datetime.fromisoformat(memory["created_at_iso"]),
        )
        for session, memory in zip(sessions, memories, strict=True)
    ]
    await database.transact(partial(crud.append, drafts=drafts, imported=True))
    while (await database.transact(search.index)).remaining:
        pass


async def measure(data: dict[str, Any], *, use_embeddings: bool) -> None:
    """Load, ask and print."""
    print(machine())
    with server() as settings:
        embedder = embeddings.load(replace(settings, use_embeddings=use_embeddings))
        database = Database(settings)
        await load(database, data["memories"])
        while (
            embedder
            and (await database.transact(partial(search.embed, embedder=embedder))).remaining
        ):
            pass
        recall = reciprocal = 0.0
        answered = [asked for asked in data["queries"] if asked["expected_tags"]]
        for asked in answered:
            request = Request(asked["question"], limit=FIRST)
            answer = await database.transact(
                partial(search.search, request=request, embedder=embedder)
            )
            wanted = set(asked["expected_tags"])
            found = [str(hit.entry.source_id) for hit in answer.hits]
            recall += len(wanted & set(found)) / len(wanted)
            first = next((n for n, each in enumerate(found, start=1) if each in wanted), 0)
            reciprocal += 1 / first if first else 0.0
            print(f"{asked['id']:12} {first or '-':>2}  {asked['question']}")
        count = len(answered)
        print(f"{count} questions  R@{FIRST} {recall / count:.3f}  MRR {reciprocal / count:.3f}")
        await database.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="devbench_dataset.json")
    parser.add_argument("--embeddings", action="store_true")
    given = parser.parse_args()
    asyncio.run(measure(json.loads(given.data.read_text()), use_embeddings=given.embeddings))
