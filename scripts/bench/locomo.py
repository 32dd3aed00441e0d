"""Measure search on LoCoMo's questions: which share of the evidence is found, and how high up.

Run: python scripts/bench/locomo.py path/to/locomo10.json [--conversations 10] [--embeddings]
    [--unfiltered]
The data set (snap-research/locomo, CC BY-NC 4.0) is not part of this project. Each conversation
becomes a project, each of its sessions a session, each turn a message; a question is asked within
its conversation's project, or of the whole ledger with --unfiltered.
"""

import argparse
import asyncio
import json
import re
import statistics
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from throwaway import machine, server

from memory import crud, embeddings, search
from memory.database import Database
from memory.drafts import Draft, Kind, SessionDraft, project_id_of
from memory.embeddings import Embedder
from memory.search import Request

DEPTH = 100
RANKED = 20  # turns among which the first right one counts for MRR
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")


@dataclass(slots=True)
class Scores:
    """Sums over questions."""

    recall: dict[int, float] = field(default_factory=lambda: {1: 0.0, 5: 0.0, 10: 0.0})
    reciprocal: float = 0.0
    session_hit: dict[int, float] = field(default_factory=lambda: {1: 0.0, 5: 0.0, 10: 0.0})
    session_reciprocal: float = 0.0
    questions: int = 0

    def add(self, found: Sequence[str], evidence: set[str]) -> None:
        """Add one question's result: turn ids, best first."""
        self.questions += 1
        for depth in self.recall:
            self.recall[depth] += len(evidence & set(found[:depth])) / len(evidence)
        self.reciprocal += _reciprocal(found[:RANKED], evidence)
        sessions = list(dict.fromkeys(_session_of(turn) for turn in found))
        wanted = {_session_of(turn) for turn in evidence}
        self.session_reciprocal += _reciprocal(sessions, wanted)
        for depth in self.session_hit:
            self.session_hit[depth] += bool(wanted & set(sessions[:depth]))

    def line(self, name: str) -> str:
        """Return the averages in one line."""
        count = max(1, self.questions)
        recall = "  ".join(f"R@{depth} {sum_ / count:.3f}" for depth, sum_ in self.recall.items())
        hits = "  ".join(f"hit@{n} {sum_ / count:.3f}" for n, sum_ in self.session_hit.items())
        return (
            f"{name:12} {self.questions:5} questions  turn {recall}  MRR {self.reciprocal / count:.3f}"
            f"  session {hits}  MRR {self.session_reciprocal / count:.3f}"
        )


def _reciprocal(found: Sequence[str], wanted: set[str]) -> float:
    """Return 1 by the rank of the first that is wanted, or 0."""
    return next((1 / rank for rank, each in enumerate(found, start=1) if each in wanted), 0.0)


def _session_of(turn: str) -> str:
    return turn.partition(":")[0]


def _evidence(given: Sequence[str], known: set[str]) -> set[str]:
    """Return the turns a question's evidence names; some of the data's are malformed."""
    pairs = _EVIDENCE.findall(" ".join(given))
    return {f"D{int(session)}:{int(turn)}" for session, turn in pairs} & known


def _began(written: str) -> datetime:
    return datetime.strptime(written, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


def _text(turn: dict[str, Any]) -> str:
    caption = turn.get("blip_caption")
    return f"{turn['speaker']}: {turn['text']}" + (f" [image: {caption}]" if caption else "")


async def load(database: Database, number: int, conversation: dict[str, Any]) -> set[str]:
    """Append a conversation and return the ids of its turns."""
    project = project_id_of(f"conversation {number}")
    await database.transact(
        lambda s: crud.create_project(s, f"conversation {number}", source_client="bench")
    )
    known: set[str] = set()
    session = 1
    while turns := conversation.get(f"session_{session}"):
        began = _began(conversation[f"session_{session}_date_time"])
        draft = SessionDraft(
            provider="locomo",
            source_session_id=f"{number}/{session}",
            source_client="bench",
            project_id=project,
            started_at=began,
        )
        await database.transact(partial(crud.start_sessions, drafts=[draft]))
        drafts = [
            Draft(
                kind=Kind.MESSAGE,
                content=_text(turn),
                source_client="bench",
                provider="locomo",
                session_id=draft.id,
                source_id=f"{number}/{turn['dia_id']}",
                role="user",
                position=place,
                occurred_at=began + timedelta(minutes=place),
            )
            for place, turn in enumerate(turns)
        ]
        await database.transact(partial(crud.append, drafts=drafts, imported=True))
        known |= {turn["dia_id"] for turn in turns}
        session += 1
    return known


async def ask(
    database: Database, project: uuid.UUID | None, question: str, embedder: Embedder | None = None
) -> list[str]:
    """Return the turns found for a question, best first, as conversation/turn."""
    request = Request(question, limit=DEPTH, project_id=project)
    answer = await database.transact(partial(search.search, request=request, embedder=embedder))
    return [str(hit.entry.source_id) for hit in answer.hits]


async def embed(database: Database, embedder: Embedder) -> None:
    """Make every turn's vector and print how long that took."""
    began, count = time.perf_counter(), 0
    while True:
        done = await database.transact(partial(search.embed, embedder=embedder))
        count += done.count
        if not done.remaining:
            break
    print(f"{count} turns embedded in {time.perf_counter() - began:.1f} s")


async def measure(
    database: Database,
    data: list[dict[str, Any]],
    embedder: Embedder | None,
    *,
    is_filtered: bool,
) -> None:
    """Load, index, ask and print."""
    turns = [await load(database, n, each["conversation"]) for n, each in enumerate(data, start=1)]
    began = time.perf_counter()
    while (await database.transact(search.index)).remaining:
        pass
    print(f"{sum(map(len, turns))} turns indexed in {time.perf_counter() - began:.1f} s")
    if embedder is not None:
        await embed(database, embedder)
    parts = {"odd": Scores(), "even": Scores(), "all": Scores()}
    kinds: dict[str, Scores] = {}
    taken: list[float] = []
    for number, (each, known) in enumerate(zip(data, turns, strict=True), start=1):
        project = project_id_of(f"conversation {number}") if is_filtered else None
        for asked in each["qa"]:
            evidence = {f"{number}/{turn}" for turn in _evidence(asked["evidence"], known)}
            if not evidence:
                continue
            began = time.perf_counter()
            found = await ask(database, project, asked["question"], embedder)
            taken.append(time.perf_counter() - began)
            kind = kinds.setdefault(f"category {asked['category']}", Scores())
            for scores in (parts["odd" if number % 2 else "even"], parts["all"], kind):
                scores.add(found, evidence)
    for name, scores in (*sorted(kinds.items()), *parts.items()):
        print(scores.line(name))
    print(f"median {statistics.median(taken) * 1e3:.1f} ms a question")


async def main(data: list[dict[str, Any]], *, use_embeddings: bool, is_filtered: bool) -> None:
    """Run on a throw-away server."""
    print(machine())
    with server() as settings:
        embedder = embeddings.load(replace(settings, use_embeddings=use_embeddings))
        database = Database(settings)
        await measure(database, data, embedder, is_filtered=is_filtered)
        await database.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="locomo10.json")
    parser.add_argument("--conversations", type=int, default=10)
    parser.add_argument("--embeddings", action="store_true")
    parser.add_argument("--unfiltered", action="store_true", help="ask of all conversations")
    given = parser.parse_args()
    conversations = json.loads(given.data.read_text())[: given.conversations]
    asyncio.run(
        main(conversations, use_embeddings=given.embeddings, is_filtered=not given.unfiltered)
    )
