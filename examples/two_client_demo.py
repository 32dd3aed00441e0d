"""Claude Code and Codex share one ledger: a program that shows it, and fails when it is not so.

Two real MCP servers, one for each client, as the clients start them; what each is told and
answers goes over its standard input and output. It may be started by its path as well.

    python -m examples.two_client_demo
"""

import asyncio
import json
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mcp import Client, Implementation, MCPError, StdioServerParameters
from mcp_types import TextContent

from memory.errors import LedgerError
from memory.settings import Settings

if not __package__:  # started by its path: the folder above holds the package
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from examples.demo_database import fresh_database

__all__ = ["main"]

_PATIENCE: Final = 20.0  # seconds until what the other wrote has to be seen
_LINE: Final = 72  # characters of a quotation


class _Lie(Exception):
    """What the demo promises is not so."""


@dataclass(frozen=True, slots=True)
class _Window:
    """One client's window: its name for people, the connection to its server, its session."""

    name: str
    client: Client
    session_id: str = ""

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its answer. Raises _Lie when that is an error."""
        try:
            result = await self.client.call_tool(tool, arguments)
        except MCPError as error:
            raise _Lie(f"{tool}: {error}") from error
        (said,) = result.content
        if not isinstance(said, TextContent):
            raise _Lie(f"{tool} answered no text")
        answer: dict[str, Any] = json.loads(said.text)
        if answer["is_error"]:
            raise _Lie(f"{tool} answered {answer['code']}: {answer['error']}")
        return answer

    async def say(self, number: int, role: str, content: str) -> None:
        """Append a message to the window's session, and show it."""
        await self.call(
            "append_message",
            session_id=self.session_id,
            source_message_id=f"{self.name}-{number}",
            content=content,
            original_timestamp=f"2026-03-01T09:{number:02d}:00Z",
            role=role,
            order=number,
        )
        print(f"   {role}: {content}")


def main() -> int:
    """Run the demo and return the exit status: 0 when all it promises was so."""
    try:
        return 0 if asyncio.run(_demo()) else 1
    except LedgerError as error:
        print(f"two_client_demo: {error} ({error.code})", file=sys.stderr)
        return 1


async def _demo() -> bool:
    """Say whether all that the demo promises was so."""
    settings = await fresh_database(Settings.from_environment())
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="lighthouse-"))
        claude = await stack.enter_async_context(_server(settings, "claude-code", folder))
        codex = await stack.enter_async_context(_server(settings, "codex-mcp-client", folder))
        try:
            await _story(_Window("Claude", claude), _Window("Codex", codex))
        except _Lie as lie:
            print(f"   ✗ {lie}", flush=True)
            return False
    return True


def _server(settings: Settings, client: str, folder: str) -> Client:
    """Return the connection to an MCP server of a client's own, not yet opened."""
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-P", "-m", "memory.mcp_server"],
        env={
            "DATABASE_URL": settings.database_url,
            "MEMORY_OWNER_URL": settings.owner_url,
            "MEMORY_HOME": str(settings.home),
        },
        cwd=folder,
    )
    return Client(parameters, client_info=Implementation(name=client, version="1.0"))


async def _story(claude: _Window, codex: _Window) -> None:
    print("1. A Claude session")
    project = (await claude.call("create_project", name="Lighthouse"))["project_id"]
    claude = await _started(claude, "claude", "Fix the lamp", project)
    await claude.say(1, "user", "The lamp stalls when rotate_lamp() is called twice.")
    await claude.say(
        2, "assistant", "rotate_lamp() takes the motor lock twice; I made it reentrant."
    )
    await _decide(claude, project, "A reentrant lock around the motor.")

    print("\n2. A Codex session in the same project")
    codex = await _started(codex, "codex", "Test the lamp", project)
    seen = await _changes(codex, "claude-code", 3)
    _check(seen, "Codex sees what Claude wrote", who="claude", count=3)
    await codex.say(3, "user", "Write a test for the lamp.")
    await codex.say(4, "assistant", "test_rotate_lamp_twice passes, and fails without the lock.")
    await codex.call("record_fact", key="lamp.motor", value="24 V", project_id=project)
    await _decide(codex, project, "A queue of commands; the lock is gone.")
    await codex.call("record_project_state", project_id=project, state_json={"next": "release"})

    print("\n3. Claude looks again")
    seen = await _changes(claude, "codex", 5)
    _check(seen, "Claude sees what Codex wrote, and none of its own", who="codex", count=5)

    print("\n4. One project, whoever asks")
    await _show_context(claude, codex, project)

    print("\n5. One search over both")
    await _show_search(claude, codex)

    print("\n6. Nothing was overwritten")
    await _show_history(codex, project)


async def _started(window: _Window, provider: str, title: str, project: str) -> _Window:
    answer = await window.call(
        "start_session",
        provider=provider,
        source_session_id=f"demo-{provider}",
        title=title,
        project_id=project,
    )
    print(f"   project Lighthouse, session “{title}”")
    return _Window(window.name, window.client, answer["session_id"])


async def _decide(window: _Window, project: str, decision: str) -> None:
    await window.call("record_decision", key="lamp.locking", decision=decision, project_id=project)
    print(f"   decision lamp.locking: {decision}")


async def _changes(window: _Window, other: str, count: int) -> list[dict[str, Any]]:
    """Return what another client wrote; it is there once transactions begun before have ended."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        answer = await window.call("find_changes", other_client=other)
        changes: list[dict[str, Any]] = answer["changes"]
        if len(changes) >= count or time.monotonic() > deadline:
            break
        await asyncio.sleep(0.05)
    print(f"   find_changes({other}):")
    for each in changes:
        print(f"     {_line(each)}")
    return changes


def _line(change: dict[str, Any]) -> str:
    said = change.get("content") or change.get("decision") or change.get("value")
    words = said or json.dumps(change.get("state"))
    what = change.get("role") or f"{change.get('kind', '')} {change.get('key', '')}".strip()
    return f"{what}: {words}"[:_LINE]


async def _show_context(claude: _Window, codex: _Window, project: str) -> None:
    first, second = [
        await window.call("get_project_context", project_id=project) for window in (claude, codex)
    ]
    for name in ("decisions", "facts"):
        print(f"   {name}: " + ", ".join(_line(each) for each in first[name]))
    _promise("both windows get the same context", first == second)
    decisions = [each["decision"] for each in first["decisions"]]
    _promise("the newer decision holds", decisions == ["A queue of commands; the lock is gone."])


async def _show_search(claude: _Window, codex: _Window) -> None:
    answer = await claude.call("search_history", query="rotate_lamp", kind="message")
    for line in sorted(f"{hit['source_client']}: {hit['snippet']}" for hit in answer["hits"]):
        print(f"   {line}"[:_LINE])
    clients = {hit["source_client"] for hit in answer["hits"]}
    _promise("Claude finds both clients' words", clients == {"claude", "codex"})
    answer = await codex.call("search_history", query="rotate_lamp", source_client="claude")
    clients = {hit["source_client"] for hit in answer["hits"]}
    _promise("Codex finds Claude's alone when it asks for them", clients == {"claude"})


async def _show_history(codex: _Window, project: str) -> None:
    answer = await codex.call("inspect_project_history", project_id=project)
    decisions = [each for each in answer["entries"] if each["kind"] == "decision"]
    for each in decisions:
        print(f"   {each['source_client']}: {each['decision']}")
    _promise(
        "the first decision stands, superseded by the second",
        [each.get("supersedes") for each in decisions] == [None, decisions[0]["id"]],
    )


def _check(changes: list[dict[str, Any]], sentence: str, *, who: str, count: int) -> None:
    _promise(sentence, [each["source_client"] for each in changes] == [who] * count)


def _promise(sentence: str, kept: bool) -> None:
    if not kept:
        raise _Lie(f"not so: {sentence}")
    print(f"   ✓ {sentence}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
