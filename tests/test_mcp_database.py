"""The server and its database: empty, down, back again, locked out, and left alone when idle."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import asyncpg
import pytest
from mcp_process import ERAS, MODERN, Json, Server, eventually
from sqlalchemy import make_url

from memory.database.schema import init_schema
from memory.program import typed
from memory.settings import Settings
from memory.tools import Caller, Toolbox, indexing, toolbox

pytestmark = pytest.mark.timeout(300)

CALLER = Caller(client="test-client")


@contextlib.asynccontextmanager
async def relay(settings: Settings, port: int) -> AsyncIterator[asyncio.Event]:
    """Let a port stand for the database as long as the block runs; ends every connection then.

    Nothing passes while the event that the block gets is cleared, as when a cable is pulled.
    """
    url = make_url(settings.database_url)
    writers: set[asyncio.StreamWriter] = set()
    flows = asyncio.Event()
    flows.set()

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while part := await reader.read(65536):
                await flows.wait()
                writer.write(part)
                await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(url.host or "127.0.0.1", url.port or 5432)
        writers.update({writer, back})
        await asyncio.gather(pump(reader, back), pump(there, writer))

    server = await asyncio.start_server(serve, "127.0.0.1", port)
    try:
        yield flows
    finally:
        server.close()
        flows.set()
        for writer in writers:
            writer.transport.abort()
        await server.wait_closed()


def through(port: int, settings: Settings, environment: dict[str, str]) -> dict[str, str]:
    """Return the environment of a child that reaches the database through a relay."""
    url = make_url(settings.database_url).set(host="127.0.0.1", port=port)
    return {**environment, "DATABASE_URL": url.render_as_string(hide_password=False)}


async def query(settings: Settings, statement: str) -> object:
    connection = await asyncpg.connect(settings.owner_url.replace("+asyncpg", ""))
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


async def connections(settings: Settings) -> int:
    name = make_url(settings.database_url).database
    found = await query(
        settings,
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'shared-memory'"
        f" AND datname = '{name}'",
    )
    return int(str(found))


async def test_an_empty_database_gets_its_schema_at_the_first_call(
    empty_environment: dict[str, str],
) -> None:
    async with Server(empty_environment, era=MODERN) as server:
        await server.open()
        assert (await server.ask("tools/list"))["result"]["tools"]
        assert (await server.call("create_project", name="first"))["is_new"] is True


async def test_servers_that_meet_an_empty_database_at_once_all_work(
    empty_environment: dict[str, str],
) -> None:
    async def one(number: int) -> Json:
        async with Server(empty_environment, era=ERAS[number]) as server:
            await server.open()
            return await server.call("record_event", type=f"e{number}")

    answers = await asyncio.gather(*(one(number) for number in range(3)))
    assert [answer["is_error"] for answer in answers] == [False] * 3


async def test_a_database_that_is_down_is_told_and_used_again_when_it_is_back(
    environment: dict[str, str], settings: Settings, free_port: Callable[[], int]
) -> None:
    port = free_port()
    async with Server(through(port, settings, environment)) as server:
        opening = await server.open()
        assert opening["result"]["serverInfo"]["name"] == "shared-memory"
        down = await server.call("record_event", type="lost")
        assert (down["is_error"], down["code"]) == (True, "unavailable")
        status = await server.call("status")
        assert status["database"]["is_reachable"] is False
        for number in range(2):
            async with relay(settings, port):
                answer = await server.call("record_event", type=f"kept {number}")
                assert answer["is_error"] is False
            down = await server.call("list_projects")
            assert down["code"] == "unavailable"
    assert await query(settings, "SELECT count(*) FROM entries") == 2


async def test_a_wrong_password_is_told_without_repeating_it(
    environment: dict[str, str], settings: Settings
) -> None:
    wrong = make_url(settings.database_url).set(password="not-the-password")
    environment["DATABASE_URL"] = wrong.render_as_string(hide_password=False)
    async with Server(environment) as server:
        await server.open()
        for _ in range(2):
            answer = await server.call("list_projects")
            assert (answer["is_error"], answer["code"]) == (True, "auth_failed")
        assert "not-the-password" not in str(answer)
    assert b"not-the-password" not in server.errors


async def test_a_database_that_does_not_exist_is_told(
    environment: dict[str, str], settings: Settings
) -> None:
    wrong = make_url(settings.database_url).set(database="nowhere")
    environment["DATABASE_URL"] = wrong.render_as_string(hide_password=False)
    async with Server(environment) as server:
        await server.open()
        assert (await server.call("list_projects"))["code"] == "no_database"


async def test_a_schema_that_vanishes_is_told_and_its_return_noticed(
    environment: dict[str, str], settings: Settings
) -> None:
    async with Server(environment) as server:
        await server.open()
        assert not (await server.call("record_event", type="before"))["is_error"]
        await query(settings, "DROP SCHEMA public CASCADE")
        for tool, arguments in [("list_projects", {}), ("record_event", {"type": "lost"})]:
            answer = await server.call_with(tool, arguments)
            assert (answer["is_error"], answer["code"]) == (True, "schema_missing")
        await query(settings, "CREATE SCHEMA public")
        await query(settings, "GRANT USAGE ON SCHEMA public TO public")
        await init_schema(settings)
        assert not (await server.call("record_event", type="after"))["is_error"]


async def test_unusable_settings_are_told_by_every_tool(environment: dict[str, str]) -> None:
    environment["PG_POOL_SIZE"] = "many"
    async with Server(environment) as server:
        await server.open()
        assert (await server.ask("tools/list"))["result"]["tools"]
        answer = await server.call("list_projects")
        assert (answer["is_error"], answer["code"]) == (True, "invalid_argument")
        assert "PG_POOL_SIZE" in answer["error"]
        assert "PG_POOL_SIZE" in (await server.call("status"))["database"]["error"]


async def test_an_address_of_another_database_system_is_told(settings: Settings) -> None:
    tools = Toolbox(replace(settings, database_url="mysql://localhost/x"))
    answer = json.loads(await tools.call("list_projects", {}, CALLER))
    assert (answer["is_error"], answer["code"]) == (True, "invalid_argument")
    assert "DATABASE_URL" in answer["error"]


async def test_it_starts_from_any_directory_and_as_a_console_script(
    environment: dict[str, str], tmp_path: Path
) -> None:
    script = str(Path(sys.executable).with_name("memory-mcp"))
    for command in ((sys.executable, "-m", "memory.mcp_server"), (script,)):
        async with Server(environment, directory=str(tmp_path), command=command) as server:
            await server.open()
            assert not (await server.call("record_event", type="t"))["is_error"]


async def test_one_connection_is_used_and_a_given_size_is_honoured(
    environment: dict[str, str], settings: Settings
) -> None:
    for sizes, most in [({}, 1), ({"PG_POOL_SIZE": "2", "PG_MAX_OVERFLOW": "1"}, 3)]:
        async with Server({**environment, **sizes}) as server:
            await server.open()
            numbers = [
                await server.request("tools/call", {"name": name, "arguments": arguments})
                for _ in range(30)
                for name, arguments in [
                    ("list_projects", {}),
                    ("record_event", {"type": "t"}),
                ]
            ]
            seen = 0
            for number in numbers:
                answer = await server.answer_to(number)
                assert '"is_error":false' in answer["result"]["content"][0]["text"]
                seen = max(seen, await connections(settings))
            assert 1 <= seen <= most


async def test_no_connection_is_kept_when_idle_and_the_next_call_opens_one(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolbox, "IDLE_SECONDS", 0.0)
    monkeypatch.setattr(toolbox, "HOUSE_SECONDS", 0.01)
    tools = Toolbox(settings)

    async def none_is_open() -> bool:
        return await connections(settings) == 0

    house = asyncio.create_task(tools.keep_house())
    try:
        for _ in range(2):
            assert '"is_error":false' in await tools.call("list_projects", {}, CALLER)
            await eventually(none_is_open)
    finally:
        house.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await house
        await tools.close()


async def test_what_was_written_is_indexed_in_the_background(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolbox, "INDEX_DELAY_SECONDS", 0.0)
    tools = Toolbox(settings)

    async def all_are_indexed() -> bool:
        return await query(settings, "SELECT count(*) FROM search") == 3

    house = asyncio.create_task(tools.keep_house())
    try:
        for number in range(3):
            await tools.call("record_event", {"type": f"indexed {number}"}, CALLER)
        await eventually(all_are_indexed)
    finally:
        house.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await house
        await tools.close()


async def test_a_large_backlog_is_left_to_the_importers_and_told(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolbox, "INDEX_BATCH", 2)
    tools = Toolbox(settings)
    for number in range(8):
        await tools.call("record_event", {"type": f"waiting {number}"}, CALLER)
    for module in (toolbox, indexing):
        monkeypatch.setattr(module, "INDEX_BACKLOG", 4)
    status = json.loads(await tools.call("status", {}, CALLER))
    assert status["unindexed"] == 8
    assert typed("`memory import`") in status["notes"][0]
    assert await tools._index() is False  # 6 are left
    assert await tools._index() is True  # 4 are left
    assert json.loads(await tools.call("status", {}, CALLER)).get("notes", []) == []
    assert await tools._index() is True
    assert await tools._index() is False
    assert await query(settings, "SELECT count(*) FROM search") == 8
    await tools.close()


async def test_a_call_that_waits_too_long_is_given_up_and_the_next_ones_work(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = Toolbox(settings)
    assert '"is_error":false' in await tools.call("record_event", {"type": "before"}, CALLER)
    holder = await asyncpg.connect(settings.owner_url.replace("+asyncpg", ""))
    try:
        async with holder.transaction():
            await holder.execute("LOCK TABLE entries IN ACCESS EXCLUSIVE MODE")
            monkeypatch.setattr(toolbox, "CALL_SECONDS", 0.3)
            calls = [
                tools.call(name, arguments, CALLER)
                for name, arguments in [
                    ("record_event", {"type": "lost"}),
                    ("record_event", {"type": "lost too"}),
                    ("search_history", {"query": "anything"}),
                ]
            ]
            for answer in map(json.loads, await asyncio.gather(*calls)):
                assert (answer["is_error"], answer["code"]) == (True, "too_slow")
                assert "0.3 seconds" in answer["error"]
        monkeypatch.setattr(toolbox, "CALL_SECONDS", 60.0)
        assert '"is_error":false' in await tools.call("record_event", {"type": "after"}, CALLER)
        types = await query(settings, "SELECT string_agg(content, ' ' ORDER BY seq) FROM entries")
        assert types == "before after"
    finally:
        await holder.close()
        await tools.close()


async def test_a_connection_that_no_longer_answers_holds_up_no_later_call(
    settings: Settings, free_port: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    url = make_url(settings.database_url).set(host="127.0.0.1", port=port)
    tools = Toolbox(replace(settings, database_url=url.render_as_string(hide_password=False)))
    async with relay(settings, port) as flows:
        assert '"is_error":false' in await tools.call("record_event", {"type": "t"}, CALLER)
        flows.clear()
        monkeypatch.setattr(toolbox, "CALL_SECONDS", 0.3)
        for _ in range(4):  # more than there are connections
            answer = json.loads(await tools.call("record_event", {"type": "t"}, CALLER))
            assert answer["code"] == "too_slow"
            assert "Look whether it was recorded" in answer["error"]
            status = json.loads(await tools.call("status", {}, CALLER))
            assert status["database"]["code"] == "too_slow"
        monkeypatch.setattr(toolbox, "CALL_SECONDS", 60.0)
        flows.set()
        assert '"is_error":false' in await tools.call("list_projects", {}, CALLER)
        await tools.close()

    async def nothing_is_left() -> bool:
        return not tools._given_up

    await eventually(nothing_is_left)
