"""The clients that can be connected, by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from memory.connect import claude, codex, opencode
from memory.connect.parts import Part
from memory.connect.places import Configured, Places
from memory.connect.server import Server

__all__ = ["CLIENTS", "Client", "found"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One client: what it is called, its program, its folder, and what its files say and take."""

    title: str
    program: str
    folder: Callable[[Places], Path]
    parts: Callable[[Places, Server], tuple[Part, ...]]
    configured: Callable[[Places], Configured | None]

    def is_installed(self, places: Places) -> bool:
        """Return whether its program is found, or it has been used by this account."""
        return places.program(self.program) is not None or self.folder(places).exists()


CLIENTS: Final[Mapping[str, Client]] = MappingProxyType(
    {
        "claude": Client(
            title="Claude Code",
            program="claude",
            folder=claude.folder,
            parts=claude.parts,
            configured=claude.configured,
        ),
        "codex": Client(
            title="Codex",
            program="codex",
            folder=codex.folder,
            parts=codex.parts,
            configured=codex.configured,
        ),
        "opencode": Client(
            title="OpenCode",
            program="opencode",
            folder=opencode.folder,
            parts=opencode.parts,
            configured=opencode.configured,
        ),
    }
)
"""Each client by its short name."""


def found(places: Places) -> list[str]:
    """Return the names of the clients that are installed here."""
    return [name for name, client in CLIENTS.items() if client.is_installed(places)]
