"""Measure search on questions over coding sessions: how much of the answer is found, how high up.

Run: python scripts/bench/coding.py [--embeddings] [--misses]
The set is `coding_set`: six projects, three clients, eight months. Everything lies in one ledger
and a question is asked without any filter. The halves are the questions with odd and even numbers:
weights are tuned on the odd ones and reported on the even ones.
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import coding_set
from coding_set import Message, Question, Session
from throwaway import machine, server

from memory import crud, embeddings, search
from memory.database import Database
from memory.drafts import Draft, Kind, SessionDraft, project_id_of
from memory.embeddings import Embedder
from memory.search import Request

DEPTH = 20


@dataclass(slots=True)
class Scores:
    """Sums over questions."""

    recall: dict[int, float] = field(default_factory=lambda: {1: 0.0, 5: 0.0, 10: 0.0})
    reciprocal: float = 0.0
    in_session: float = 0.0
    questions: int = 0

    def add(self, found: Sequence[str], relevant: Sequence[str], sessions: dict[str, str]) -> None:
        """Add one question's result: the messages found, best first."""
        self.questions += 1
        wanted = set(relevant)
        for depth in self.recall:
            self.recall[depth] += len(wanted & set(found[:depth])) / len(wanted)
        rank = rank_of(found, wanted)
        self.reciprocal += 1 / rank if rank else 0.0
        best = list(dict.fromkeys(sessions[each] for each in found))[:5]
        self.in_session += bool({sessions[each] for each in wanted} & set(best))

    def line(self, name: str) -> str:
        """Return the averages in one line."""
        count = max(1, self.questions)
        recall = "  ".join(f"R@{depth} {sum_ / count:.3f}" for depth, sum_ in self.recall.items())
        return (
            f"{name:12} {self.questions:4} questions  {recall}  MRR {self.reciprocal / count:.3f}"
            f"  session hit@5 {self.in_session / count:.3f}"
        )


def rank_of(found: Sequence[str], wanted: set[str]) -> int:
    """Return the place of the first message that is wanted, counted from 1, or 0."""
    return next((place for place, each in enumerate(found, start=1) if each in wanted), 0)


def draft_of(session: Session, message: Message, place: int, draft: SessionDraft) -> Draft:
    """Return a message, or the record that an agent made there."""
    kind, _, key = message.role.partition("/")
    is_record = kind in set(Kind)
    return Draft(
        kind=Kind(kind) if is_record else Kind.MESSAGE,
        content=message.text,
        source_client=session.client,
        provider=session.client,
        session_id=draft.id,
        source_id=message.id,
        role=None if is_record else message.role,
        key=key or None,
        position=place,
        occurred_at=message.at,
    )


async def load(database: Database, sessions: Sequence[Session]) -> None:
    """Append the sessions as an importer would, and index them."""
    for name in sorted({each.project for each in sessions}):
        work = partial(crud.create_project, name=name, source_client="claude")
        await database.transact(work)
    for session in sessions:
        draft = SessionDraft(
            provider=session.client,
            source_session_id=session.id,
            source_client=session.client,
            title=session.title,
            project_id=project_id_of(session.project),
            started_at=session.messages[0].at,
        )
        await database.transact(partial(crud.start_sessions, drafts=[draft]))
        drafts = [
            draft_of(session, each, place, draft) for place, each in enumerate(session.messages)
        ]
        await database.transact(partial(crud.append, drafts=drafts, imported=True))
    while (await database.transact(search.index)).remaining:
        pass


async def ask(database: Database, question: Question, embedder: Embedder | None) -> list[str]:
    """Return the messages found for a question, best first."""
    request = Request(question.text, limit=DEPTH)
    answer = await database.transact(partial(search.search, request=request, embedder=embedder))
    return [str(hit.entry.source_id) for hit in answer.hits]


async def measure(database: Database, embedder: Embedder | None, *, with_misses: bool) -> None:
    """Load, ask and print."""
    sessions, asked = coding_set.sessions(), coding_set.questions()
    await load(database, sessions)
    while (
        embedder and (await database.transact(partial(search.embed, embedder=embedder))).remaining
    ):
        pass
    session_of = {each.id: one.id for one in sessions for each in one.messages}
    print(f"{len(sessions)} sessions, {len(session_of):,} messages, {len(asked)} questions")
    parts = {"odd": Scores(), "even": Scores(), "all": Scores()}
    kinds: dict[str, Scores] = {name: Scores() for name in coding_set.CATEGORIES}
    taken: list[float] = []
    for number, question in enumerate(asked, start=1):
        began = time.perf_counter()
        found = await ask(database, question, embedder)
        taken.append(time.perf_counter() - began)
        for scores in (
            kinds[question.category],
            parts["odd" if number % 2 else "even"],
            parts["all"],
        ):
            scores.add(found, question.relevant, session_of)
        rank = rank_of(found, set(question.relevant))
        if with_misses and not 1 <= rank <= 5:
            print(f"{question.id:16} {rank or '-':>3}  {question.category:11} {question.text[:80]}")
    for name, scores in (*kinds.items(), *parts.items()):
        print(scores.line(name))
    print(f"median {statistics.median(taken) * 1e3:.1f} ms a question")


async def main(*, use_embeddings: bool, with_misses: bool) -> None:
    """Run on a throw-away server."""
    print(machine())
    with server() as settings:
        embedder = embeddings.load(replace(settings, use_embeddings=use_embeddings))
        database = Database(settings)
        await measure(database, embedder, with_misses=with_misses)
        await database.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--embeddings", action="store_true")
    parser.add_argument("--misses", action="store_true", help="name what is not among the first 5")
    given = parser.parse_args()
    asyncio.run(main(use_embeddings=given.embeddings, with_misses=given.misses))
