"""The SDK's thread: its event loop, its server, and the database behind the tools."""

import asyncio
import contextlib
import gc
import math
from concurrent.futures import ThreadPoolExecutor

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from memory import log
from memory.errors import LedgerError
from memory.mcp_server.link import Link
from memory.mcp_server.messages import Message
from memory.mcp_server.server import build_server
from memory.settings import Settings
from memory.tools import Toolbox

__all__ = ["run"]

_log = log.get(__name__)


def run(link: Link) -> None:
    """Serve what the link hands over until it is closed; returns then."""
    # What was loaded stays: to walk through it at each full collection held up a call for 40 ms.
    gc.freeze()
    asyncio.run(_serve(link, _toolbox()))


def _toolbox() -> Toolbox:
    """Build the toolbox; with unusable settings every tool says what is wrong with them."""
    try:
        settings = Settings.from_environment()
    except LedgerError as error:
        log.configure()
        return Toolbox(error)
    log.configure(settings.log_level)
    # At DEBUG the SDK writes whole messages, which may hold what no log should.
    log.get("mcp").setLevel("WARNING")
    return Toolbox(settings)


async def _serve(link: Link, toolbox: Toolbox) -> None:
    server = build_server(toolbox)
    to_sdk, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](math.inf)
    to_client, from_sdk = anyio.create_memory_object_stream[SessionMessage](0)

    loop = asyncio.get_running_loop()

    def receive(message: Message) -> None:
        try:
            to_sdk.send_nowait(
                SessionMessage(jsonrpc_message_adapter.validate_python(message, by_name=False))
            )
        except ValidationError:  # only an answer can be malformed here, and we ask nothing
            _log.info("left out a message that is neither request nor notification")

    def deliver(message: Message) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(receive, message)

    def close() -> None:
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(to_sdk.close)

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_write, from_sdk, link)
            group.start_soon(toolbox.keep_house)
            link.attach(deliver, close)
            await server.run(from_client, to_client, server.create_initialization_options())
            group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await toolbox.close()


async def _write(from_sdk: MemoryObjectReceiveStream[SessionMessage], link: Link) -> None:
    """Pass the SDK's messages on, from a thread: a client that does not read stops only that."""
    loop = asyncio.get_running_loop()
    async with from_sdk:
        writer = ThreadPoolExecutor(1, "writer")
        async for each in from_sdk:
            message = each.message.model_dump(by_alias=True, exclude_unset=True)
            await loop.run_in_executor(writer, link.reply, message)
