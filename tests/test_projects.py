"""Which project a session belongs to: by remote, by root, by directory, and never by a guess."""

import asyncio
import itertools
import json
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import func, select

from importers.base import Batch, Source, Store
from importers.codex.thread import session_of
from importers.ready import prepare
from memory import crud
from memory.crud import Binding, ProjectSummary
from memory.database import Database
from memory.drafts import Draft, Kind, SessionDraft, session_id_of
from memory.models import Entry
from memory.workplace import Workplace

DRAFT = SessionDraft(provider="claude", source_session_id="s", source_client="claude")
APP = Workplace(directory="/srv/app", root="/srv/app", remotes=("github.com/me/app",))

_numbers = itertools.count(1)


async def start(database: Database, *places: Workplace) -> list[str | None]:
    """Start a session in each workplace, one after the other; return their projects' names."""
    names: list[str | None] = []
    for place in places:
        name = f"session {next(_numbers)}"
        draft = replace(DRAFT, source_session_id=name, directory=place.directory, workplace=place)
        view, is_new = await database.transact(lambda s, d=draft: crud.start_session(s, d))
        assert is_new
        project_id = view.row.project_id
        found = await database.transact(lambda s, p=place: crud.find_project_of(s, p))
        assert found.project_id == project_id
        known = await database.transact(crud.project_names)
        names.append(known[project_id] if project_id else None)
    return names


async def listed(database: Database) -> dict[str, ProjectSummary]:
    return {each.project.name: each for each in await database.transact(crud.list_projects)}


async def test_a_clone_elsewhere_is_the_same_project(database: Database) -> None:
    renamed = Workplace(directory="/srv/renamed/src", root="/srv/renamed", remotes=APP.remotes)
    assert await start(database, APP, renamed) == ["app", "app"]
    assert (await listed(database))["app"].bindings == [
        Binding("remote", "github.com/me/app"),
        Binding("root", "/srv/app"),
        Binding("root", "/srv/renamed"),
        Binding("directory", "/srv/app"),
        Binding("directory", "/srv/renamed/src"),
    ]


async def test_a_fork_is_another_project_even_in_the_same_folder(database: Database) -> None:
    fork = replace(APP, remotes=("github.com/you/app",))
    assert await start(database, APP, fork) == ["app", "app (github.com/you/app)"]
    assert await start(database, replace(APP, directory="/srv/app/x")) == ["app"]
    found = await database.transact(lambda s: crud.find_project_of(s, fork))
    assert found.by == "remote"


async def test_worktrees_and_subfolders_without_remote_are_their_root_s_project(
    database: Database,
) -> None:
    places = [
        Workplace(directory="/srv/app", root="/srv/app"),
        Workplace(directory="/srv/app/src", root="/srv/app"),
        Workplace(directory="/srv/worktree", root="/srv/app"),
        Workplace(directory="/srv/worktree"),  # gone since, but known
    ]
    assert await start(database, *places) == ["app"] * 4


async def test_a_directory_that_was_known_alone_lends_its_project_to_the_remote(
    database: Database,
) -> None:
    alone = Workplace(directory="/srv/app")
    elsewhere = Workplace(directory="/home/app-2", root="/home/app-2", remotes=APP.remotes)
    inside = Workplace(directory="/srv/app/src", root="/srv/app", remotes=APP.remotes)
    assert await start(database, alone, inside, elsewhere) == ["app", "app", "app"]


async def test_a_remote_that_a_client_recorded_meets_the_remote_on_the_disk(
    database: Database,
) -> None:
    git = {"repository_url": "https://user:word@github.com/me/app.git"}
    recorded = session_of("t", {"id": "t", "cwd": "/gone/app", "git": git}, None)
    await database.transact(lambda s: crud.start_sessions(s, [recorded]))
    assert await start(database, APP) == ["app"]
    summary = (await listed(database))["app"]
    assert summary.sessions == 2
    assert summary.directories == ["/gone/app", "/srv/app"]


async def test_no_project_is_guessed_when_two_fit(database: Database) -> None:
    other = Workplace(directory="/srv/b", root="/srv/b", remotes=("host/b",))
    both = Workplace(directory="/srv/c", root="/srv/c", remotes=("github.com/me/app", "host/b"))
    assert await start(database, APP, other, both) == ["app", "b", None]
    found = await database.transact(lambda s: crud.find_project_of(s, both))
    ids = {each.project.id for each in (await listed(database)).values()}
    assert (found.project_id, set(found.fitting)) == (None, ids)
    # The repository's own root tells, once it is bound.
    assert await start(database, replace(both, directory="/srv/b/src", root="/srv/b")) == ["b"]


async def test_several_remotes_of_which_one_is_known_are_its_project(database: Database) -> None:
    several = Workplace(directory="/srv/c", root="/srv/c", remotes=("github.com/me/app", "h/z"))
    new = Workplace(directory="/srv/d", root="/srv/d", remotes=("h/x", "h/y"))
    assert await start(database, APP, several, new, replace(new, directory="/srv/d/e")) == [
        "app",
        "app",
        "d",
        "d",
    ]
    assert [each.kind for each in (await listed(database))["d"].bindings] == [
        "root",
        "directory",
        "directory",
    ]


async def test_a_binding_is_appended_and_never_changed(database: Database) -> None:
    moved = Workplace(directory="/srv/app", root="/srv/app", remotes=("host/moved",))
    await start(database, APP, moved, Workplace(directory="/srv/app"), replace(APP, root="/x"))
    versions = await database.transact(
        lambda s: s.scalar(select(func.max(Entry.version)).where(Entry.kind == Kind.BINDING))
    )
    assert versions == 1


async def test_a_project_made_by_hand_is_taken_by_the_repository_of_its_name(
    database: Database,
) -> None:
    made, _ = await database.transact(
        lambda s: crud.create_project(s, "App", source_client="claude")
    )
    assert await start(database, APP) == ["App"]
    assert (await listed(database))["App"].project.id == made.id


async def test_many_writers_make_one_project_of_one_remote(database: Database) -> None:
    def started(number: int) -> SessionDraft:
        place = replace(APP, directory=f"/srv/{number}", root=f"/srv/{number}")
        return replace(DRAFT, source_session_id=str(number), workplace=place)

    await asyncio.gather(
        *(
            database.transact(partial(crud.start_sessions, drafts=[started(number)]))
            for number in range(8)
        )
    )
    assert {name: each.sessions for name, each in (await listed(database)).items()} == {"app": 8}


async def test_a_known_session_keeps_its_project_and_binds_nothing(database: Database) -> None:
    draft = replace(DRAFT, directory="/srv/app")
    await database.transact(partial(crud.start_session, draft=draft))
    before = (await listed(database))["app"]
    draft = replace(draft, workplace=APP)
    assert await database.transact(partial(crud.start_sessions, drafts=[draft])) == 0
    assert (await listed(database))["app"].bindings == before.bindings


@pytest.mark.parametrize("name", ["/", "/srv/" + "x" * 2000, "/srv/\x00", "/srv/\u202eapp"])
async def test_any_directory_has_a_project(database: Database, name: str) -> None:
    [first] = await start(database, Workplace(directory=name))
    assert first
    again = replace(DRAFT, source_session_id="again", directory=name)
    view, _ = await database.transact(lambda s: crud.start_session(s, again))
    known = await database.transact(crud.project_names)
    assert known[view.row.project_id] == first


async def test_a_credential_in_a_path_is_bound_without_it(database: Database) -> None:
    token = "ghp_" + "a1B2c3D4" * 5
    place = Workplace(directory=f"/srv/{token}/app")
    assert await start(database, place) == ["app"]
    rows = await database.transact(lambda s: s.scalars(select(Entry)))
    for entry in rows:
        assert token not in f"{entry.key} {entry.content} {entry.payload}"


async def test_entries_go_where_their_session_goes(database: Database) -> None:
    await start(database, APP)
    draft = replace(DRAFT, source_session_id="x", workplace=APP)
    view, _ = await database.transact(lambda s: crud.start_session(s, draft))
    event = Draft(kind=Kind.EVENT, content="e", source_client="claude", session_id=view.row.id)
    await database.transact(lambda s: crud.append(s, [event]))
    assert (await listed(database))["app"].entries == 1


async def test_status_says_who_works_in_this_terminal_and_what_told_it(
    database: Database, environment: dict[str, str], tmp_path: Path
) -> None:
    await start(database, Workplace(directory=str(tmp_path)))
    told = environment | {"CLAUDE_CODE_SESSION_ID": "c1"}
    for variables, client, session in ((environment, "memory", None), (told, "claude", "c1")):
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "memory.cli",
            "status",
            "--json",
            env=variables,
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
        )
        output, _ = await process.communicate()
        here = json.loads(output)["here"]
        assert (here["client"], here["project"]) == (client, tmp_path.name)
        assert (here["project_found_by"], here["directory"]) == ("directory", str(tmp_path))
        expected = str(session_id_of("claude", session)) if session else None
        assert here["session_id"] == expected


def test_sessions_of_another_machine_are_looked_up_on_no_disk_of_this_one(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    source = Source(store=Store(provider="claude", root=tmp_path), path=tmp_path, key="k")
    batch = Batch(sessions=[replace(DRAFT, directory=str(tmp_path))])
    [here] = prepare(source, batch, machine="m").sessions
    [there] = prepare(source, batch, machine="m", is_elsewhere=True).sessions
    assert here.place == Workplace(directory=str(tmp_path), root=str(tmp_path))
    assert there.place == Workplace(directory=str(tmp_path))
