"""What may be done with the ledger: append and read.

Every function takes the database session first and options by keyword, and never commits:
`memory.database.Database.transact` does.
"""

from memory.crud.append import Appended, append
from memory.crud.bindings import Binding, all_bindings
from memory.crud.checkpoints import get_checkpoints, set_checkpoint
from memory.crud.context import Context, project_context, project_history
from memory.crud.entries import (
    Total,
    find_call,
    find_entry,
    get_entry,
    get_entry_and_newer,
    superseded_by,
    totals,
)
from memory.crud.heads import rebuild_heads
from memory.crud.machines import (
    Machine,
    find_machine,
    label_machine,
    list_machines,
    machine_labels,
)
from memory.crud.page import MAX_PAGE, Page
from memory.crud.placement import Placement, ensure_projects, find_project_of
from memory.crud.prepare import MAX_KEY_BYTES, MAX_SOURCE_ID_BYTES
from memory.crud.projects import (
    ProjectSummary,
    create_project,
    get_project,
    list_projects,
    project_names,
)
from memory.crud.records import get_head, record
from memory.crud.sessions import (
    SessionSummary,
    SessionView,
    get_session,
    list_sessions,
    newest_session,
    read_session,
    session_titles,
    start_session,
    start_sessions,
)
from memory.crud.surroundings import surroundings

__all__ = [
    "MAX_KEY_BYTES",
    "MAX_PAGE",
    "MAX_SOURCE_ID_BYTES",
    "Appended",
    "Binding",
    "Context",
    "Machine",
    "Page",
    "Placement",
    "ProjectSummary",
    "SessionSummary",
    "SessionView",
    "Total",
    "all_bindings",
    "append",
    "create_project",
    "ensure_projects",
    "find_call",
    "find_entry",
    "find_machine",
    "find_project_of",
    "get_checkpoints",
    "get_entry",
    "get_entry_and_newer",
    "get_head",
    "get_project",
    "get_session",
    "label_machine",
    "list_machines",
    "list_projects",
    "list_sessions",
    "machine_labels",
    "newest_session",
    "project_context",
    "project_history",
    "project_names",
    "read_session",
    "rebuild_heads",
    "record",
    "session_titles",
    "set_checkpoint",
    "start_session",
    "start_sessions",
    "superseded_by",
    "surroundings",
    "totals",
]
