"""pi as an importer: its stores, its session files."""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from importers import tail
from importers.base import Batch, Source, Store
from importers.pi.files import SESSIONS, STRAY, Headers, session_files
from importers.pi.rows import PROVIDER, normalise

__all__ = ["PiImporter"]


class PiImporter:
    """Reads what pi stores under its agent folder, and under a session folder of its own."""

    def __init__(self) -> None:
        """Begin without knowing any file."""
        self._headers = Headers()

    @property
    def provider(self) -> str:
        """The short name of the client."""
        return PROVIDER

    def stores(self, environment: Mapping[str, str], home: Path) -> list[Store]:
        """Return the agent folder if it has sessions, and the session folder that is set apart."""
        given = environment.get("PI_CODING_AGENT_DIR")
        agent = _expanded(given, home) if given else home / ".pi" / "agent"
        has_sessions = (agent / SESSIONS).is_dir() or any(agent.glob(STRAY))
        roots = [agent.absolute()] if has_sessions else []
        apart = environment.get("PI_CODING_AGENT_SESSION_DIR")
        if apart:
            folder = _expanded(apart, home).absolute()
            if folder.is_dir() and folder != agent.absolute() / SESSIONS:
                roots.append(folder)
        return [Store(provider=PROVIDER, root=root) for root in dict.fromkeys(roots)]

    def sources(self, store: Store) -> Iterable[Source]:
        """Return the session files, originals before what was forked from them."""
        return session_files(store, self._headers)

    def read(self, source: Source, state: Mapping[str, Any] | None) -> Batch:
        """Read one batch of a session file. Raises OSError when it cannot be read at all."""
        return tail.read(source, state, partial(normalise, session_in=self._headers.session))


def _expanded(folder: str, home: Path) -> Path:
    """Return a folder as pi reads it: ``~`` is the user's home."""
    return (
        home / folder[1:].lstrip("/") if folder == "~" or folder.startswith("~/") else Path(folder)
    )
