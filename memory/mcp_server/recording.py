"""Recording the handshake: what the SDK answers, asked in every version it speaks.

``python -m memory.mcp_server --write-handshake`` writes the file that `memory.mcp_server.handshake`
answers from. It has to be run again after a change of a tool, the instructions or the SDK; a
test fails until then.
"""

import asyncio
import json
import math
from pathlib import Path
from typing import Any, Final

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from memory.errors import Unavailable
from memory.mcp_server.handshake import PATH
from memory.mcp_server.server import build_server
from memory.tools import Toolbox

__all__ = ["record", "write"]

_LISTS: Final = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
_CLIENT: Final = {"name": "recording", "version": "1"}

Answers = list[dict[str, Any]]


def write() -> None:
    """Write the recording into the package."""
    text = json.dumps(record(), ensure_ascii=False, indent=1)
    Path(PATH).write_text(text + "\n", encoding="utf-8")


def record() -> dict[str, Any]:
    """Ask the SDK's server everything that the handshake answers; equal results are kept once."""
    return asyncio.run(_record())


async def _record() -> dict[str, Any]:
    results: list[Any] = []
    answers: dict[str, dict[str, int]] = {}

    def keep(version: str, methods: list[str], replies: Answers) -> None:
        places = answers.setdefault(version, {})
        for method, reply in zip(methods, replies, strict=True):
            if reply["result"] not in results:
                results.append(reply["result"])
            places[method] = results.index(reply["result"])

    for version in HANDSHAKE_PROTOCOL_VERSIONS:
        methods = ["initialize", "ping", *_LISTS]
        keep(version, methods, await _ask([_legacy(each, version) for each in methods]))
    refusal: dict[str, Any] = {}
    for version in MODERN_PROTOCOL_VERSIONS:
        methods = ["server/discover", *_LISTS]
        asked = [_modern(each, version) for each in methods]
        *replies, refused = await _ask([*asked, _legacy("initialize", "2025-11-25")])
        keep(version, methods, replies)
        refusal = refused["error"]
    return {
        "about": "Written by `python -m memory.mcp_server --write-handshake`; not edited by hand.",
        "handshake_versions": list(HANDSHAKE_PROTOCOL_VERSIONS),
        "modern_versions": list(MODERN_PROTOCOL_VERSIONS),
        "initialize_after_discover": refusal,
        "answers": answers,
        "results": results,
    }


def _legacy(method: str, version: str) -> dict[str, Any]:
    opening = {"protocolVersion": version, "capabilities": {}, "clientInfo": _CLIENT}
    return {"method": method, "params": opening if method == "initialize" else {}}


def _modern(method: str, version: str) -> dict[str, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": _CLIENT,
    }
    return {"method": method, "params": {"_meta": meta}}


async def _ask(requests: Answers) -> Answers:
    """Send requests over one connection and return the answers in the same order."""
    server = build_server(Toolbox(Unavailable()))
    to_sdk, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](math.inf)
    to_client, from_sdk = anyio.create_memory_object_stream[SessionMessage](math.inf)
    replies: Answers = []
    async with to_sdk, from_sdk, anyio.create_task_group() as group:
        options = server.create_initialization_options()
        group.start_soon(server.run, from_client, to_client, options)
        for number, request in enumerate(requests):
            message = {"jsonrpc": "2.0", "id": number, **request}
            await to_sdk.send(
                SessionMessage(jsonrpc_message_adapter.validate_python(message, by_name=False))
            )
            reply = await from_sdk.receive()
            replies.append(reply.message.model_dump(by_alias=True, exclude_unset=True))
        to_sdk.close()
    return replies
