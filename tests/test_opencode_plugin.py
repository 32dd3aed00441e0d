"""The OpenCode plugin, run by node under a host that stands for OpenCode."""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hook_calls import HOOK, ROOT, held, until, waiting

NODE = shutil.which("node")
PLUGIN = ROOT / "clients" / "opencode-plugin" / "shared-memory.js"
SESSION = "ses_1a2b3c"
IDLE = {"type": "session.idle", "properties": {"sessionID": SESSION}}

pytestmark = pytest.mark.skipif(NODE is None, reason="node runs the plugin, and it is not here")

HOST = """
import { readFileSync } from "node:fs"
const { plugin, events, options, asked } = JSON.parse(readFileSync(0, "utf8"))
const made = Object.values(await import(plugin))
const hooks = []
for (const each of made) hooks.push(await each({ client: {}, directory: "/x" }, options))
for (const event of events) for (const each of hooks) await each.event({ event })
for (const each of hooks) await each.event(undefined)
const told = []
for (const sessionID of asked) {
  const output = { system: ["theirs"] }
  for (const each of hooks) await each["experimental.chat.system.transform"]({ sessionID }, output)
  told.push(output.system)
}
console.log(JSON.stringify({ exports: made.length, told }))
"""


def host(
    tmp_path: Path, *events: Any, options: Any = None, path: str = "", asked: Sequence[Any] = ()
) -> dict[str, Any]:
    """Give the plugin these events, then ask it for the system prompts of these sessions.

    Returns how it was; it must have thrown nothing.
    """
    assert NODE is not None
    plugin = tmp_path / "shared-memory.mjs"  # node 20 takes .js for another kind of module
    shutil.copy(PLUGIN, plugin)
    said: dict[str, Any] = {"plugin": plugin.as_uri(), "events": events, "options": options}
    said["asked"] = list(asked)
    done = subprocess.run(
        [NODE, "--input-type=module", "-e", HOST],
        input=json.dumps(said),
        env={"PATH": path or str(Path(NODE).parent)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def program(tmp_path: Path, script: str) -> Path:
    path = tmp_path / "memory-import"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_an_idle_session_is_told_to_the_program_that_connect_wrote(tmp_path: Path) -> None:
    said = tmp_path / "said"
    own = program(tmp_path, f'printf "%s\\n" "$@" > "{said}.new" && mv "{said}.new" "{said}"')
    command = [str(own), "--notify", "opencode", "-e", "DATABASE_URL="]
    answer = host(tmp_path, IDLE, options={"command": command})
    assert answer["exports"] == 1, "OpenCode calls every export as a plugin"
    until(said.exists)
    *words, text = said.read_text("utf-8").splitlines()
    assert words == command[1:]
    assert json.loads(text) == IDLE


def test_without_options_the_program_is_looked_for_in_the_path(tmp_path: Path) -> None:
    said = tmp_path / "said"
    program(tmp_path, f'printf "%s\\n" "$@" > "{said}.new" && mv "{said}.new" "{said}"')
    for options in (None, {}, {"command": []}, {"command": "memory-import"}, {"command": [1]}):
        host(tmp_path, IDLE, options=options, path=f"{tmp_path}:/usr/bin:/bin")
        until(said.exists)
        assert said.read_text("utf-8").splitlines()[:2] == ["--notify", "opencode"]
        said.unlink()


def test_nothing_is_thrown_and_nothing_is_waited_for(tmp_path: Path) -> None:
    strange = [None, 1, "x", {}, {"type": "session.idle"}, {"type": "session.updated"}]
    strange += [{"type": "session.idle", "properties": {"sessionID": each}} for each in (None, 7)]
    host(tmp_path, *strange, IDLE, options={"command": ["/nonexistent/memory-import"]})
    go = tmp_path / "go"
    slow = program(tmp_path, f'while [ ! -e "{go}" ]; do sleep 0.05; done')
    host(tmp_path, IDLE, options={"command": [str(slow)]})  # it ends before the program may
    go.touch()


def test_what_the_plugin_says_is_a_signal(tmp_path: Path) -> None:
    spool = tmp_path / "memory" / "spool"
    command = [sys.executable, "-I", "-S", HOOK, "--notify", "opencode"]
    command += ["-e", f"MEMORY_HOME={spool.parent}"]
    with held(spool, "opencode"):
        host(tmp_path, IDLE, options={"command": command})
        until(lambda: bool(waiting(spool)))
    assert waiting(spool) == [f"opencode.{SESSION}.json"]


def created(session: str, **more: str) -> dict[str, Any]:
    return {"type": "session.created", "properties": {"info": {"id": session, **more}}}


def briefing(tmp_path: Path, script: str) -> dict[str, Any]:
    return {"command": ["true"], "brief": [str(program(tmp_path, script)), "--client=opencode"]}


def test_a_session_is_told_the_brief_once_asked_for_and_each_time_the_same(tmp_path: Path) -> None:
    said = tmp_path / "said"
    options = briefing(tmp_path, f'echo "$@" >> "{said}"; echo "brief of $(wc -l < "{said}")"')
    told = host(tmp_path, created("a"), options=options, asked=["a", "a", "b"])["told"]
    assert told == [["theirs", "brief of 1"]] * 3
    assert said.read_text("utf-8") == "--client=opencode --directory=/x --seconds=10\n"


def test_a_subagent_and_a_request_without_a_session_are_told_nothing(tmp_path: Path) -> None:
    options = briefing(tmp_path, "echo brief")
    event = created("child", parentID="a")
    told = host(tmp_path, event, options=options, asked=["child", None, 7])["told"]
    assert told == [["theirs"]] * 3


def test_without_the_option_nobody_is_told_a_brief(tmp_path: Path) -> None:
    for options in (None, {}, {"brief": True}, {"brief": []}, {"brief": "echo"}):
        assert host(tmp_path, created("a"), options=options, asked=["a"])["told"] == [["theirs"]]


@pytest.mark.parametrize(
    "script",
    [
        "exit 3",
        "echo brief; exit 1",
        "true",
        "head -c 2049 /dev/zero | tr '\\0' x",
        "exec sleep 600",
    ],
)
def test_whatever_the_brief_does_a_session_starts(tmp_path: Path, script: str) -> None:
    options = briefing(tmp_path, script)
    assert host(tmp_path, created("a"), options=options, asked=["a"])["told"] == [["theirs"]]


def test_a_brief_whose_program_is_gone_keeps_no_session(tmp_path: Path) -> None:
    options = {"brief": ["/nonexistent/env"]}
    assert host(tmp_path, created("a"), options=options, asked=["a"])["told"] == [["theirs"]]
