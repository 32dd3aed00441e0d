"""What a tool is, and what one call of it knows."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from memory.database import Transaction
from memory.drafts import spelled
from memory.errors import LedgerError
from memory.settings import Settings
from memory.tools.arguments import Arguments, Parameter
from memory.tools.caller import Caller

__all__ = ["Answer", "Call", "Tool"]

Answer = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a tool: its checked arguments and who made it."""

    arguments: Arguments
    caller: Caller
    settings: Settings
    tool: str = ""

    def __getitem__(self, name: str) -> Any:
        """Return an argument; None when it was left out."""
        return self.arguments[name]

    @property
    def source_client(self) -> str:
        """Who is to be named as the writer: the argument as it is stored, else the client itself."""
        given = self.arguments.get("source_client")
        return spelled(given) if given else self.caller.client


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool of the server.

    ``run`` works in one transaction and may be run again when other writers were in the way; it
    returns the answer without ``is_error``. ``without_database`` answers in its place when the
    database cannot be used.
    """

    name: str
    title: str
    description: str
    parameters: tuple[Parameter, ...]
    run: Callable[[Transaction, Call], Awaitable[Answer]]
    writes: bool = False
    repeatable: bool = True
    always_load: bool = False
    without_database: Callable[[Caller, LedgerError], Answer] | None = None

    def schema(self) -> dict[str, Any]:
        """Return the input schema: flat, without unions, references or null.

        Nor does it say that other names are refused: the call says so, and some models' programs
        take no such schema.
        """
        schema: Mapping[str, Any] = {each.name: each.schema() for each in self.parameters}
        required = [each.name for each in self.parameters if each.required]
        return {
            "type": "object",
            "properties": schema,
            **({"required": required} if required else {}),
        }
