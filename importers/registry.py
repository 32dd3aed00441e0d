"""Which clients there are. A new client is one module and one line here."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from importers.base import Importer, Store
from importers.claude import ClaudeImporter
from importers.codex import CodexImporter
from importers.opencode import OpenCodeImporter
from importers.pi import PiImporter
from memory.drafts import canonical_client
from memory.errors import InvalidInput

__all__ = ["IMPORTERS", "importers_in", "importers_of"]

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


def importers_in(folder: Path, clients: tuple[str, ...] = ()) -> list[Importer]:
    """Return the importers of what a folder holds: a home with clients' stores, or one such store.

    Of these clients only, when some are named. Raises InvalidInput when it is neither.
    """
    if not folder.is_dir():
        raise InvalidInput(f"--root {folder} is no folder.")
    asked = importers_of(clients)
    if at_home := [each for each in asked if each.stores({}, folder)]:
        return at_home
    if len(clients) == 1:
        return asked
    own = [each for each in asked if _reads(each, folder)]
    if len(own) == 1:
        return own
    if not own:
        raise InvalidInput(
            f"--root {folder} is neither a home with a client's store in it (.claude, .codex,"
            " .local/share/opencode, .pi/agent) nor such a store itself."
        )
    names = ", ".join(each.provider for each in own)
    raise InvalidInput(f"--root {folder} may be a store of {names}: say which with --client.")


def _reads(importer: Importer, folder: Path) -> bool:
    """Tell whether a folder, taken for a client's store, holds anything that the client wrote."""
    try:
        return any(True for _ in importer.sources(Store(provider=importer.provider, root=folder)))
    except OSError:
        return False
