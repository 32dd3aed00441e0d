"""The prompts as the protocol shows them."""

from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.context import ServerRequestContext

from memory.errors import LedgerError
from memory.tools.prompts import PROMPTS, asked

__all__ = ["get_prompt", "list_prompts"]

Context = ServerRequestContext[Any, Any]


async def list_prompts(_context: Context, _params: object) -> types.ListPromptsResult:
    """Return every prompt, with what is to be filled in."""
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=prompt.name,
                title=prompt.title,
                description=prompt.about,
                arguments=[
                    types.PromptArgument(
                        name=each.name, description=each.about, required=each.required
                    )
                    for each in prompt.questions
                ],
            )
            for prompt in PROMPTS
        ]
    )


async def get_prompt(
    _context: Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult:
    """Return a prompt's text as the user's message. Raises MCPError for wrong arguments."""
    try:
        prompt, text = asked(params.name, params.arguments or {})
    except LedgerError as error:
        raise MCPError(types.INVALID_PARAMS, str(error)) from None
    content = types.TextContent(type="text", text=text)
    return types.GetPromptResult(
        description=prompt.about, messages=[types.PromptMessage(role="user", content=content)]
    )
