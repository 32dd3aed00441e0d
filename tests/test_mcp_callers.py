"""Who wrote it, in which session and project: as each client tells it, in its own era."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_process import MODERN, Json, Server

from importers.base import Batch, Source, Store
from importers.keep import keep
from importers.ready import prepare
from memory import crud
from memory.database import Database
from memory.drafts import Draft, Kind, SessionDraft, session_id_of
from memory.tools import Caller

pytestmark = pytest.mark.timeout(300)

CLAUDE_SESSION = "0b9d0e4c-1111-4222-8333-444455556666"
CODEX_THREAD = "019c0000-aaaa-7bbb-8ccc-ddddeeeeffff"


async def stored(server: Server, answer: Json) -> Json:
    got = await server.call("get_message", message_id=answer["id"])
    message: Json = got["message"]
    return message


@pytest.mark.parametrize(
    ("name", "era", "written"),
    [
        ("claude-code", MODERN, "claude"),
        ("codex-mcp-client", "2025-06-18", "codex"),
        ("opencode", "2025-11-25", "opencode"),
        ("Some Editor", MODERN, "Some Editor"),
    ],
)
async def test_the_client_s_name_is_written_unless_another_is_given(
    name: str, era: str, written: str, environment: dict[str, str]
) -> None:
    async with Server(environment, era=era, client=name) as server:
        await server.open()
        own = await server.call("record_event", type="own")
        other = await server.call("record_event", type="other", source_client="Claude-Code")
        assert own["source_client"] == written
        assert other["source_client"] == "claude-code"
        assert (await stored(server, other))["source_client"] == "claude-code"


async def test_claude_s_session_and_project_come_from_its_environment(
    environment: dict[str, str], database: Database, tmp_path: Path
) -> None:
    environment |= {
        "CLAUDE_CODE_SESSION_ID": CLAUDE_SESSION,
        "CLAUDE_PROJECT_DIR": str(tmp_path / "shop"),
    }
    async with Server(environment, era=MODERN, client="claude-code") as server:
        await server.open()
        use = {"claudecode/toolUseId": "toolu_01", "progressToken": 1}
        fact = await server.call("record_fact", _meta=use, key="k", value="v")
        again = await server.call("record_fact", key="k2", value="v")
        context = await server.call("get_project_context")
        status = await server.call("status")
        message = await stored(server, fact)
    assert fact["session_id"] == str(session_id_of("claude", CLAUDE_SESSION))
    assert message["payload"] == {"via": {"tool_use_id": "toolu_01"}}
    assert (message["provider"], message["source_client"]) == ("claude", "claude")
    assert context["project"]["name"] == "shop"
    assert {each["key"] for each in context["facts"]} == {"k", "k2"}
    assert again["session_id"] == fact["session_id"]
    assert (status["session_is_in_ledger"], status["project"]["name"]) == (True, "shop")
    assert status["session_found_by"] == "CLAUDE_CODE_SESSION_ID"
    assert (status["directory_found_by"], status["project"]["found_by"]) == (
        "CLAUDE_PROJECT_DIR",
        "session",
    )
    # The importer comes later with the same session: it finds it, with its directory.
    draft = SessionDraft(
        provider="claude",
        source_session_id=CLAUDE_SESSION,
        source_client="claude",
        directory=str(tmp_path / "shop"),
    )
    assert await database.transact(lambda session: crud.start_sessions(session, [draft])) == 0
    view = await database.transact(lambda session: crud.get_session(session, draft.id))
    assert view.row.directory == str(tmp_path / "shop")


async def test_another_client_inside_claude_s_terminal_is_not_taken_for_it(
    environment: dict[str, str], tmp_path: Path
) -> None:
    environment |= {
        "CLAUDE_CODE_SESSION_ID": CLAUDE_SESSION,
        "CLAUDE_PROJECT_DIR": str(tmp_path / "shop"),
    }
    async with Server(environment, client="opencode", directory=str(tmp_path)) as server:
        await server.open()
        fact = await server.call("record_fact", key="k", value="v")
        context = await server.call("get_project_context")
    assert fact["session_id"] is None
    assert fact["project_id"] == context["project"]["project_id"]
    assert context["project"]["name"] == tmp_path.name  # its own directory's, and not Claude's


async def test_codex_names_its_thread_with_each_call(
    environment: dict[str, str], tmp_path: Path
) -> None:
    async with Server(
        environment, era="2025-06-18", client="codex-mcp-client", directory=str(tmp_path)
    ) as server:
        await server.open()
        meta = {
            "threadId": CODEX_THREAD,
            "callId": "call_7",
            "x-codex-turn-metadata": {"session_id": "other", "model": "m"},
        }
        event = await server.call("record_event", _meta=meta, type="t", payload={"a": 1})
        message = await stored(server, event)
        context = await server.call("get_project_context", _meta=meta)
    assert event["session_id"] == str(session_id_of("codex", CODEX_THREAD))
    assert message["payload"] == {
        "type": "t",
        "data": {"a": 1},
        "via": {"call_id": "call_7"},
    }
    assert context["project"]["name"] == tmp_path.name
    assert [each["payload"] for each in context["events"]] == [{"a": 1}]


async def test_a_bound_directory_names_the_project_of_a_client_without_session(
    environment: dict[str, str], database: Database, tmp_path: Path
) -> None:
    bound = SessionDraft(
        provider="opencode",
        source_session_id="ses_1",
        source_client="opencode",
        directory=str(tmp_path),
    )
    await database.transact(lambda session: crud.start_sessions(session, [bound]))
    async with Server(environment, client="opencode", directory=str(tmp_path)) as server:
        await server.open()
        fact = await server.call("record_fact", key="k", value="v")
        context = await server.call("get_project_context")
        status = await server.call("status")
        message = await stored(server, fact)
    assert fact["session_id"] == str(bound.id)  # the newest that the ledger has there
    assert message["payload"] == {"via": {"session_by": "inferred from the ledger"}}
    assert status["session_found_by"] == "inferred from the ledger"
    assert fact["project_id"] == context["project"]["project_id"]
    assert context["project"]["name"] == tmp_path.name


async def test_an_unknown_program_s_project_is_looked_up_and_never_guessed(
    environment: dict[str, str], tmp_path: Path
) -> None:
    async with Server(environment, client="some-editor", directory=str(tmp_path)) as server:
        await server.open()
        fact = await server.call("record_fact", key="k", value="v")
        context = await server.call("get_project_context")
        projects = await server.call("list_projects")
    assert fact["project_id"] is None
    assert "belongs to no project" in fact["notes"][0]
    assert context["code"] == "no_project"
    assert projects["total"] == 0


async def test_explicit_ids_win_over_the_environment(
    environment: dict[str, str], tmp_path: Path
) -> None:
    environment |= {
        "CLAUDE_CODE_SESSION_ID": CLAUDE_SESSION,
        "CLAUDE_PROJECT_DIR": str(tmp_path / "shop"),
    }
    async with Server(environment, client="claude-code") as server:
        await server.open()
        project = (await server.call("create_project", name="Other"))["project_id"]
        session = await server.call(
            "start_session", provider="p", source_session_id="s", project_id=project
        )
        by_session = await server.call(
            "record_fact", key="k", value="v", session_id=session["session_id"]
        )
        by_project = await server.call("record_fact", key="k2", value="v", project_id=project)
    assert (by_session["session_id"], by_session["project_id"]) == (
        session["session_id"],
        project,
    )
    assert by_project["project_id"] == project
    assert by_project["session_id"] == str(session_id_of("claude", CLAUDE_SESSION))


async def test_a_client_starts_its_own_session_with_its_directory(
    environment: dict[str, str], database: Database, tmp_path: Path
) -> None:
    async with Server(environment, client="opencode", directory=str(tmp_path)) as server:
        await server.open()
        own = await server.call("start_session", provider="opencode", source_session_id="ses_1")
        other = await server.call("start_session", provider="claude", source_session_id="c_1")
    view = await database.transact(
        lambda session: crud.get_session(session, session_id_of("opencode", "ses_1"))
    )
    assert view.row.directory == str(tmp_path)
    assert own["project_id"] is not None
    assert other["project_id"] is None


async def test_opencode_s_session_and_call_are_those_that_run_in_its_store(
    environment: dict[str, str], database: Database, tmp_path: Path
) -> None:
    store, project = tmp_path / "data" / "opencode", str(tmp_path / "shop")
    store.mkdir(parents=True)
    (tmp_path / "shop").mkdir()
    part = {"type": "tool", "tool": "shared-memory_record_decision", "callID": "call_9"}
    with closing(sqlite3.connect(store / "opencode.db")) as connection:
        connection.execute("CREATE TABLE session (id, directory, time_updated)")
        connection.execute("CREATE TABLE part (id, session_id, data)")
        connection.executemany(
            "INSERT INTO session VALUES (?, ?, ?)",
            [("ses_old", project, 1), ("ses_new", project, 2), ("ses_other", "/else", 3)],
        )
        running = json.dumps(part | {"state": {"status": "running"}})
        connection.execute("INSERT INTO part VALUES ('prt_1', 'ses_old', ?)", [running])
        connection.commit()
    environment |= {"XDG_DATA_HOME": str(tmp_path / "data")}
    async with Server(environment, client="opencode", directory=project) as server:
        await server.open()
        decision = await server.call("record_decision", key="k", decision="d")
        fact = await server.call("record_fact", key="k", value="v")
        status = await server.call("status")
        call = Draft(
            kind=Kind.MESSAGE,
            content="record_decision",
            role="tool_call",
            source_client="opencode",
            provider="opencode",
            session_id=session_id_of("opencode", "ses_old"),
            source_id="tool/call_9",
            payload={"call_id": "call_9"},
        )
        [appended] = await database.transact(lambda s: crud.append(s, [call], imported=True))
        message = await stored(server, decision)
    assert decision["session_id"] == str(session_id_of("opencode", "ses_old"))
    assert message["said_in"] == {
        "entry_id": str(appended.id),
        "session_id": decision["session_id"],
    }
    assert message["payload"]["via"] == {
        "call_id": "call_9",
        "session_by": "inferred from the client's store",
    }
    # Without a call of this tool that runs, it is the newest of the directory.
    assert fact["session_id"] == str(session_id_of("opencode", "ses_new"))
    assert status["source_session_id"] == "ses_new"
    assert status["session_found_by"] == "inferred from the client's store"


async def test_a_record_leads_to_the_tool_call_of_a_sub_agent_too(
    environment: dict[str, str], database: Database, tmp_path: Path
) -> None:
    environment |= {
        "CLAUDE_CODE_SESSION_ID": CLAUDE_SESSION,
        "CLAUDE_PROJECT_DIR": str(tmp_path / "shop"),
    }
    agent = SessionDraft(
        provider="claude",
        source_session_id="agent-1",
        source_client="claude",
        parent=CLAUDE_SESSION,
    )
    call = Draft(
        kind=Kind.MESSAGE,
        content="record_preference",
        role="memory_call",
        source_client="claude",
        provider="claude",
        session_id=agent.id,
        source_id="row",
        payload={"call_id": "toolu_02"},
    )
    async with Server(environment, era=MODERN, client="claude-code") as server:
        await server.open()
        use = {"claudecode/toolUseId": "toolu_02"}
        record = await server.call(
            "record_preference", _meta=use, key="k", value="v", everywhere=True
        )
        assert "said_in" not in await stored(server, record)
        await database.transact(lambda s: crud.start_sessions(s, [agent]))
        [appended] = await database.transact(lambda s: crud.append(s, [call], imported=True))
        message = await stored(server, record)
    assert message["said_in"]["entry_id"] == str(appended.id)


async def test_a_store_that_cannot_be_read_costs_no_record(
    environment: dict[str, str], tmp_path: Path
) -> None:
    store = tmp_path / "data" / "opencode"
    store.mkdir(parents=True)
    (store / "opencode.db").write_bytes(b"no database at all" * 100)
    environment |= {"XDG_DATA_HOME": str(tmp_path / "data")}
    async with Server(environment, client="opencode", directory=str(tmp_path)) as server:
        await server.open()
        fact = await server.call("record_fact", key="k", value="v")
    assert (fact["is_error"], fact["session_id"]) == (False, None)


def test_codex_names_its_thread_in_the_turn_too() -> None:
    meta = {"x-codex-turn-metadata": {"session_id": "root", "thread_id": CODEX_THREAD}}
    caller = Caller.of("codex-mcp-client", meta=meta, environment={}, directory="/")
    assert (caller.session, caller.session_by) == (CODEX_THREAD, "_meta")


def test_a_client_that_gives_no_name_is_unknown() -> None:
    caller = Caller.of("", meta={}, environment={}, directory="/")
    assert (caller.client, caller.session, caller.via) == ("unknown", "", {})


@given(
    st.dictionaries(
        st.sampled_from(
            [
                "threadId",
                "callId",
                "claudecode/toolUseId",
                "io.modelcontextprotocol/clientInfo",
            ]
        ),
        st.none() | st.integers() | st.text() | st.dictionaries(st.just("name"), st.integers()),
    )
)
def test_any_meta_is_survived(meta: dict[str, Any]) -> None:
    caller = Caller.of("codex", meta=meta, environment={}, directory="/")
    assert caller.client == "codex"
    assert isinstance(caller.session, str)


def repository(folder: Path, config: str) -> Path:
    """Make a folder that git would take for a repository."""
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "config").write_text(config)
    return folder


async def test_the_tools_and_the_importers_find_the_same_project_of_a_repository(
    environment: dict[str, str], database: Database, tmp_path: Path
) -> None:
    remote = '[remote "origin"]\n\turl = {}\n'
    shop = repository(tmp_path / "shop", remote.format("git@github.com:me/shop.git"))
    clone = repository(tmp_path / "clone", remote.format("https://x:y@github.com/me/shop"))
    worktree = tmp_path / "trial"
    worktree.mkdir()
    (shop / ".git" / "worktrees" / "trial").mkdir(parents=True)
    (shop / ".git" / "worktrees" / "trial" / "commondir").write_text("../..\n")
    (worktree / ".git").write_text(f"gitdir: {shop}/.git/worktrees/trial\n")
    environment |= {
        "CLAUDE_CODE_SESSION_ID": CLAUDE_SESSION,
        "CLAUDE_PROJECT_DIR": str(worktree),
    }
    async with Server(environment, era=MODERN, client="claude-code") as server:
        await server.open()
        fact = await server.call("record_fact", key="k", value="v")
        [project] = (await server.call("list_projects"))["projects"]
    assert project["name"] == "shop"
    assert project["bindings"] == [
        {"remote": "github.com/me/shop"},
        {"root": str(shop)},
        {"directory": str(worktree)},
    ]
    imported = SessionDraft(
        provider="opencode",
        source_session_id="ses_1",
        source_client="opencode",
        directory=str(clone),
    )
    source = Source(store=Store(provider="opencode", root=tmp_path), path=tmp_path, key="k")
    ready = prepare(source, Batch(sessions=[imported]), machine="m")
    await keep(database, [ready])
    view = await database.transact(lambda session: crud.get_session(session, imported.id))
    assert str(view.row.project_id) == fact["project_id"]


async def test_a_repository_that_fits_two_projects_is_asked_about(
    environment: dict[str, str], tmp_path: Path
) -> None:
    config = '[remote "{}"]\n\turl = git@github.com:{}/shop.git\n'
    mine = repository(tmp_path / "mine", config.format("origin", "me"))
    yours = repository(tmp_path / "yours", config.format("origin", "you"))
    both = repository(tmp_path / "both", config.format("a", "me") + config.format("b", "you"))
    for folder in (mine, yours):
        async with Server(environment, client="opencode", directory=str(folder)) as server:
            await server.open()
            assert (await server.call("record_fact", key="k", value="v"))["project_id"]
    async with Server(environment, client="opencode", directory=str(both)) as server:
        await server.open()
        refused = await server.call("record_fact", key="k", value="v")
        context = await server.call("get_project_context")
        status = await server.call("status")
        chosen = refused["projects"][0]["project_id"]
        named = await server.call("record_fact", key="k", value="v", project_id=chosen)
    assert (refused["code"], context["code"]) == ("ambiguous_project", "ambiguous_project")
    names = {each["name"] for each in refused["projects"]}
    assert names == {"shop", "shop (github.com/you/shop)"}
    assert set(status["fitting"]) == {each["project_id"] for each in refused["projects"]}
    assert named["project_id"] == chosen
