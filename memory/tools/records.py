"""Tools that record facts, decisions, preferences, events and project states."""

import json
from collections.abc import Mapping
from typing import Any, Final

from memory import crud
from memory.crud import Appended
from memory.database import Transaction
from memory.drafts import STATE_KEY, Draft, Kind, content_hash
from memory.errors import Conflict, InvalidInput
from memory.models import Entry
from memory.tools.arguments import (
    Parameter,
    bounded,
    content,
    document,
    flag,
    identifier,
    project,
    text,
    time,
)
from memory.tools.attribution import everywhere, find_place, source_of
from memory.tools.quotes import quote_value, shown
from memory.tools.tool import Answer, Call, Tool

__all__ = ["TOOLS"]

MAX_TYPE: Final = 200


async def _record_fact(session: Transaction, call: Call) -> Answer:
    return await _record(session, call, Kind.FACT, call["value"])


async def _record_preference(session: Transaction, call: Call) -> Answer:
    if not call["everywhere"]:
        return await _record(session, call, Kind.PREFERENCE, call["value"])
    if call["project_id"] is not None:
        raise InvalidInput(
            "everywhere and project_id exclude one another; leave one of the two out."
        )
    answer = await _record(session, call, Kind.PREFERENCE, call["value"], is_everywhere=True)
    return {**answer, "every_project": True}


async def _record_decision(session: Transaction, call: Call) -> Answer:
    decision, rationale = call["decision"], call["rationale"]
    if rationale is None:
        return await _record(session, call, Kind.DECISION, decision, {"decision": decision})
    said = f"{decision}\n\nRationale: {rationale}"
    parts = {"decision": decision, "rationale": rationale}
    return await _record(session, call, Kind.DECISION, said, parts)


async def _record_project_state(session: Transaction, call: Call) -> Answer:
    state = call["state_json"]
    said = json.dumps(state, ensure_ascii=False, sort_keys=True)
    return await _record(session, call, Kind.PROJECT_STATE, said, {"state": state})


async def _record_event(session: Transaction, call: Call) -> Answer:
    parts = {"type": call["type"], "text": call["text"], "data": call["payload"]}
    given = {name: value for name, value in parts.items() if value is not None}
    said = call["type"] if call["text"] is None else f"{call['type']}: {call['text']}"
    if call["payload"] is not None:  # so that a search finds what stands in it
        said += "\n" + json.dumps(call["payload"], ensure_ascii=False)
    return await _record(session, call, Kind.EVENT, said, given)


async def _record(
    session: Transaction,
    call: Call,
    kind: Kind,
    said: str,
    parts: Mapping[str, Any] | None = None,
    *,
    is_everywhere: bool = False,
) -> Answer:
    """Append a record where it belongs and return its answer."""
    place = await find_place(session, call)
    key = STATE_KEY if kind is Kind.PROJECT_STATE else call.arguments.get("key")
    occurred_at = call["occurred_at"]
    source = await source_of(session, place.session_id, call["source_message_id"])
    via: dict[str, Any] = {"via": dict(place.via)} if place.via else {}
    if is_everywhere:
        via |= {"said_in_session": str(place.session_id)} if place.session_id else {}
        place = everywhere(place)
    draft = Draft(
        kind=kind,
        content=said,
        key=key,
        source_client=call.source_client,
        provider=place.provider,
        machine=call.settings.machine,
        session_id=place.session_id,
        project_id=place.project_id,
        payload={**(parts or {}), **source, **via} or None,
        occurred_at=occurred_at,
        # Where it was said does not make a value another one.
        fingerprint=content_hash(kind, key, said, occurred_at and occurred_at.isoformat()),
    )
    if key is None:
        [appended] = await crud.append(session, [draft])
    else:
        appended = await _supersede(session, call, draft)
    notes = list(place.notes)
    if not appended.is_new:
        notes.append("The same value stands there already, recorded by the same client.")
    return _recorded(draft, appended, notes)


async def _supersede(session: Transaction, call: Call, draft: Draft) -> Appended:
    try:
        return await crud.record(session, draft, expected_id=call["expected_id"])
    except Conflict as error:
        head = error.details.get("head")
        # Quoted here, because the entry cannot be read after its transaction.
        quoted = quote_value(head) if isinstance(head, Entry) else None
        raise Conflict(str(error), details={"head": quoted}) from None


def _recorded(draft: Draft, appended: Appended, notes: list[str]) -> Answer:
    return {
        "id": str(appended.id),
        "kind": str(draft.kind),
        **({"key": shown(draft.key)} if draft.kind is not Kind.PROJECT_STATE and draft.key else {}),
        "is_new": appended.is_new,
        "version": appended.version,
        "supersedes": str(appended.supersedes) if appended.supersedes else None,
        "project_id": str(draft.project_id) if draft.project_id else None,
        "session_id": str(draft.session_id) if draft.session_id else None,
        "source_client": shown(draft.source_client),
        "notes": notes,
    }


def _shared(*, project_required: bool = False) -> tuple[Parameter, ...]:
    """Return the parameters that every record takes."""
    default = "" if project_required else "; default: the session's, else the directory's"
    return (
        project(f"id or name{default}", required=project_required),
        identifier("session_id", "default: the calling window's"),
        bounded(
            "source_message_id", "the message it was taken from", most=crud.MAX_SOURCE_ID_BYTES
        ),
        text("source_client", "default: the calling client"),
        time("occurred_at", "ISO 8601, default now; without zone UTC"),
    )


_EXPECTED: Final = identifier(
    "expected_id", "the entry you saw under this key; if another stands there: conflict"
)

TOOLS: Final = (
    Tool(
        name="record_fact",
        title="Record a fact",
        description=(
            "Record what is true under a key, such as database.port. A new value supersedes the"
            " old one, which stays in the history. Credentials are refused."
        ),
        parameters=(
            bounded("key", "short and stable", most=crud.MAX_KEY_BYTES, required=True),
            content("value", required=True),
            *_shared(),
            _EXPECTED,
        ),
        run=_record_fact,
        writes=True,
        always_load=True,
    ),
    Tool(
        name="record_decision",
        title="Record a decision",
        description=(
            "Record what was decided under a key, and why. A later decision under the key"
            " supersedes it; the history keeps both."
        ),
        parameters=(
            bounded("key", "short and stable", most=crud.MAX_KEY_BYTES, required=True),
            content("decision", required=True),
            content("rationale", "the reasons, and what was ruled out"),
            *_shared(),
            _EXPECTED,
        ),
        run=_record_decision,
        writes=True,
        always_load=True,
    ),
    Tool(
        name="record_preference",
        title="Record a preference",
        description=(
            "Record how the user likes things done, under a key: in the project, or with everywhere"
            " in every project."
        ),
        parameters=(
            bounded("key", "short and stable", most=crud.MAX_KEY_BYTES, required=True),
            content("value", required=True),
            *_shared(),
            _EXPECTED,
            flag("everywhere", "holds in every project, default false"),
        ),
        run=_record_preference,
        writes=True,
    ),
    Tool(
        name="record_event",
        title="Record an event",
        description="Record that something happened: a release, an outage, a finished step.",
        parameters=(
            text("type", "such as release", most=MAX_TYPE, required=True),
            document("payload", "anything structured"),
            content("text", "what happened, in a sentence"),
            *_shared(),
        ),
        run=_record_event,
        writes=True,
        repeatable=False,
    ),
    Tool(
        name="record_project_state",
        title="Record the project's state",
        description=(
            "Record a snapshot of where a project stands (done, open, next ...) as a JSON object."
            " The newest is the current one; earlier ones stay."
        ),
        parameters=(
            *_shared(project_required=True)[:1],
            document("state_json", "an object, not its text", required=True),
            *_shared(project_required=True)[1:],
            _EXPECTED,
        ),
        run=_record_project_state,
        writes=True,
    ),
)
