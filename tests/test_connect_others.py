"""What is somebody else's in a client's file: connecting never takes it, nor does disconnecting."""

import json
from contextlib import suppress
from pathlib import Path

import pytest
from test_connect import answer, contents, environment, home

from memory.connect import CLIENTS, Places, Unwritable
from memory.connect.claude import EVENTS, hooks_of
from memory.connect.server import is_server

__all__ = ["environment", "home"]

OTHERS = '{"command":"/usr/bin/mine","args":["z"]}'
NAMED = {
    "claude": (".claude.json", [f'{{"mcpServers":{{"shared-memory":{OTHERS}}}}}\n']),
    "codex": (
        ".codex/config.toml",
        [
            '[mcp_servers.shared-memory]\ncommand = "/usr/bin/mine"\n',
            '[ "mcp_servers" . \'shared-memory\' ]\ncommand = "/usr/bin/mine"\n',
            'mcp_servers.shared-memory.command = "/usr/bin/mine"\n',
            '[mcp_servers]\nshared-memory = { command = "/usr/bin/mine" }\n',
            'mcp_servers = { shared-memory = { url = "https://mine.example" } }\n',
            '[mcp_servers.shared-memory.env]\nA = "1"\n',
            '[[mcp_servers.shared-memory]]\ncommand = "/usr/bin/mine"\n',
        ],
    ),
    "opencode": (
        ".config/opencode/opencode.jsonc",
        [
            '{"mcp": {"shared-memory": {"type": "local", "command": ["/usr/bin/mine"]}}} // a\n',
            '{"mcp": {"shared-memory": {"type": "remote", "url": "https://mine.example"}}}',
            '{"mcp": {"shared-memory": null}}',
        ],
    ),
}
CASES = [(client, name, text) for client, (name, texts) in NAMED.items() for text in texts]


@pytest.mark.parametrize(("client", "name", "text"), CASES)
def test_a_server_of_the_users_own_with_our_name_is_left_alone_while_the_others_are_connected(
    environment: dict[str, str], home: Path, client: str, name: str, text: str
) -> None:
    (home / name).write_text(text, "utf-8")
    before = contents(home)
    done = answer(environment, "connect", "all", "--yes", status=1)
    assert done["code"] == "name_taken"
    assert [each["client"] for each in done["failed"]] == [client]
    assert str(home / name) in done["error"]
    assert "shared-memory" in done["error"]
    assert "rename or remove" in done["error"]
    assert {each["client"] for each in done["changes"]} == set(NAMED) - {client}
    assert (home / name).read_text("utf-8") == text
    answer(environment, "disconnect", "all", "--yes")
    assert contents(home) == before


def test_an_entry_is_ours_when_it_starts_our_server_by_whatever_command() -> None:
    for entry in (
        {"command": "/old/python", "args": ["-m", "memory.mcp_server"]},
        {"command": ["/old/python", "-P", "-m", "memory.mcp_server"]},
        {"command": "/opt/bin/memory-mcp"},
        {"command": "sh", "args": ["-c", "exec '/opt/bin/memory-mcp' 2>/dev/null"]},
        {"command": "ssh", "args": ["db.example", "memory-mcp"]},
    ):
        assert is_server(entry), entry
    for other in (
        None,
        5,
        {},
        {"command": 5, "args": 6},
        {"command": "/opt/bin/other-memory-mcp"},
        {"command": "python", "args": ["-m", "their.memory.mcp_server"]},
        {"url": "https://memory-mcp"},
    ):
        assert not is_server(other), other


@pytest.mark.parametrize(
    ("name", "text", "client"),
    [
        (".claude.json", '{"mcpServers":{"shared-memory":OURS,"shared-memory":OURS}}', "claude"),
        (".claude.json", '{"mcpServers":{"a":1},"mcpServers":{}}', "claude"),
        (".claude/settings.json", '{"hooks": {"Stop": [], "Stop": []}}', "claude"),
        (".config/opencode/opencode.jsonc", '{"plugin": [], "plugin": []}', "opencode"),
    ],
)
def test_a_name_that_stands_twice_where_we_would_write_is_refused(
    environment: dict[str, str], home: Path, name: str, text: str, client: str
) -> None:
    text = text.replace("OURS", '{"command": "memory-mcp"}')
    (home / name).write_text(text, "utf-8")
    done = answer(environment, "connect", client, "--yes", status=1)
    assert done["code"] == "config_unreadable"
    assert "twice" in done["error"]
    assert (home / name).read_text("utf-8") == text


@pytest.mark.parametrize("text", ["", " \n\t", "\n\n", "\r\n", "\ufeff"])
def test_files_that_hold_nothing_stay_as_they_are_and_come_back_to_the_byte(
    environment: dict[str, str], home: Path, text: str
) -> None:
    for name in contents(home):
        (home / name).write_bytes(text.encode())
    before = contents(home)
    done = answer(environment, "disconnect", "--yes")
    assert {each["change"] for each in done["changes"]} == {"none"}
    assert contents(home) == before
    answer(environment, "connect", "all", "--yes")
    assert all(len(data) > 20 for data in contents(home).values())
    answer(environment, "disconnect", "--yes")
    assert contents(home) == before


def test_what_only_looks_like_ours_stays_where_nothing_was_connected(
    environment: dict[str, str], home: Path
) -> None:
    path = home / ".codex" / "config.toml"
    path.write_text("mcp_optional_startup_grace_ms = 10000\n", "utf-8")
    (home / ".claude" / "settings.json").write_text('{"hooks": {"Stop": [{}]}}', "utf-8")
    before = contents(home)
    answer(environment, "disconnect", "--yes")
    assert contents(home) == before


@pytest.mark.parametrize(
    ("client", "text"),
    [
        ("claude", '{"mcpServers": VALUE}'),
        ("claude", '{"mcpServers": {"shared-memory": VALUE}}'),
        ("claude", '{"mcpServers": {"shared-memory": {"command": VALUE}}}'),
        (
            "claude",
            '{"mcpServers": {"shared-memory": {"command": "a", "args": VALUE}}}',
        ),
        (
            "claude",
            '{"mcpServers": {"shared-memory": {"command": "a", "env": VALUE}}}',
        ),
        ("codex", "mcp_servers = VALUE"),
        ("codex", "mcp_servers.shared-memory = VALUE"),
        (
            "codex",
            "[mcp_servers.shared-memory]\ncommand = 'a'\nenv_vars = VALUE",
        ),
        ("opencode", '{"mcp": VALUE}'),
        ("opencode", '{"mcp": {"shared-memory": VALUE}}'),
    ],
)
@pytest.mark.parametrize("value", ["5", "true", '"words"', "[5]", "[[]]"])
def test_an_entry_of_an_odd_shape_is_never_more_than_that_clients_fault(
    environment: dict[str, str], home: Path, client: str, text: str, value: str
) -> None:
    (home / NAMED[client][0]).write_text(text.replace("VALUE", value), "utf-8")
    before = contents(home)
    with suppress(Unwritable):
        CLIENTS[client].configured(Places(home=home, environment=environment))
    done = answer(environment, "connect", client, "--yes", status=1)
    assert done["code"] in {"name_taken", "config_unreadable"}
    assert contents(home) == before


def test_hooks_of_an_odd_shape_stay_beside_ours(environment: dict[str, str], home: Path) -> None:
    path = home / ".claude" / "settings.json"
    text = (
        '{"hooks": {"Stop": [{"hooks": 5}, 5, {"hooks": [5]}], "Other": 5, "PreCompact": [null]}}'
    )
    path.write_text(text, "utf-8")
    answer(environment, "connect", "claude", "--yes")
    settings = json.loads(path.read_text("utf-8"))
    assert settings["hooks"]["Stop"][:3] == json.loads(text)["hooks"]["Stop"]
    assert set(hooks_of(settings)) == set(EVENTS)
    path.write_text(json.dumps(settings), "utf-8")  # as Claude Code would write it anew
    answer(environment, "disconnect", "--yes")
    assert path.read_text("utf-8") == text
