"""Reading ``opencode.db``: the sessions that were changed since the checkpoint, and no others.

The checkpoint: ``stamp`` is how the files looked when everything was read, ``sessions`` when each
session was last changed and how many rows it had, ``titles`` counts the titles that it had,
``queue`` what is still to be read of the changes found last, ``at`` the place in the first of them,
``next_stamp`` the stamp of that look.

Rows are changed in place, so a session is read again from its last change on, with an overlap; and
as a whole when rows came without a new time, as they do from a backup.
"""

import copy
from collections.abc import Mapping
from typing import Any, Final

from importers import sqlite_store
from importers.base import Batch, Source
from importers.opencode.reading import Reading
from importers.opencode.session import Conversation
from importers.opencode.tables import TABLES, Changed, Tables, Torn
from importers.sqlite_store import Copies

__all__ = ["OVERLAP_MS", "only", "read_database"]

OVERLAP_MS: Final = 10_000
"""What was changed so shortly before the newest change is read again: two changes may fall into
one millisecond, and the second be seen later."""


def read_database(source: Source, state: Mapping[str, Any] | None, copies: Copies) -> Batch:
    """Read one batch of what was changed. Raises OSError when the database cannot be read."""
    state = copy.deepcopy(dict(state or {}))
    stamp = sqlite_store.stamp(source.path)
    if not state.get("queue") and state.get("stamp") == stamp:
        return Batch(state=state)
    state.setdefault("titles", {})
    reading = Reading()
    with sqlite_store.reading(source.path, tables=TABLES, copies=copies) as connection:
        tables = Tables(connection, str(source.path))
        if not state.get("queue"):
            state = _look(tables, state, stamp)
        while state["queue"] and not reading.is_full:
            _read_session(tables, state, reading)
    batch = reading.batch
    batch.finished = not state["queue"]
    if batch.finished:
        state = {
            "stamp": state["next_stamp"],
            "sessions": state["sessions"],
            "titles": state["titles"],
        }
        copies.drop(source.path)
    batch.state = state
    return batch


def only(session: str) -> dict[str, Any]:
    """Return the checkpoint from which one session is read whole, and no other."""
    return {"sessions": {}, "titles": {}, "queue": [[session, 0, 0, 0]], "at": {}, "next_stamp": ""}


def _look(tables: Tables, state: Mapping[str, Any], stamp: str) -> dict[str, Any]:
    """Return the state with every changed session in its queue, oldest first."""
    known: Mapping[str, list[int]] = state.get("sessions") or {}
    found = tables.changes()
    titles: Mapping[str, Any] = state["titles"]
    newest = max((each.changed for each in found), default=0)
    return {
        "sessions": {each.session: known[each.session] for each in found if each.session in known},
        "titles": {each.session: titles.get(each.session, {}) for each in found},
        "queue": [
            [each.session, each.changed, each.rows, _since(each, known.get(each.session))]
            for each in found
            if known.get(each.session) != [each.changed, each.rows]
            or each.changed > newest - OVERLAP_MS
        ],
        "at": {},
        "next_stamp": stamp,
    }


def _since(each: Changed, known: list[int] | None) -> int:
    """Return the time (ms) from which on a session's rows are read; 0 for all of them."""
    if known is None or each.changed < known[0]:
        return 0
    if each.changed == known[0] and each.rows != known[1]:
        return 0
    return max(0, known[0] - OVERLAP_MS)


def _read_session(tables: Tables, state: dict[str, Any], reading: Reading) -> None:
    """Read on in the first session of the queue, until it ends or the batch is full."""
    name, changed, rows, since = state["queue"][0]
    session = tables.session(name)
    if session is not None:
        if not state["at"]:
            reading.add_session(session, state["titles"].setdefault(name, {}))
        conversation = Conversation.of(name, session.get("parent_id"), tables.first(name))
        for found, behind in tables.messages(name, since, state["at"]):
            if isinstance(found, Torn):
                reading.add_torn(tables.path, found.place, found.reason, parts=found.parts)
            else:
                reading.add_message(found, conversation, is_row=behind["seq"] >= 0)
            state["at"] = behind
            if reading.is_full:
                return
        state["sessions"][name] = [changed, rows]
    state["queue"] = state["queue"][1:]
    state["at"] = {}
