"""OpenCode as an importer: databases and files, wherever its versions keep them."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from importers.base import Batch, Source, Store
from importers.opencode.database import only, read_database
from importers.opencode.files import read_files
from importers.opencode.session import PROVIDER
from importers.sqlite_store import Copies

__all__ = ["OpenCodeImporter"]

_DATABASE: Final = re.compile(r"opencode(?:-[\w.-]+)?\.db")  # opencode-<channel>.db
_FILES: Final = ("storage/session/*/*.json", "project/*/storage/session/info/*.json")


@dataclass(frozen=True, slots=True)
class OpenCodeImporter:
    """The importer of OpenCode's sessions.

    Files and databases are always read both: versions before 1.2 wrote files, some later ones
    took them over into the database under the same ids, and the newest leave them aside.
    """

    provider: str = PROVIDER
    _copies: Copies = field(default_factory=Copies)
    _named: set[Path] = field(default_factory=set)

    def stores(self, environment: Mapping[str, str], home: Path) -> list[Store]:
        """Return the data folder, and the folder of the database that ``OPENCODE_DB`` names."""
        data = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share") / "opencode"
        roots = [data.absolute()] if data.is_dir() else []
        named = environment.get("OPENCODE_DB")
        if named and named != ":memory:":
            path = (data / named).absolute()  # relative to the data folder, unless absolute
            self._named.add(path)
            if os.path.lexists(path) and path.parent not in roots:
                roots.append(path.parent)
        return [
            Store(provider=PROVIDER, root=root)
            for root in roots
            if any(True for _ in self._found(root))
        ]

    def sources(self, store: Store) -> Iterable[Source]:
        """Return each session that is in files, then the databases."""
        return [Source(store=store, path=path, key=str(path)) for path in self._found(store.root)]

    def read(self, source: Source, state: Mapping[str, Any] | None) -> Batch:
        """Read one batch of a database, or of a session in files. Raises OSError."""
        if source.path.suffix == ".json":
            return read_files(source, state)
        return read_database(source, state, self._copies)

    def databases(self, environment: Mapping[str, str], home: Path) -> list[Path]:
        """Return the databases of every store."""
        stores = self.stores(environment, home)
        return [path for store in stores for path in self._databases(store.root)]

    def focus(self, source: Source, session: str) -> Mapping[str, Any] | None:
        """Return the checkpoint from which only this session of a database is read."""
        return None if source.path.suffix == ".json" else only(session)

    def _found(self, root: Path) -> Iterator[Path]:
        for pattern in _FILES:
            yield from sorted(root.glob(pattern))
        yield from self._databases(root)

    def _databases(self, root: Path) -> Iterator[Path]:
        for path in sorted(root.glob("*")):
            if _DATABASE.fullmatch(path.name) is not None or path in self._named:
                yield path
