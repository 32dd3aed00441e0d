"""The OpenCode plugin, run by node under a host that stands for OpenCode."""

import json
import shutil
import subprocess
import sys
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
const { plugin, events, options } = JSON.parse(readFileSync(0, "utf8"))
const made = Object.values(await import(plugin))
const hooks = []
for (const each of made) hooks.push(await each({ client: {}, directory: "/x" }, options))
for (const event of events) for (const each of hooks) await each.event({ event })
for (const each of hooks) await each.event(undefined)
console.log(JSON.stringify({ exports: made.length }))
"""


def host(tmp_path: Path, *events: Any, options: Any = None, path: str = "") -> dict[str, Any]:
    """Give the plugin these events, and return how it was; it must have thrown nothing."""
    assert NODE is not None
    plugin = tmp_path / "shared-memory.mjs"  # node 20 takes .js for another kind of module
    shutil.copy(PLUGIN, plugin)
    said = {"plugin": plugin.as_uri(), "events": events, "options": options}
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
