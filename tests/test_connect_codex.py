"""Edits of Codex' TOML: comments, order and the user's own program stay."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.connect.codex import CodexPart, chained
from memory.connect.server import Server
from memory.connect.toml import assignment, sections

HOOKS = ["/opt/python", "-I", "-S", "/opt/importers/hook.py"]
SERVER = Server(python="/opt/python", environment={"DATABASE_URL": ""}, hooks=HOOKS)
PART = CodexPart(path=Path("config.toml"), about="", server=SERVER, is_own=True)
ENTRY = {
    "command": "/opt/python",
    "args": ["-P", "-m", "memory.mcp_server"],
    "env": {"DATABASE_URL": ""},
}
NOTIFY = [*HOOKS, "--notify", "codex", "-e", "DATABASE_URL="]
SHAPES = [
    "",
    "# only a note\n",
    'model = "x" # why\nnotify = ["say", "done"] # mine\n\n# about it\n[tui]\na = 1\n',
    '[mcp_servers.other] # mine\ncommand = "z"\n\n[tui]\na = 1\n',
    'mcp_servers.other.command = "a"\nmodel = "x"\n',
    '[mcp_servers]\n\n[mcp_servers.other]\ncommand = "p"\n[tui]\na = 1\n',
    'x = """\n[no header]\n"""\ny = [\n  [1],\n  # inside\n]\n# e\n[[a]]\nb = 1\n[[a]]\nb = 2\n',
    'notify = [\n  "say", # a\n  "done",\n]\n\n[projects."/srv/a#b"]\ntrust_level = "trusted"\n',
]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_server_and_notify_come_and_go_without_a_trace(shape: str) -> None:
    after = PART.connected(shape)
    before, found = tomllib.loads(shape), tomllib.loads(after)
    assert found["mcp_servers"]["shared-memory"] == ENTRY
    users = before.get("notify", [])
    assert found["notify"] == [*NOTIFY, *(["--then", *users] if users else [])]
    assert found["mcp_optional_startup_grace_ms"] == 10_000
    assert PART.rest(after) == PART.rest(shape)
    assert PART.connected(after) == after
    assert PART.disconnected(after, shape) == shape
    assert tomllib.loads(PART.disconnected(after, None)) == before


def test_every_comment_and_line_of_the_user_stays_in_its_place() -> None:
    after = PART.connected(SHAPES[2])
    kept = [line for line in SHAPES[2].splitlines() if not line.startswith("notify")]
    assert [line for line in after.splitlines() if line in kept][: len(kept)] == kept
    assert "# mine" in after


def test_a_grace_of_the_users_own_is_left_alone() -> None:
    text = "mcp_optional_startup_grace_ms = 500\n"
    after = PART.connected(text)
    assert tomllib.loads(after)["mcp_optional_startup_grace_ms"] == 500
    assert PART.disconnected(after, text) == text
    ten = "mcp_optional_startup_grace_ms = 10000\n"
    assert PART.disconnected(PART.connected(ten), ten) == ten


def test_another_ledger_replaces_what_led_to_the_first_and_keeps_what_the_user_added() -> None:
    first = PART.connected("").replace('args = ["-P"', 'enabled_tools = ["a"] # mine\nargs = ["-P"')
    first = first.replace('DATABASE_URL = ""', 'DATABASE_URL = ""\nMEMORY_HOME = "/old"\nOWN = "1"')
    other = CodexPart(
        path=PART.path,
        about="",
        server=Server(
            python="/new", environment={"MEMORY_LEDGER": "team"}, passed=["DATABASE_URL"]
        ),
        is_own=True,
    )
    after = other.connected(first)
    found = tomllib.loads(after)["mcp_servers"]["shared-memory"]
    assert found["command"] == "/new"
    assert found["env_vars"] == ["DATABASE_URL"]
    assert found["env"] == {"OWN": "1", "MEMORY_LEDGER": "team"}
    assert found["enabled_tools"] == ["a"]
    assert "# mine" in after
    assert "env_vars" not in tomllib.loads(PART.connected(after))["mcp_servers"]["shared-memory"]


@pytest.mark.parametrize(
    "text",
    [
        "mcp_servers = {}\n",
        'mcp_servers = {other = {command = "a"}}\n',
        'mcp_servers.shared-memory.command = "a"\n',
        "broken = \n",
        "[a\n",
        "a = 1\na = 2\n",
    ],
)
def test_what_cannot_be_edited_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - tomllib's errors and ours
        PART.connected(text)


def test_in_a_project_only_the_server_is_written() -> None:
    part = CodexPart(path=PART.path, about="", server=SERVER, is_own=False)
    found = tomllib.loads(part.connected(""))
    assert found == {"mcp_servers": {"shared-memory": ENTRY}}


def test_whose_notify_it_is_shows_in_the_command() -> None:
    assert chained(["say", "--notify"]) is None
    assert chained(None) is None
    assert chained(NOTIFY) == []
    assert chained([*NOTIFY, "--then", "say", "it"]) == ["say", "it"]
    assert chained(["/bin/memory-import", "--notify", "codex"]) == []
    assert chained(["python", "-P", "-m", "importers", "--notify", "codex"]) == []


def test_an_assignment_is_found_where_it_is_one() -> None:
    text = 'a = """\nnotify = 1\n"""\nnotify = [\n "]", # ]\n] # end\n[b]\nnotify = 2\n'
    start, end = assignment(text, "notify") or (0, 0)
    assert text[start:end] == 'notify = [\n "]", # ]\n]'
    assert assignment("[b]\nnotify = 2\n", "notify") is None


LINES = st.sampled_from(
    ["# note", "", "a = 1", 'b = "[x]"', "c = [\n[1],\n]", 'd = """\n[y]\n"""', "[t]", '["q r".s]']
)


@given(st.lists(LINES, unique=True, max_size=8))
def test_sections_cover_every_value_once(lines: list[str]) -> None:
    text = "\n".join(lines) + "\n"
    found = sections(text)
    assert found[0].path == ()
    kept = "".join(text[each.start : each.end] for each in found)
    assert tomllib.loads(kept) == tomllib.loads(text)
    assert tomllib.loads(PART.disconnected(PART.connected(text), text)) == tomllib.loads(text)
