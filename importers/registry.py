"""Which clients there are. A new client is one module and one line here."""

from collections.abc import Callable, Mapping
from typing import Final

from importers.base import Importer
from importers.claude import ClaudeImporter
from importers.codex import CodexImporter
from importers.opencode import OpenCodeImporter
from importers.pi import PiImporter
from memory.drafts import canonical_client
from memory.errors import InvalidInput

__all__ = ["IMPORTERS", "importers_of"]

IMPORTERS: Final[Mapping[str, Callable[[], Importer]]] = {
    "claude": ClaudeImporter,
    "codex": CodexImporter,
    "opencode": OpenCodeImporter,
    "pi": PiImporter,
}
"""How each client's importer is made, under the client's short name."""


def importers_of(clients: tuple[str, ...] = ()) -> list[Importer]:
    """Return the importers of these clients, of all when none is named.

    Raises InvalidInput, naming those there are, for a client without an importer.
    """
    names = [canonical_client(client) for client in clients] or list(IMPORTERS)
    unknown = [name for name in names if name not in IMPORTERS]
    if unknown:
        raise InvalidInput(
            f"There is no importer for {unknown[0][:40]!r}; there are {', '.join(IMPORTERS)}."
        )
    return [IMPORTERS[name]() for name in dict.fromkeys(names)]
