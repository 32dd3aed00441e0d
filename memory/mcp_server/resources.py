"""Resources: what the reading tools answer, under an address that a user can point at.

Each is one tool's answer, so it is bounded, quoted and resolved in the same way. The list itself
is empty: what a ledger holds is no list of addresses, and stored text has no place in a list.
"""

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final
from urllib.parse import unquote

import mcp_types as types
from mcp import MCPError
from mcp.server.context import ServerRequestContext

__all__ = ["list_resources", "list_templates", "reading"]

Context = ServerRequestContext[Any, Any]
Caller = Callable[[str, Mapping[str, str], Context], Awaitable[str]]
"""Calls a tool for a request and returns its answer."""

_JSON: Final = "application/json"
_TEMPLATES: Final = (
    (
        "project-context",
        "A project's context",
        "memory://project/{id}/context",
        "What holds in a project: facts, decisions, preferences, state and recent events.",
    ),
    (
        "session",
        "A session",
        "memory://session/{id}",
        "The beginning of a session; read_session goes on with next_cursor.",
    ),
    ("entry", "An entry", "memory://entry/{id}", "One entry of any kind with all its fields."),
)
_TOOLS: Final = (
    (re.compile(r"memory://project/([^/?#]+)/context"), "get_project_context", "project_id"),
    (re.compile(r"memory://session/([^/?#]+)"), "read_session", "session_id"),
    (re.compile(r"memory://entry/([^/?#]+)"), "get_message", "message_id"),
)


async def list_resources(_context: Context, _params: object) -> types.ListResourcesResult:
    """Return no resource: there are templates."""
    return types.ListResourcesResult(resources=[])


async def list_templates(_context: Context, _params: object) -> types.ListResourceTemplatesResult:
    """Return the addresses that can be read, with the place of the id."""
    return types.ListResourceTemplatesResult(
        resource_templates=[
            types.ResourceTemplate(
                name=name, title=title, uri_template=uri, description=about, mime_type=_JSON
            )
            for name, title, uri, about in _TEMPLATES
        ]
    )


def reading(
    call: Caller,
) -> Callable[[Context, types.ReadResourceRequestParams], Awaitable[types.ReadResourceResult]]:
    """Return the handler that reads a resource by calling its tool."""

    async def read(
        context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        tool, arguments = _named(params.uri)
        text = await call(tool, arguments, context)
        answer = json.loads(text)
        if answer["is_error"]:
            data = {"code": answer["code"]}
            raise MCPError(types.INVALID_PARAMS, answer["error"], data)
        content = types.TextResourceContents(uri=params.uri, mime_type=_JSON, text=text)
        return types.ReadResourceResult(contents=[content])

    return read


def _named(uri: str) -> tuple[str, dict[str, str]]:
    """Return the tool that reads an address, and its argument."""
    for pattern, tool, name in _TOOLS:
        if found := pattern.fullmatch(uri):
            return tool, {name: unquote(found[1])}
    addresses = ", ".join(template for _, _, template, _ in _TEMPLATES)
    raise MCPError(types.INVALID_PARAMS, f"There is no such resource; there are {addresses}.")
