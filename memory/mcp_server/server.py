"""The SDK's server: one entry in its list for each of our tools, one text in each answer."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server

from memory.mcp_server.identity import INSTRUCTIONS, NAME, TITLE, VERSION
from memory.mcp_server.prompts import get_prompt, list_prompts
from memory.mcp_server.resources import list_resources, list_templates, reading
from memory.tools import TOOLS, Caller, Tool, Toolbox

__all__ = ["build_server"]

Context = ServerRequestContext[Any, Any]

_WRONG_ARGUMENTS: Final = "shared-memory/wrongArguments"


def build_server(toolbox: Toolbox) -> Server[Any]:
    """Return a server whose calls go to this toolbox."""

    async def list_tools(_context: Context, _params: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(tool) for tool in TOOLS])

    async def call_tool(
        context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        meta = (context.params or {}).get("_meta") or {}
        arguments = meta.get(_WRONG_ARGUMENTS, params.arguments or {})
        text = await toolbox.call(params.name, arguments, _caller(context, meta))
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    async def read(tool: str, arguments: Mapping[str, str], context: Context) -> str:
        meta = (context.params or {}).get("_meta") or {}
        return await toolbox.call(tool, arguments, _caller(context, meta))

    server: Server[Any] = Server(
        NAME,
        version=VERSION,
        title=TITLE,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=reading(read),
    )
    server.middleware = [_mark_wrong_arguments]
    return server


async def _mark_wrong_arguments(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Let arguments that are no object reach the tool, whose error the model can read.

    The SDK would answer with a protocol error, which clients do not show to the model.
    """
    params = ctx.params or {}
    if ctx.method != "tools/call" or isinstance(params.get("arguments"), dict | None):
        return await call_next(ctx)
    meta = params.get("_meta")
    meta = meta if isinstance(meta, dict) else {}
    kept = {**meta, _WRONG_ARGUMENTS: params["arguments"]}
    marked = {**params, "arguments": {}, "_meta": kept}
    return await call_next(replace(ctx, params=marked))


def _described(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.schema(),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=not tool.writes,
            destructive_hint=False,
            idempotent_hint=tool.repeatable,
            open_world_hint=False,
        ),
        _meta={"anthropic/alwaysLoad": True} if tool.always_load else None,
    )


def _caller(context: Context, meta: Mapping[str, Any]) -> Caller:
    """Read who calls from the handshake or the request, and where from the environment."""
    params = context.session.client_params
    name = params.client_info.name if params is not None else ""
    try:
        directory = os.getcwd()  # noqa: PTH109 - Path.cwd() is the same call
    except FileNotFoundError:  # it was removed under us
        directory = ""
    return Caller.of(name, meta=meta, environment=os.environ, directory=directory)
