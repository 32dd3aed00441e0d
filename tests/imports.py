"""Running the importers over stores into a real ledger, and looking at what came of it."""

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from importers.base import Importer
from importers.report import ClientReport
from importers.run import Runner
from importers.watch import BEGIN
from memory import crud
from memory.database import Database
from memory.drafts import session_id_of
from memory.models import Entry


def runner(database: Database, root: Path, *importers: Importer, **options: Any) -> Runner:
    """Return a runner that knows nothing yet, over the store at this root."""
    return Runner(
        database=database,
        importers=importers,
        environment={},
        home=Path("/nonexistent"),
        root=root,
        **options,
    )


async def run(database: Database, root: Path, importer: Importer) -> ClientReport:
    """Run one pass of one client as a new process would."""
    report = await runner(database, root, importer).run()
    (client,) = report.clients
    assert client.adds_up
    return client


async def entries(database: Database, provider: str, session: str) -> list[Entry]:
    """Return a session's entries in order."""
    found: list[Entry] = []
    session_id = session_id_of(provider, session)
    cursor = None
    while True:
        page = await database.transact(
            lambda s, at=cursor: crud.read_session(s, session_id, cursor=at)
        )
        found += page.entries
        cursor = page.next_cursor
        if cursor is None:
            return found


async def held(database: Database, provider: str, sessions: dict[str, Any]) -> dict[str, Any]:
    """Return what the ledger holds of these sessions, in the form of an expected.json."""
    return {name: await _session(database, provider, name) for name in sorted(sessions)}


async def _session(database: Database, provider: str, name: str) -> dict[str, Any]:
    view = await database.transact(lambda s: crud.get_session(s, session_id_of(provider, name)))
    of_session = await entries(database, provider, name)
    parts = {
        "parent": view.row.parent_id,
        "directory": view.row.directory,
        "title": view.attributes.get("title"),
        "roles": dict(sorted(Counter(str(each.role) for each in of_session).items())),
        "prompts": [each.content for each in of_session if each.role == "user"],
        "answers": [each.content for each in of_session if each.role == "assistant"],
    }
    return {key: value for key, value in parts.items() if value}


def wanted(provider: str, sessions: dict[str, Any]) -> dict[str, Any]:
    """Return the expected sessions with the ledger's ids of their parents."""
    return {
        name: {
            **each,
            **({"parent": session_id_of(provider, each["parent"])} if "parent" in each else {}),
        }
        for name, each in sorted(sessions.items())
    }


def copied(folder: Path, to: Path) -> Path:
    """Return a copy of a folder's store that a test may change."""
    return Path(shutil.copytree(folder / "store", to / "store"))


def digests(root: Path) -> dict[str, str]:
    """Return the hash of every file under a folder."""
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def heard(said: list[str]) -> Callable[[str], None]:
    """Return what notes the words of a watch, without those that only tell that it is at work."""

    def say(words: str) -> None:
        if words != BEGIN and not words.endswith("so far"):
            said.append(words)

    return say


def line(**fields: Any) -> bytes:
    """Return a line of JSON."""
    return json.dumps(fields).encode() + b"\n"
